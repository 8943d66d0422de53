"""What an import writes: names, numbers, what folds, what stays, and what the command says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackproof.recorder import recording

TEST = "tests/integration/base/test_made_up.py::test_it"
CHAT = "openai.types.chat.chat_completion.ChatCompletion"


def chat(answer: str, *, test: str | None = TEST, asked: str = "Hi", host: str = "0.0.0.0:11434") -> Any:
    """A made-up chat as OGX writes it."""
    arguments = {"model": "m", "messages": [{"role": "user", "content": asked}]}
    endpoint = "/v1/chat/completions"
    return {
        "test_id": test,
        "request": {"method": "POST", "url": f"http://{host}/v1{endpoint}", "body": arguments, "endpoint": endpoint},
        "response": {"body": {"__type__": CHAT, "__data__": {"id": "rec-1", "text": answer}}, "is_streaming": False},
    }


def models(*names: str) -> Any:
    """A made-up list of models as OGX writes it."""
    body = [{"__type__": "openai.types.model.Model", "__data__": {"id": name, "object": "model"}} for name in names]
    request = {"method": "POST", "url": "http://0.0.0.0:11434/v1/v1/models", "body": {}, "endpoint": "/v1/models"}
    return {"test_id": TEST, "request": request, "response": {"body": body, "is_streaming": False}}


def put(book: Any, **files: Any) -> None:
    """Write files to be imported: `common__a=…` is `in/common/a.json`."""
    for name, content in files.items():
        path = book.root / "in" / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def written(book: Any) -> list[str]:
    """Names of what was written, below the recording directory."""
    root = book.root / "recordings"
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def texts(book: Any) -> list[str]:
    """The made-up answers in the order of their numbers."""
    found = sorted(written(book), key=lambda name: (len(name), name))
    contents = [recording.read(str(book.root / "recordings" / name)) or {} for name in found]
    return [content["response"]["body"]["json"]["text"] for content in contents]


def test_an_import_says_what_it_took_and_where_it_is(book: Any) -> None:
    put(book, a=chat("one"), b=models("m"))
    said = book.say("import", "in")
    assert said.code == 0, said
    assert said.out.splitlines()[-2:] == ["by setup: ollama 2", "2 calls of 2 files into recordings"]
    (first, second) = written(book)
    assert first.startswith("ollama/base/")
    assert second.startswith("ollama/common/models-")
    content = recording.read(str(book.root / "recordings" / first))
    assert content is not None
    assert (content["test_id"], content["scope"]) == (TEST, TEST)
    origin = content["provenance"]["imported_from"]
    assert (origin["format"], origin["file"], len(origin["sha256"])) == ("ogx", "a.json", 64)
    assert set(content["provenance"]) == {"derived", "imported_from"}  # no date, no machine, no version of ours


def test_what_was_imported_is_what_the_recorder_looks_for(book: Any) -> None:
    from stackproof.recorder.mode import Mode

    put(book, a=chat("one"))
    book.say("import", "in")
    brain = book.brain(Mode.REPLAY, "bbbbbb")
    answer = book.ask(brain, TEST, {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    assert json.loads(b"".join(answer.chunks)) == {"id": "rec-1", "text": "one"}


def test_equal_requests_get_numbers_and_what_lies_beside_the_test_comes_first(book: Any) -> None:
    put(book, common__a=chat("shared"), other__a=chat("own"), other__b=chat("own"), other__c=chat("own, again"))
    said = book.say("import", "in")
    assert said.code == 0
    assert "folded" in said.out
    assert texts(book) == ["own", "own, again", "shared"]


def test_lists_of_the_same_models_are_one(book: Any) -> None:
    put(book, a=models("m", "n"), b=models("n", "m"), c=models("m"))
    facts = book.say("import", "in", "--json").json
    assert facts["kinds"] == {"model list": {"written": 2, "present": 0, "folded": 1}}
    assert len(written(book)) == 2


def test_the_same_import_again_changes_nothing(book: Any) -> None:
    put(book, a=chat("one"), b=models("m"))
    book.say("import", "in")
    before = {name: (book.root / "recordings" / name).stat().st_mtime_ns for name in written(book)}
    facts = book.say("import", "in", "--json").json
    assert {kind: fates["present"] for kind, fates in facts["kinds"].items()} == {"chat completion": 1, "model list": 1}
    assert before == {name: (book.root / "recordings" / name).stat().st_mtime_ns for name in written(book)}


def test_another_recording_stays_unless_it_may_be_replaced(book: Any) -> None:
    put(book, a=chat("mine"))
    book.say("import", "in")
    put(book, a=chat("theirs"))
    said = book.say("import", "in")
    assert said.code == 6
    assert "1 × another recording is in its place; --overwrite replaces it\n      a.json" in said.out
    assert texts(book) == ["mine"]
    assert book.say("import", "in", "--overwrite").code == 0
    assert texts(book) == ["theirs"]


def test_a_dry_run_writes_nothing(book: Any) -> None:
    put(book, a=chat("one"), b="{")
    said = book.say("import", "in", "--dry-run")
    assert said.code == 6
    assert "1 call of 2 files into recordings (dry run: nothing was written)" in said.out
    assert not (book.root / "recordings").exists()


def test_another_folder_other_names_of_tests_and_a_chosen_setup(book: Any) -> None:
    put(book, a=chat("one", host="gpu.example.com:1"))
    assert book.say("import", "in").code == 6
    said = book.say(
        "import", "in/a.json", "--setup", "vllm", "--into", "elsewhere", "--rename",
        "tests/integration/base=tests/integration/x/y",
    )  # fmt: skip
    assert said.code == 0, said
    (path,) = (book.root / "elsewhere").rglob("*.json")
    assert path.parent == book.root / "elsewhere/vllm/x/y"


def test_json_names_every_refusal(book: Any) -> None:
    put(book, a="[]", b="{", c=chat("one"))
    facts = book.say("import", "in", "--json", "--format", "ogx").json
    assert (facts["files"], facts["imported"], facts["setups"]) == (3, 1, {"ollama": 1})
    assert [item["source"] for item in facts["refused"]] == ["a.json", "b.json"]
    assert facts["refused"][0]["reason"] == "it is no JSON object"


def test_requests_that_only_a_rule_makes_equal_are_not_taken_for_one(book: Any) -> None:
    files = [chat("one"), chat("two")]
    for number, file in enumerate(files):
        file["request"]["url"] = "https://us-south.ml.cloud.ibm.com/ml/v1/v1/chat/completions"
        file["request"]["body"]["extra_body"] = {"project_id": f"project-{number}"}
    put(book, a=files[0], b=files[1])
    said = book.say("import", "in")
    assert "its request equals another one of the same test only by rule project_id" in said.out
    assert texts(book) == ["one"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "there is no folder nowhere to import from"),
        (("empty",), "there is nothing to import in empty: no file in it ends with .json"),
        (("in", "--setup", "olama"), "setup 'olama'"),
        (("in", "--provider", "olama"), "provider 'olama'"),
        (("in", "--rename", "a"), "--rename: 'a' is not OLD=NEW"),
    ],
)
def test_what_cannot_be_asked_for(book: Any, arguments: tuple[str, ...], said: str) -> None:
    (book.root / "empty").mkdir()
    put(book, a=chat("one"))
    result = book.say("import", *arguments)
    assert result.code == 2
    assert said in result.err
    assert not Path(book.root / "recordings").exists()
