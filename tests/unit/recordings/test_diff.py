"""What a comparison of recordings says, of files, of folders and of states in git."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.unit.ci.runner import obeyed_by_github

from stackproof.cli.main import main
from stackproof.recorder import recording
from stackproof.recordings import markdown
from stackproof.recordings.comparing import Kind, compare
from stackproof.recordings.textdiff import text_diff

TEST = "tests/integration/base/test_chat.py::test_[a_b]|`x`"


def content(answer: str = "Paris.", *, ask: str = "Capital?", scope: str = TEST, **more: Any) -> dict[str, Any]:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
    return {
        "format": 1,
        "test_id": scope,
        "scope": scope,
        "request": {
            "provider": "ollama", "method": "POST", "url": "{U}/chat/completions", "path": "/chat/completions",
            "query": [], "endpoint": "/chat/completions", "model": more.get("model", "m"), "headers": {},
            "body": {"json": {"model": more.get("model", "m"), "messages": [{"role": "user", "content": ask}]}},
        },
        "response": {
            "status": 200, "headers": {}, "is_streaming": False, "complete": True, "is_exception": False,
            "exception": None,
            "body": {"json": {"object": "chat.completion", "id": more.get("id", "rec-0123456789ab"), "model": "m",
                              "choices": [choice]}},
        },
        "rules": [],
        "provenance": {"recorded_at": more.get("at", "2026-01-01T00:00:00+00:00"), "server": more.get("server", "s")},
        "id_normalization_mapping": {},
    }  # fmt: skip


def put(root: Path, name: str, made: dict[str, Any]) -> Path:
    """Write a recording."""
    recording.write(str(root / name), made)
    return root / name


def run(project: Path, *words: str) -> int:
    """`stackproof recordings …` in a project."""
    return main(["recordings", *words], environ={}, project=project)


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (content(), Kind.EQUAL),
        (content(at="2026-02-02T00:00:00+00:00"), Kind.BYTES),
        (content(id="rec-ba9876543210"), Kind.BYTES),
        (content("Lyon."), Kind.DRIFT),
        (content(ask="Capital of France?"), Kind.REQUEST),
        (content("Lyon.", ask="Capital of France?"), Kind.BOTH),
        (content(scope="tests/integration/base/test_chat.py::test_renamed"), Kind.MOVED),
    ],
)
def test_a_pair_is_told_by_what_changed_in_it(other: dict[str, Any], kind: Kind) -> None:
    assert compare(content(), other).kind is kind


def test_a_field_that_no_fact_stands_for_is_still_a_change() -> None:
    other = content()
    other["response"]["body"]["json"]["choices"][0]["logprobs"] = {"content": []}
    found = compare(content(), other)
    assert [item.path for item in found.rest] == ["choices[0].logprobs"]
    assert found.kind is Kind.DRIFT


def test_the_same_words_in_other_pieces_mean_the_same() -> None:
    def streamed(*pieces: str) -> dict[str, Any]:
        made = content()
        chunks = [
            {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": p}}]} for p in pieces
        ]
        made["response"] |= {"framing": "sse", "is_streaming": True, "events": [{"data": chunk} for chunk in chunks]}
        return made

    found = compare(streamed("Par", "is."), streamed("P", "ar", "is."))
    assert found.kind is Kind.BYTES
    assert found.other[0] == "number of events (2 → 3)"
    assert compare(streamed("Par", "is."), streamed("L", "y", "on.")).kind is Kind.DRIFT


def test_words_are_marked_in_long_lines_and_lines_in_short_ones() -> None:
    line = "The capital of {} is a large city in the north of the country."
    assert text_diff(line.format("France"), line.format("Spain")) == [
        "  The capital of [-France-]{+Spain+} is a large city in the …"
    ]
    assert text_diff("a\nb", "a\nc") == ["  a", "- b", "+ c"]
    assert text_diff("\n".join("abcdef"), "", limit=2) == ["- a", "- b", "  … 5 more lines"]
    assert text_diff("x\x1b[31m", "y") == ["- x\\x1b[31m", "+ y"]


def test_two_files_end_with_the_codes_of_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "recordings", "ollama/base/a.json", content())
    put(tmp_path / "recordings", "ollama/base/b.json", content("Lyon."))
    put(tmp_path / "recordings", "ollama/base/c.json", content(at="2026-02-02T00:00:00+00:00"))
    assert run(tmp_path, "diff", "a.json", "b.json") == 1
    assert '- text  "Paris."\n+ text  "Lyon."' in capsys.readouterr().out
    assert run(tmp_path, "diff", "a.json", "c.json") == 0
    assert "equal in meaning; bytes differ in: provenance" in capsys.readouterr().out
    assert run(tmp_path, "diff", "a.json", "d.json") == 2
    assert "there is no recording 'd.json'" in capsys.readouterr().err
    assert run(tmp_path, "diff", "--json", "a.json", "b.json") == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["differs"]["texts"] == [{"path": "text", "before": "Paris.", "after": "Lyon."}]


def test_folders_are_paired_by_name_then_answer_then_nearest_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    put(old, "b/000000000001-00000000000000000001.json", content("same"))
    put(new, "b/000000000001-00000000000000000001.json", content("other"))
    put(old, "b/000000000002-00000000000000000002.json", content("kept", scope="t.py::test_old"))
    put(new, "b/000000000003-00000000000000000002.json", content("kept", scope="t.py::test_new"))
    for side, ask, digits in (
        (old, "one two three", "4"), (old, "four five six", "5"),
        (new, "four five six!", "6"), (new, "one two three", "7"),
    ):  # fmt: skip
        made = content(f"{side.name} {ask}", ask=ask, scope="t.py::test_n")
        put(side, f"b/000000000004-0000000000000000000{digits}.json", made)
    put(old, "b/000000000009-00000000000000000009.json", content("gone", scope="t.py::test_gone"))
    (new / "b/broken.json").write_text("{")
    assert run(tmp_path, "diff", "old", "new", "--json", "--recording-dir", str(tmp_path)) == 1
    facts = json.loads(capsys.readouterr().out)
    pairs = {(change["kind"], str(change["before"])[-6:-5], str(change["after"])[-6:-5]) for change in facts["changes"]}
    assert {kind: number for kind, number in facts["counts"].items() if number} == {
        "drift": 2, "moved": 1, "both": 1, "removed": 1, "damaged": 1,
    }  # fmt: skip
    assert ("drift", "4", "7") in pairs
    assert ("both", "5", "6") in pairs


# -- git


def git(folder: Path, *words: str) -> None:
    """A git command in a folder, without anybody's configuration."""
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=300)


EVIL = "</details><script>alert(1)</script> | `code` ```\n````\n# not a heading @team\x1b[31m"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a folder of a repository, with three recordings committed."""
    git(tmp_path, "init", "-q")
    project = tmp_path / "my ünder folder"
    root = project / "recordings"
    put(root, "ollama/base/000000000001-00000000000000000001.json", content())
    put(root, "ollama/base/000000000002-00000000000000000002.json", content("kept", scope="t.py::test_old"))
    put(root, "ollama/base/000000000003-00000000000000000003.json", content("gone", scope="t.py::test_gone"))
    large = content(scope="t.py::test_large")
    large["response"]["body"] = {"bytes": b"1" * 70_000}
    put(root, "ollama/base/000000000004-00000000000000000004.json", large)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return project


def change(project: Path) -> None:
    """A drift, a rename, a removal, a new file with a new model, another large body, and only another date."""
    root = project / "recordings"
    put(root, "ollama/base/000000000001-00000000000000000001.json", content(EVIL, server="s2"))
    (root / "ollama/base/000000000002-00000000000000000002.json").unlink()
    put(root, "ollama/base/00000000000a-00000000000000000002.json", content("kept", scope="t.py::test_new"))
    (root / "ollama/base/000000000003-00000000000000000003.json").unlink()
    put(root, "ollama/new dir ü/00000000000b-0000000000000000000b.json", content(scope="t.py::test_b", model="big`x`"))
    large = content(scope="t.py::test_large")
    large["response"]["body"] = {"bytes": b"2" * 70_000}
    put(root, "ollama/base/000000000004-00000000000000000004.json", large)


@pytest.mark.parametrize("committed", [False, True], ids=["working tree", "committed"])
def test_a_range_of_git_is_counted_and_told_as_safe_markdown(
    project: Path, capsys: pytest.CaptureFixture[str], committed: bool
) -> None:
    change(project)
    words = ["--git", "HEAD"]
    if committed:
        git(project, "add", ".")
        git(project, "commit", "-q", "-m", "second")
        words = ["--git", "HEAD~1..HEAD"]
    assert run(project, "diff", *words, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    expected = {"drift": 2, "moved": 1, "removed": 1, "added": 1}
    assert {kind: number for kind, number in facts["counts"].items() if number} == expected
    assert facts["new_models"] == ["big`x`"]
    assert facts["servers"] == [{"before": "s", "after": "s2", "files": 1}]
    large = next(c for c in facts["changes"] if c["scope"] == "t.py::test_large")
    assert [item["path"] for item in large["differs"]["answer"]] == ["body"]
    assert run(project, "diff", *words, "--exit-code") == 1
    text = capsys.readouterr().out
    assert "| 2 | answer changed though its request did not (drift) |" in text
    assert "New models: `` big`x` ``" in text
    assert "\x1b" not in text
    fenced = [block for block in text.split("<details>") if "alert(1)" in block]
    assert len(fenced) == 1
    assert fenced[0].count("`````diff") == 1  # the answer holds a run of four
    assert fenced[0].index("`````diff") < fenced[0].index("<script>") < fenced[0].rindex("`````")


def test_three_dots_begin_where_both_parted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(project, "checkout", "-q", "-b", "topic")
    change(project)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "topic")
    git(project, "checkout", "-q", "main")
    put(project / "recordings", "ollama/base/00000000000c-0000000000000000000c.json", content(scope="t.py::test_c"))
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "main went on")
    assert run(project, "diff", "--git", "main...topic", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["removed"] == 1
    assert run(project, "diff", "--git", "main..topic", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["removed"] == 2


def test_a_folder_that_is_gone_is_all_removed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(project / "recordings")
    assert run(project, "diff", "--git", "HEAD", "--exit-code") == 1
    assert "| 4 | removed |" in capsys.readouterr().out


def test_a_range_is_narrowed_by_filters(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(project)
    assert run(project, "diff", "--git", "HEAD", "--json", "--test", "t.py::test_large") == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert {kind: number for kind, number in counts.items() if number} == {"drift": 1}


def test_code_is_fenced_by_more_than_it_holds() -> None:
    assert markdown.code("a`b``c") == "```a`b``c```"
    assert markdown.code("`x`") == "`` `x` ``"
    assert markdown.code("two\nlines") == "`two\\nlines`"
    assert markdown.fenced(["+ ````"]).splitlines() == ["`````diff", "+ ````", "`````"]


def test_a_long_report_stays_within_a_comment_and_says_what_it_leaves_out(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(100):
        words = " ".join(f"w{number}x{n}" for n in range(300))
        name = f"ollama/base/{number + 99:012x}-{number + 99:020x}.json"
        put(project / "recordings", name, content(words, scope=f"t.py::t{number}"))
    assert run(project, "diff", "--git", "HEAD", "--limit", "1000") == 0
    whole = capsys.readouterr().out
    assert len(whole) <= markdown.LENGTH
    assert run(project, "diff", "--git", "HEAD", "--limit", "30") == 0
    assert "70 more changes not shown" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--git", "nowhere"], "git does not know the revision 'nowhere'"),
        (["--git", "--output=x..HEAD"], "git does not know the revision '--output=x'"),
        (["--git", "HEAD", "--setup", "olama"], "unknown setup 'olama' (--setup), did you mean 'ollama'?"),
        (["--git", "HEAD", "a", "b"], "--git compares all recordings, and takes no A and B"),
        (["HEAD:recordings/none.json", "1.json"], "recordings/none.json does not exist in HEAD"),
        (["nowhere:recordings/none.json", "1.json"], "git does not know the revision 'nowhere'"),
        ([], "stackproof recordings diff compares two recordings, folders or setups, and 0 are named"),
    ],
)
def test_trouble_is_one_sentence_and_code_2(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert run(project, "diff", *words) == 2
    assert capsys.readouterr().err.startswith(f"✗ {sentence}")


def test_without_a_repository_one_sentence_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "recordings", "ollama/a.json", content())
    assert run(tmp_path, "diff", "--git", "main") == 2
    assert "is in no git repository" in capsys.readouterr().err


def test_a_shallow_clone_is_named_when_a_revision_is_missing(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(project)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "second")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", tmp_path.as_uri(), str(clone))
    assert run(clone / project.name, "diff", "--git", "HEAD~1..HEAD") == 2
    assert "this clone is shallow" in capsys.readouterr().err


def test_a_file_is_compared_with_itself_in_git(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(project)
    name = "000000000001-00000000000000000001.json"
    assert run(project, "diff", f"HEAD:recordings/ollama/base/{name}", f"recordings/ollama/base/{name}") == 1
    first = capsys.readouterr().out
    assert "Paris." in first
    assert run(project, "diff", name) == 1
    assert capsys.readouterr().out.splitlines()[2:] == first.splitlines()[2:]


def test_no_answer_of_a_model_is_obeyed_by_a_ci_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "recordings/ollama/a.json", content("Paris."))
    put(tmp_path, "recordings/ollama/b.json", content("x\n::set-output name=a::b\n##[error]y\r::add-mask::z\x1b[0K"))
    words = ["recordings", "diff", "recordings/ollama/a.json", "recordings/ollama/b.json"]
    assert main(words, environ={"GITHUB_ACTIONS": "true"}, project=tmp_path) == 1
    out = capsys.readouterr().out
    assert "set-output" in out
    assert obeyed_by_github(out) == []
    assert main([*words, "--json"], environ={"GITHUB_ACTIONS": "true"}, project=tmp_path) == 1
    written = capsys.readouterr().out
    assert obeyed_by_github(written) == []
    assert main([*words, "--json"], environ={}, project=tmp_path) == 1
    assert json.loads(written) == json.loads(capsys.readouterr().out)
