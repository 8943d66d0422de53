"""What `recordings check` finds in files, one damage of each kind at a time, and how it ends."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.recordings import leftovers, missing
from stackproof.recordings.findings import Kind

if TYPE_CHECKING:
    from tests.unit.recordings.conftest import Book

TEST = "tests/integration/base/test_chat.py::test_one[a b]"
BODY = {"model": "m", "say": "one"}


@pytest.fixture
def kept(book: Book) -> Path:
    """One recording of a test whose file is there."""
    (book.root / "tests/integration/base").mkdir(parents=True)
    (book.root / "tests/integration/base/test_chat.py").write_text("")
    book.record(TEST, BODY)
    (path,) = (book.root / "recordings").rglob("*.json")
    return path


def found(book: Book, *argv: str, code: int, **environ: str) -> list[tuple[str, str, str]]:
    """(kind, file's name, what) of each finding; nobody asks pytest."""
    said = book.say("check", "--no-collect", "--json", *argv, **environ)
    assert said.code == code, said.out + said.err
    return [(one["kind"], Path(one["file"]).name, one["what"]) for one in said.json["findings"]]


def change(path: Path, **response: Any) -> None:
    """Write another response into a recording."""
    data = json.loads(path.read_text())
    data["response"] |= response
    path.write_text(json.dumps(data))


def test_what_is_in_order_is_said_to_be(book: Book, kept: Path) -> None:
    assert found(book, code=0) == []
    said = book.say("check", "--no-collect")
    assert said.out == "1 recording: nothing wrong; 1 used, 0 not observed\n"
    assert kept.is_file()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "cannot be read as a recording: "),
        ("<<<<<<< HEAD\n", "cannot be read as a recording: "),
        ('{"format": 9}', "has format 9; this version reads format 1"),
        ('{"format": 1}', "is not a recording: it has no request"),
        ('{"x": NaN}', "cannot be read as a recording: NaN is not JSON"),
        ("", "cannot be read as a recording: "),
    ],
)
def test_a_damaged_file_is_named_with_its_remedy(book: Book, kept: Path, text: str, what: str) -> None:
    kept.write_text(text)
    ((kind, name, told),) = found(book, code=6)
    assert (kind, name) == ("damaged", kept.name)
    assert told.startswith(what)
    said = book.say("check", "--no-collect")
    assert f"next: git restore recordings/ollama/base/{kept.name}" in said.out


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"base64": "%%%"}, "it has no readable body"),
        ({"file": "x.bin"}, "its body is said to be in 'x.bin', which is no file of this recording"),
        ({"file": "STEM.aaaaaaaaaaaaaaaaaaaa.bin"}, "cannot be read: No such file"),
    ],
)
def test_a_body_that_is_not_there_is_damage(book: Book, kept: Path, body: dict[str, str], what: str) -> None:
    change(kept, body={key: value.replace("STEM", kept.stem) for key, value in body.items()})
    ((kind, _, told),) = found(book, "--only", "damaged", code=6)
    assert kind == "damaged"
    assert what in told


def test_a_body_with_another_content_is_damage(book: Book, kept: Path) -> None:
    name = f"{kept.stem}.aaaaaaaaaaaaaaaaaaaa.bin"
    kept.with_name(name).write_bytes(b"another")
    change(kept, body={"file": name})
    ((_, _, told),) = found(book, "--only", "damaged", code=6)
    assert "is not the one that was recorded" in told


def test_a_file_that_no_look_up_finds_is_named_with_its_place(book: Book, kept: Path) -> None:
    moved = book.root / "recordings/ollama/search" / kept.name
    moved.parent.mkdir()
    kept.rename(moved)
    ((kind, _, what),) = found(book, code=6)
    assert (kind, what) == ("misplaced", "its scope is looked up in base and common, not in search")
    said = book.say("check", "--no-collect")
    assert f"git mv recordings/ollama/search/{kept.name} recordings/ollama/base/{kept.name}" in said.out


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("aaaaaaaaaaaa-{request}.json", "its name is not that of its scope"),
        ("{scope}-aaaaaaaaaaaaaaaaaaaa.json", "its name is not that of its request"),
        ("notes.json", "no look-up asks for a file of this name"),
        ("models-aaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaa.json", "its name is not that of its request"),
    ],
)
def test_a_name_that_is_not_that_of_its_content_is_named(book: Book, kept: Path, name: str, what: str) -> None:
    scope, request = kept.stem.split("-")
    kept.rename(kept.with_name(name.format(scope=scope, request=request)))
    ((kind, _, told),) = found(book, code=6)
    assert (kind, told) == ("misplaced", what)


def test_a_recording_in_common_is_found_and_a_list_of_models_only_there(book: Book, kept: Path) -> None:
    common = book.root / "recordings/ollama/common"
    common.mkdir()
    kept.rename(common / kept.name)
    assert found(book, code=0) == []
    book.record(TEST, None, path="/models", run="cccccc")
    (models,) = common.glob("models-*")
    models.rename(kept.parent / models.name)
    assert [one[2] for one in found(book, code=6)] == ["lists of models are looked up in common, not in base"]


def test_a_number_without_the_one_before_it_is_a_gap(book: Book, kept: Path) -> None:
    book.record(TEST, BODY, BODY, BODY, run="cccccc")
    assert found(book, code=0) == []
    kept.with_name(f"{kept.stem}-2.json").unlink()
    ((kind, name, what),) = found(book, code=6)
    assert (kind, name) == ("gap", f"{kept.stem}-3.json")
    assert what == "number 2 of its request is not there, so no run comes to it"


def test_a_secret_is_named_with_its_place_and_never_shown(book: Book, kept: Path) -> None:
    (book.root / "stacks").mkdir()
    setup = "ollama: {description: d, secrets: [A_KEY], env: {OLLAMA_URL: 'http://localhost:11434/v1'}}\n"
    (book.root / "stacks/setups.yaml").write_text(setup)
    change(kept, body={"json": {"said": "the word is Sesame-4711 today"}})
    assert found(book, "--only", "secret", code=0) == []
    ((kind, _, what),) = found(book, "--only", "secret", code=6, A_KEY="Sesame-4711")
    assert (kind, what) == ("secret", "the value of A_KEY is in it")
    said = book.say("check", "--no-collect", A_KEY="Sesame-4711")
    assert "(at response.body.json.said)" in said.out
    assert "Sesame" not in said.out + said.err
    change(kept, body={"json": {"said": "sk-abcdefghij0123456789ABCD"}})
    assert [one[0] for one in found(book, "--only", "secret", code=6)] == ["secret"]


def test_what_normalize_would_change_is_unnormalised_and_not_after_it(book: Book, kept: Path) -> None:
    change(kept, headers={"content-type": "application/json", "date": "today"})
    ((kind, _, what),) = found(book, code=6)
    assert (kind, what) == ("unnormalised", "it would be written differently now: response-headers")
    assert book.say("normalize").code == 0
    assert found(book, code=0) == []


def test_bodies_and_temporary_files_of_nobody_are_named_once_they_are_old(book: Book, kept: Path) -> None:
    orphan = kept.with_name("aaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbb.bin")
    stale = kept.with_name(f"{kept.stem}.bbbbbbbbbbbbbbbbbbbb.bin")
    temporary = kept.with_name(f".{kept.name}.abc.tmp")
    for path in (orphan, stale, temporary):
        path.write_bytes(b"x")
    assert found(book, code=0) == [], "somebody may be writing them now"
    for path in (orphan, stale, temporary):
        os.utime(path, (time.time() - 120,) * 2)
    assert sorted(one[:2] for one in found(book, code=6)) == [
        ("abandoned", temporary.name),
        ("orphaned", stale.name),
        ("orphaned", orphan.name),
    ]  # fmt: skip
    kept.write_text("<<<<<<<")
    assert leftovers.leftover(stale) is None, "once that is restored, it may name it"
    assert leftovers.leftover(orphan, now=time.time()) is not None


def test_age_is_said_and_fails_by_policy_or_when_strict(book: Book, kept: Path) -> None:
    data = json.loads(kept.read_text())
    data["provenance"]["recorded_at"] = "2020-02-03T04:05:06+00:00"
    kept.write_text(json.dumps(data))
    assert found(book, "--only", "stale", code=0) == []
    ((kind, _, what),) = found(book, "--only", "stale", "--max-age", "30", code=0)
    assert kind == "stale"
    assert what.startswith("recorded on 2020-02-03, ")
    assert what.endswith(" days ago; 30 are allowed")
    found(book, "--only", "stale", "--max-age", "30", "--strict", code=6)
    (book.root / "ci").mkdir()
    policy = "version: 1\ncells: [{suite: base, setup: ollama, stack: 'server:reference'}]\n"
    (book.root / "ci/release.yaml").write_text(f"{policy}recordings: {{max_age_days: 30}}\n")
    assert [one[0] for one in found(book, "--only", "stale", code=6)] == ["stale"]
    data["provenance"]["synthetic"] = True
    kept.write_text(json.dumps(data))
    said = book.say("check", "--no-collect", "--only", "stale")
    assert said.code == 0
    assert "– not dated     1 synthetic: they have no age" in said.out


def test_a_recording_of_a_file_that_is_gone_is_of_a_deleted_test(book: Book, kept: Path) -> None:
    (book.root / "tests/integration/base/test_chat.py").unlink()
    ((kind, name, what),) = found(book, code=6)
    assert (kind, name, what) == ("deleted", kept.name, "tests/integration/base/test_chat.py is gone")


def test_filters_and_kinds_narrow_what_is_looked_at(book: Book, kept: Path) -> None:
    kept.with_name(f"{kept.stem}-3.json").write_bytes(kept.read_bytes())
    assert [one[0] for one in found(book, "--skip", "misplaced", code=6)] == ["gap"]
    assert found(book, "--skip", "gap", code=0) == []
    assert found(book, "--test", "tests/integration/search", code=0) == []
    said = book.say("check", "--no-collect", "--setup", "olama")
    assert said.code == 2
    assert "did you mean 'ollama'" in said.err


def test_what_no_run_has_shown_is_counted_and_fails_only_when_strict(book: Book, kept: Path) -> None:
    for run in (book.root / ".stackproof/runs").iterdir():
        run.rename(book.root / run.name)
    said = book.say("check", "--no-collect")
    assert said.code == 0
    assert "– not observed  1 of ollama, base: no run that is kept had its suite with this setup" in said.out
    assert "next: stackproof run --suite base --setup ollama" in said.out
    assert found(book, "--strict", code=6) == []
    assert kept.is_file()


def test_tests_that_miss_are_missing_until_they_are_recorded(book: Book, kept: Path) -> None:
    other = "tests/integration/base/test_chat.py::test_two"
    book.replay(other, BODY)
    (cell,) = (book.root / ".stackproof/runs/bbbbbb/cells").iterdir()
    with (cell / "tests.jsonl").open("a") as file:
        file.write(json.dumps({"event": "test", "nodeid": other, "outcome": "failed"}) + "\n")
    from stackproof.recordings import observed

    seen = observed.read(book.root, book.root / "recordings")
    (one,) = missing.missed(seen)
    assert (one.setup, one.test, one.seen) == ("ollama", other, True)
    assert one.what.startswith("no recording for POST /chat/completions of ollama")
    assert kept.is_file()


def test_a_test_recorded_in_one_setup_only_may_be_missing_in_another() -> None:
    recorded = missing.Recorded()
    for setup, test in (("ollama", "a/t.py::one"), ("ollama", "a/t.py::two"), ("vllm", "a/t.py::one"), ("x", "b::z")):
        recorded.note(setup, test)
    recorded.note("vllm", "fixture:a/t.py::f")
    (one,) = recorded.elsewhere({"s": ("a",), "t": ("b",)})
    assert (one.setup, one.test, one.seen) == ("vllm", "a/t.py::two", False)
    assert one.what == "it is recorded in ollama, and not in vllm"


def test_every_kind_is_told_in_json_and_nothing_else_is_printed(book: Book, kept: Path) -> None:
    kept.write_text("{")
    facts = book.say("check", "--no-collect", "--json").json
    assert facts["kind"] == "recordings-check"
    assert facts["counts"] == {kind.value: int(kind is Kind.DAMAGED) for kind in Kind}
    assert facts["exit_code"] == 6
    (one,) = facts["findings"]
    assert sorted(one) == ["fails", "file", "kind", "next", "setup", "test", "what", "where"]
