"""Recordings as a patch: made by one job, and looked at by another that trusts nothing in it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.unit.recordings.conftest import SUITES, Book, Said

from stackproof.cli.main import main
from stackproof.recorder import recording, sidefile
from stackproof.recordings.patching_names import collisions, refusal

ONE = "tests/integration/base/test_a.py::test_one"
TWO = "tests/integration/base/test_a.py::test_two"
PATCH = "recordings.patch"
Change = Callable[[str], str]


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=30)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two committed recordings, and beside them the patch of a third, which is not there."""
    root = tmp_path_factory.mktemp("template")
    (root / "tests").mkdir()
    (root / "tests/suites.yaml").write_text(SUITES)
    (root / ".gitignore").write_text(f".stackproof/\n{PATCH}\n")
    book = Book(root=root, say=lambda: Said(code=0, out="", err=""))
    book.record(ONE, {"model": "m", "ask": 1}, {"model": "m", "ask": 2})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    book.record(TWO, {"model": "m", "ask": 3}, run="cccccc")
    assert main(["recordings", "patch", "--output", PATCH], environ={}, project=root) == 0
    git(root, "clean", "-q", "-d", "-f", "recordings")
    return root


@pytest.fixture
def repository(book: Book, template: Path) -> Book:
    """A copy of it."""
    shutil.copytree(template, book.root, symlinks=True, dirs_exist_ok=True)
    return book


def made(book: Book) -> str:
    """The patch of a recording that comes beside the others."""
    return (book.root / PATCH).read_text()


def name_in(patch: str) -> str:
    """The first file of a patch."""
    return next(line for line in patch.splitlines() if line.startswith("+++ b/")).removeprefix("+++ b/")


def offered(book: Book, patch: str | bytes, *arguments: str, **environ: str) -> Said:
    (book.root / PATCH).write_bytes(patch if isinstance(patch, bytes) else patch.encode("utf-8", "surrogateescape"))
    return book.say("apply", PATCH, *arguments, **environ)


def everything(folder: Path) -> dict[str, Any]:
    """Every file of a project and what git knows of it, without the patch itself."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts and path.name != PATCH
    }
    told = git(folder, "status", "--porcelain", "--untracked-files=all"), git(folder, "ls-files", "-s")
    inside = sorted(path.as_posix() for path in (folder / ".git").rglob("*") if path.is_file())
    return {"files": files, "git": told, "inside": [name for name in inside if not name.endswith("/index")]}


def refused(book: Book, patch: str | bytes, said: str, *arguments: str) -> None:
    """The patch is refused in one sentence that says it, and nothing changes, neither here nor around."""
    before, around = everything(book.root), sorted(book.root.parent.iterdir())
    told = offered(book, patch, *arguments)
    assert told.code == 6, told
    assert said in told.err, told.err
    assert told.err.startswith("✗ the patch is refused: ")
    assert "nothing was changed" in told.err
    assert "Traceback" not in told.err
    assert everything(book.root) == before
    assert sorted(book.root.parent.iterdir()) == around


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


def renamed(to: str) -> Change:
    """The file of a patch under another name, as git quotes it."""
    quoted = "".join(chr(byte) if 32 < byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in to.encode())

    def change(patch: str) -> str:
        name = name_in(patch)
        patch = patch.replace(f"a/{name} b/{name}", f'"a/{quoted}" "b/{quoted}"')
        return patch.replace(f"+++ b/{name}", f'+++ "b/{quoted}"')

    return change


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


def test_a_recording_that_is_not_as_it_was_is_not_changed(repository: Book) -> None:
    file = repository.root / repository.files()[0]
    content = json.loads(file.read_text())
    content["response"]["body"] = {"json": {"answer": 2}}
    file.write_text(recording.dumps(content))
    repository.say("patch", "--output", PATCH)
    git(repository.root, "checkout", "-q", ".")
    patch = (repository.root / PATCH).read_text()
    refused(
        repository, patch.replace('-        "answer": 1', '-        "answer": 9'), "git does not apply it to commit"
    )


def with_body(book: Book) -> tuple[Path, Path]:
    """A recording that has a body beside it."""
    made(book)
    book.record(TWO, {"model": "m", "ask": 3}, run="eeeeee")
    file = book.root / next(file for file in book.files() if json.loads(Path(file).read_text())["scope"] == TWO)
    content = recording.read(str(file))
    assert content is not None
    content["response"]["body"] = {"bytes": bytes(range(256)) * 400}
    recording.put(str(file), content)
    (body,) = file.parent.glob("*.bin")
    return file, body


def test_a_body_beside_a_recording_comes_and_goes_with_it(repository: Book) -> None:
    file, body = with_body(repository)
    wanted = body.read_bytes()
    assert repository.say("patch", "--output", PATCH).code == 0
    git(repository.root, "clean", "-q", "-d", "-f", "recordings")
    assert repository.say("apply", PATCH).code == 0
    assert body.read_bytes() == wanted
    git(repository.root, "commit", "-q", "-m", "second")
    recording.remove(str(file))
    assert repository.say("patch", "--output", PATCH).code == 0
    git(repository.root, "checkout", "-q", ".")
    assert repository.say("apply", PATCH).code == 0
    assert not body.exists()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda file, _: file.unlink(), "is the body of no recording: "),
        (lambda _, body: body.unlink(), "is no recording: "),
        (lambda _, body: body.write_bytes(b"\0" * 70_000), "is no recording: "),
        (lambda _, body: body.rename(body.with_name(body.name[:-24] + "0" * 20 + ".bin")), "the patch is refused"),
        (lambda file, _: secretly(file, b"\0" * 70_000 + b"sk-" + b"a1" * 12), "holds a secret"),
    ],
)  # fmt: skip
def test_a_body_that_fits_no_recording_is_not_even_written_into_a_patch(
    repository: Book, spoil: Callable[[Path, Path], Any], said: str
) -> None:
    file, body = with_body(repository)
    spoil(file, body)
    told = repository.say("patch", "--output", "new.patch")
    assert told.code == 6
    assert said in told.err
    assert not (repository.root / "new.patch").exists()


def secretly(file: Path, content: bytes) -> None:
    found = recording.read(str(file))
    assert found is not None
    recording.put(str(file), {**found, "response": {**found["response"], "body": {"bytes": content}}})


def test_a_body_whose_recording_stays_may_not_become_another_one(repository: Book) -> None:
    _, body = with_body(repository)
    git(repository.root, "add", "recordings")
    git(repository.root, "commit", "-q", "-m", "second")
    body.write_bytes(b"\xff\x00\xfe")
    told = repository.say("patch", "--output", "new.patch")
    assert (told.code, "has another content than its name says" in told.err) == (6, True)


def test_a_body_may_not_go_without_its_recording(repository: Book) -> None:
    _, body = with_body(repository)
    git(repository.root, "add", "recordings")
    git(repository.root, "commit", "-q", "-m", "second")
    assert sidefile.is_one(body.name)
    assert sha256(body.read_bytes()).hexdigest()[:20] in body.name
    body.unlink()
    told = repository.say("patch", "--output", "new.patch")
    assert (told.code, "is the body of a recording that stays" in told.err) == (6, True)


@pytest.mark.parametrize("kind", ["link", "executable", "secret"])
def test_what_would_be_refused_is_not_written(repository: Book, kind: str) -> None:
    file = repository.root / repository.files()[0]
    if kind == "link":
        file.unlink()
        file.symlink_to("/etc/hostname")
    elif kind == "executable":
        file.chmod(0o755)
    else:
        file.write_text(file.read_text().replace('"answer": 1', f'"answer": "sk-{"a1" * 12}"'))
    told = repository.say("patch", "--output", "new.patch")
    assert told.code == 6
    assert {"link": "symbolic link", "executable": "the mode of a file is changed", "secret": "holds a secret"}[
        kind
    ] in told.err
    assert not (repository.root / "new.patch").exists()


def test_a_key_of_this_environment_is_found_too(repository: Book) -> None:
    secret = "a-plain-looking-password"
    patch = made(repository).replace('"answer": 1', f'"answer": "{secret}"')
    assert offered(repository, patch, "--check").code == 0
    setup = patch.replace("/ollama/", "/ollama-postgres/")
    told = offered(repository, setup, "--check", POSTGRES_PASSWORD=secret)
    assert (told.code, "the value of POSTGRES_PASSWORD" in told.err) == (6, True)
    assert secret not in told.err


@pytest.mark.parametrize("kind", ["link", "outside", "none"])
def test_recordings_that_are_a_link_or_elsewhere_are_no_place_for_a_patch(repository: Book, kind: str) -> None:
    patch = made(repository)
    root = repository.root
    if kind == "link":
        (root / "recordings").rename(root / "moved")
        (root / "recordings").symlink_to("moved")
    elif kind == "none":
        subprocess.run(["mv", ".git", "git"], cwd=root, check=True, timeout=10)
    given = ("--recording-dir", "/usr/recordings") if kind == "outside" else ()
    told = offered(repository, patch, "--check", *given)
    assert told.code == 2
    assert "Traceback" not in told.err


def test_attributes_and_settings_of_the_machine_do_not_change_a_patch(repository: Book) -> None:
    patch, root = made(repository), repository.root
    (root / ".gitattributes").write_text("*.json -diff -text\n")
    git(root, "add", ".gitattributes")
    git(root, "commit", "-q", "-m", "second")
    settings = root / ".stackproof/settings"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("[diff]\nnoprefix = true\n[core]\nautocrlf = true\n[apply]\nwhitespace = error\n")
    repository.record(TWO, {"model": "m", "ask": 3}, run="ffffff")
    assert repository.say("patch", "--output", PATCH, GIT_CONFIG_GLOBAL=str(settings)).code == 0
    again = made(repository)
    assert again.splitlines()[4:6] == patch.splitlines()[4:6]
    assert "GIT binary patch" not in again
    git(root, "clean", "-q", "-d", "-f", "recordings")
    assert offered(repository, again, GIT_CONFIG_GLOBAL=str(settings), GIT_DIR="/nowhere").code == 0
    assert git(root, "show", f":{name_in(again)}") in again.replace("\n+", "\n")


PARTS = st.one_of(
    st.sampled_from(["..", ".", ".git", ".GIT", "", " ", "ollama", "base", "recordings", "a\u0308", "ä", "x.json"]),
    st.text(max_size=6),
)
GOOD = f"recordings/ollama/base/{'0' * 12}-{'1' * 20}.json"


@settings(deadline=None)
@given(parts=st.lists(PARTS, min_size=1, max_size=5), end=st.booleans())
@example(parts=["recordings", "ollama", "base"], end=True)
def test_a_name_that_is_let_through_is_one_below_the_recordings_and_nothing_else(parts: list[str], end: bool) -> None:
    path = "/".join([*parts, GOOD.rpartition("/")[2]] if end else parts)
    if refusal(path, "recordings", {"ollama"}) is not None:
        return
    assert path.startswith("recordings/ollama/")
    assert path.isprintable()
    assert not set(path) & set('\\:*?"<>|~')
    assert all(step and step.strip(" .") == step for step in path.split("/"))
    assert path.endswith(GOOD.rpartition("/")[2])


@given(name=st.text(min_size=1, max_size=12))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(name="../../x")
@example(name="ollama/base/../x.json")
@example(name='"\\"')
@example(name="\u2028")
def test_no_name_of_whatever_letters_gets_a_file_written(repository: Book, template: Path, name: str) -> None:
    refused(repository, renamed(f"recordings/{name}")((template / PATCH).read_text()), "the patch is refused: ")


def test_names_that_some_systems_take_for_one_are_named() -> None:
    there = ["recordings/ollama/base/a.json"]
    assert collisions(["recordings/ollama/base/b.json"], there) == []
    assert collisions(there, there) == []
    for path in ("recordings/ollama/Base/b.json", "recordings/ollama/ｂase/b.json", "recordings/ollama/base/A.json"):
        assert len(collisions([path], there)) == 1
    assert len(collisions(["recordings/x/a", "recordings/X/a"], [])) == 1


@pytest.mark.parametrize("where", ["recordings/ollama/base", "recordings/ollama", "file"])
def test_nothing_is_written_through_a_link_that_the_commit_has(repository: Book, where: str, tmp_path: Path) -> None:
    root, patch = repository.root, made(repository)
    aside = tmp_path / ".stackproof/aside"
    aside.mkdir(parents=True)
    if where == "file":
        (root / name_in(patch)).symlink_to(aside / "x.json")
    else:
        shutil.move(root / where, aside / "moved")
        (root / where).symlink_to(aside / "moved")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "second")
    head = git(root, "rev-parse", "HEAD").strip()
    refused(
        repository, "\n".join([patch.split("\n")[0], f"base {head}", *patch.split("\n")[2:]]), "git does not apply it"
    )
