"""Bodies beside recordings, names and places that a patch may write."""

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
from tests.unit.recordings.conftest import Book
from tests.unit.recordings.patch.conftest import PATCH, TWO, git, made, name_in, offered, refused, renamed

from stackproof.recorder import recording, sidefile
from stackproof.recordings.patching_names import collisions, refusal


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
        subprocess.run(["mv", ".git", "git"], cwd=root, check=True, timeout=60)
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
