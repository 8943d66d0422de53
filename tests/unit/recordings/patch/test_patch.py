"""Recordings as a patch: made by one job, and looked at by another that trusts nothing in it."""

from __future__ import annotations

import json

import pytest
from tests.unit.recordings.conftest import Book
from tests.unit.recordings.patch.conftest import (
    ONE,
    PATCH,
    TWO,
    Change,
    everything,
    git,
    made,
    name_in,
    offered,
    refused,
    renamed,
)

from stackproof.recorder import recording


def test_what_a_job_recorded_is_carried_over_and_staged(repository: Book) -> None:
    root = repository.root
    for file in repository.files():
        (root / file).unlink()
    repository.record(ONE, {"model": "m", "ask": 1}, run="dddddd")
    changed = json.loads((root / repository.files()[0]).read_text())
    changed["response"]["body"] = {"json": {"answer": 2}}
    (root / repository.files()[0]).write_text(recording.dumps(changed))
    repository.record(TWO, {"model": "m", "ask": 3}, run="cccccc")
    (root / "recordings/README").write_text("no recording")
    (root / "recordings/ollama/.half.tmp").write_text("no recording")
    (root / "other.txt").write_text("not below recordings")
    wanted = {file: (root / file).read_bytes() for file in repository.files()}
    told = repository.say("patch", "--output", PATCH)
    assert told.code == 0
    assert told.out.splitlines()[0].startswith("3 files below recordings/ differ from commit ")
    assert "left out, since they are no recordings: recordings/README, recordings/ollama/.half.tmp" in told.out
    git(root, "clean", "-q", "-f", "-d", "recordings", "other.txt")
    git(root, "checkout", "-q", ".")
    before = everything(root)
    told = repository.say("apply", PATCH, "--check")
    assert told.out.splitlines() == [
        told.out.splitlines()[0],
        "      1  answer changed, request did not",
        "      1  added",
        "      1  removed",
        "fit to be applied; nothing was changed",
    ]
    assert everything(root) == before
    told = repository.say("apply", PATCH)
    assert (told.code, told.out.splitlines()[-1]) == (0, "applied and staged; `git commit` is next")
    assert {file: (root / file).read_bytes() for file in repository.files()} == wanted
    staged = git(root, "diff", "--cached", "--no-renames", "--name-status").splitlines()
    assert sorted(line[:1] for line in staged) == ["A", "D", "M"]
    assert git(root, "diff", "--name-only") == ""


def test_a_patch_in_which_nothing_changed_is_there_and_changes_nothing(repository: Book) -> None:
    told = repository.say("patch", "--output", PATCH)
    assert (told.code, told.out.splitlines()[0][:19]) == (0, "0 files below recor")
    told = repository.say("apply", PATCH)
    assert (told.code, told.out.splitlines()[-1]) == (0, "nothing to apply")


def test_facts_and_a_comment_say_what_would_change(repository: Book) -> None:
    patch = made(repository)
    facts = offered(repository, patch, "--check", "--json").json
    assert facts["kind"] == "recordings-apply"
    assert (facts["applied"], facts["refused"], facts["files"]) == (False, [], [name_in(patch)])
    assert facts["counts"]["added"] == facts["changed_in_meaning"] == 1
    comment = offered(repository, patch, "--check", "--markdown").out
    assert comment.startswith("### Recordings: 1 changed in meaning\n")
    assert "to `the patch`" in comment
    spoiled = patch.replace("new file mode 100644", "new file mode 120000")
    told = offered(repository, spoiled, "--json")
    assert (told.code, told.json["refused"]) == (6, ["a file in it is a symbolic link"])
    told = offered(repository, spoiled, "--markdown")
    assert (told.code, told.out) == (6, "### Recordings: the patch is refused\n\n- `a file in it is a symbolic link`\n")


def test_a_workflow_command_in_a_name_is_fenced(repository: Book) -> None:
    lines = offered(repository, made(repository), "--check", GITHUB_ACTIONS="true").out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines[-1] == f"::{lines[0].removeprefix('::stop-commands::')}::"


def test_files_that_are_not_committed_are_not_written_over(repository: Book) -> None:
    patch = made(repository)
    (repository.root / repository.files()[0]).write_text("mine")
    before = everything(repository.root)
    told = offered(repository, patch)
    assert told.code == 2
    assert "differ from the commit that is checked out" in told.err
    assert everything(repository.root) == before


def test_a_patch_for_another_commit_says_which(repository: Book) -> None:
    patch = made(repository)
    base = git(repository.root, "rev-parse", "HEAD").strip()
    git(repository.root, "commit", "-q", "--allow-empty", "-m", "second")
    refused(repository, patch, f"it is for commit {base[:12]}, and this is ")


def instead(old: str, new: str) -> Change:
    return lambda patch: patch.replace(old, new, 1)


def doubled(patch: str) -> str:
    return patch + patch[patch.index("diff --git") :]


HOSTILE: dict[str, tuple[Change, str]] = {
    "out of the folder": (renamed("recordings/../x.json"), "recordings/../x.json leads out of its folder"),
    "out of the repository": (renamed("../../x.json"), "../../x.json leads out of its folder"),
    "absolute": (renamed("/etc/x.json"), "/etc/x.json is an absolute path"),
    "beside": (renamed("src/x.json"), "src/x.json lies outside of recordings/"),
    "other case of the folder": (renamed("Recordings/ollama/x.json"), "lies outside of recordings/"),
    "prefix of the folder": (renamed("recordings.json"), "lies outside of recordings/"),
    "workflow": (renamed(".github/workflows/x.yml"), "lies outside of recordings/"),
    "git": (renamed(".git/hooks/pre-commit"), "lies outside of recordings/"),
    "git inside": (renamed("recordings/ollama/.GIT/config"), "lies in a folder of git's own"),
    "attributes": (renamed("recordings/.gitattributes"), "is hidden"),
    "short name of git": (renamed("recordings/git~1/config"), "is not what it seems, U+007E"),
    "another name": (renamed("recordings/ollama/base/conftest.py"), "has no name that the recorder gives"),
    "no setup": (renamed(f"recordings/{'0' * 12}-{'0' * 20}.json"), "has no name that the recorder gives"),
    "setup of another case": (renamed(f"recordings/Ollama/{'0' * 12}-{'0' * 20}.json"), "a setup that there is not"),
    "folder of another case": (
        lambda patch: renamed(name_in(patch).replace("/base/", "/Base/"))(patch), "by its spelling alone"
    ),
    "text turned round": (renamed("recordings/ollama/\u202eb/x.json"), "is not what it seems, U+202E"),
    "nothing to be seen": (renamed("recordings/ollama/b\u200b/x.json"), "is not what it seems, U+200B"),
    "line feed": (renamed("recordings/ollama/b\n::x/x.json"), "is not what it seems, U+000A"),
    "two spellings": (renamed("recordings/ollama/ba\u0308se/x.json"), "can be written in two ways"),
    "backslash": (renamed("recordings/ollama\\..\\x.json"), "is not what it seems, U+005C"),
    "link": (instead("new file mode 100644", "new file mode 120000"), "a file in it is a symbolic link"),
    "submodule": (instead("new file mode 100644", "new file mode 160000"), "a file in it is a submodule"),
    "executable": (instead("new file mode 100644", "new file mode 100755"), "a file in it is an executable file"),
    "mode": (instead("new file mode 100644", "old mode 100644\nnew mode 100755"), "the mode of a file is changed"),
    "rename": (
        lambda patch: patch.replace("new file mode 100644\n", "rename from a\nrename to b\n"), "renamed or copied"
    ),
    "copy": (lambda patch: patch.replace("new file mode 100644\n", "copy from a\ncopy to b\n"), "renamed or copied"),
    "carriage returns": (lambda patch: patch.replace("\n", "\r\n"), "it holds carriage returns"),
    "zero byte": (instead("answer", "ans\0wer"), "it holds a zero byte"),
    "no UTF-8": (instead("answer", "ans\udcffwer"), "it is no UTF-8"),
    "no head": (lambda patch: patch[patch.index("diff --git") :], "it is none of recordings"),
    "another format": (instead("patch 1", "patch 2"), "it is none of recordings"),
    "short commit": (instead("\nbase ", "\nbase abc\nbase "), "it is none of recordings"),
    "no commit": (lambda patch: patch.replace(patch.split("\n")[1], "base HEAD"), "does not name the commit"),
    "other recordings": (instead("\nrecordings recordings\n", "\nrecordings src\n"), "it is for recordings in src"),
    "letter": (instead("diff --git", "From: somebody\n\ndiff --git"), "something stands before its first file"),
    "strange line": (instead("new file mode", "hello world\nnew file mode"), "is no part of a patch: hello world"),
    "old form of a diff": (instead("diff --git", "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+x\ndiff --git"), "stands before"),
    "twice": (doubled, "is in it twice"),
    "cut off": (lambda patch: patch[: len(patch) // 2], "the patch is refused: "),
    "two names": (
        lambda patch: patch.replace(f"+++ b/{name_in(patch)}", "+++ b/recordings/other.json"), "git cannot read it"
    ),
    "bomb": (
        lambda patch: patch[: patch.index("--- /dev")] + "GIT binary patch\nliteral 99999999999\nzcmV0000\n\n",
        "its binary files have 99,999,999,999 bytes unpacked",
    ),
    "difference of a binary file": (
        lambda patch: patch[: patch.index("--- /dev")] + "GIT binary patch\ndelta 9\nQcmZ0001\n\n", "has to be whole"
    ),
    "no recording": (instead('+  "scope":', '+  "sc":'), "is not where it is looked up: its name is not that of its"),
    "no JSON": (instead('+  "format": 1,', '+  "format": 1'), "is no recording: cannot be read"),
    "another request": (instead('+        "ask": 3', '+        "ask": 4'), "its name is not that of its request"),
    "two values of a key": (
        lambda patch: grown(patch.replace('+  "format": 1,', '+  "format": 1,\n+  "format": 1,')), "as the recorder"
    ),
    "secret": (instead('"answer": 1', f'"answer": "sk-{"a1" * 12}"'), "holds a secret: an OpenAI or Anthropic key in"),
    "secret in a key that is said twice": (
        lambda patch: grown(patch.replace('+  "format": 1,', f'+  "format": "sk-{"a1" * 12}",\n+  "format": 1,')),
        "holds a secret",
    ),
    "nested": (instead('"answer": 1', f'"answer": {"[" * 5000}{"]" * 5000}'), "the patch is refused: "),
}  # fmt: skip


def grown(patch: str) -> str:
    """The patch with the number of lines that it has now."""
    head, _, lines = patch.partition(" @@\n")
    number = sum(line.startswith("+") for line in lines.splitlines())
    return f"{head.rpartition('+')[0]}+1,{number} @@\n{lines}"


@pytest.mark.parametrize("kind", HOSTILE)
def test_whatever_is_wrong_with_a_patch_it_is_refused_in_a_sentence_and_changes_nothing(
    repository: Book, kind: str
) -> None:
    change, said = HOSTILE[kind]
    patch = made(repository)
    spoiled = change(patch)
    assert spoiled != patch
    refused(repository, spoiled, said)


@pytest.mark.parametrize("depth", [200, 400, 900, 960, 980, 5_000, 100_000])
def test_however_deep_an_answer_is_nested_there_is_a_sentence_for_it(repository: Book, depth: int) -> None:
    patch = made(repository).replace('"answer": 1', f'"answer": {"[" * depth}{"]" * depth}', 1)
    told = offered(repository, patch, "--check")
    assert told.code == 6, told.err
    assert told.err.startswith("✗ the patch is refused: ollama/base/")


def test_a_patch_may_not_be_larger_than_is_allowed(repository: Book) -> None:
    patch = made(repository)
    refused(repository, doubled(patch), "it has 2 files; --max-files sets another limit than 1", "--max-files", "1")
    refused(repository, patch, "it has more than 100 bytes; --max-bytes sets another limit", "--max-bytes", "100")
