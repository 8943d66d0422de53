"""Version 0 is read and migrated, step by step; a version to come is refused; a migration is whole or nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trace.conftest import Talk

from stackproof.trace import (
    DamagedTraceError,
    ReplayModelClient,
    TraceExhaustedError,
    TraceMismatchError,
    TraceVersionError,
    Why,
    read,
)
from stackproof.trace.framing import framing_of
from stackproof.trace.migrating import migrate
from stackproof.trace.versions import CURRENT, MIGRATIONS, Migration, steps_from, upgraded


def old_line(said: str, step: int = 0, ended: bool = True) -> str:
    """A line as it was written before there were headers: the digest and the events, keys sorted."""
    form = {
        "instructions": "Be brief.",
        "history": [{"role": "user", "content": said}],
        "tools": [],
        "step_sequence": step,
        "tool_generation": 0,
    }
    digest = sha256(json.dumps(form, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    events = [{"type": "text_delta", "text": "It rains."}, *([{"type": "completed"}] if ended else [])]
    return json.dumps({"fingerprint": digest, "events": events}, sort_keys=True) + "\n"


@pytest.fixture
def old(path: Path) -> Path:
    """A trace of version 0: one exchange that was completed, one whose stream just ended."""
    path.write_bytes(framing_of(path).pack((old_line("Oslo?") + old_line("Bergen?", ended=False)).encode()))
    return path


def test_version_0_is_replayed_as_it_is(old: Path, talk: Talk) -> None:
    before = old.read_bytes()
    with ReplayModelClient(old) as client:
        assert [event.type for event in talk.say(client, "Oslo?")] == ["text_delta", "completed"]
        with pytest.raises(TraceExhaustedError):
            talk.say(client, "Moss?")
        client._failure = None
    assert old.read_bytes() == before


def test_a_mismatch_with_version_0_says_that_it_kept_no_request(old: Path, talk: Talk) -> None:
    with pytest.raises(TraceMismatchError, match="written without its requests, so where they differ is not known"):
        talk.say(ReplayModelClient(old), "Moss?")


def test_migrated_it_reads_the_same_and_what_was_not_completed_is_partial(old: Path, talk: Talk) -> None:
    before = read(old)
    made = migrate(old)
    after = read(old)
    assert (before.version, after.version) == (0, CURRENT)
    assert [line.exchange for line in after.lines] == [line.exchange for line in before.lines]
    assert [line.exchange.why for line in after.lines if line.exchange] == [None, Why.UNFINISHED]
    assert (made.version, made.exchanges, made.partial, made.is_changed) == (0, 2, 1, True)
    with ReplayModelClient(old) as client:
        talk.say(client, "Oslo?")


def test_a_second_migration_leaves_the_file_untouched(old: Path) -> None:
    migrate(old)
    before = (old.read_bytes(), old.stat().st_ino, old.stat().st_mtime_ns)
    assert not migrate(old).is_changed
    assert (old.read_bytes(), old.stat().st_ino, old.stat().st_mtime_ns) == before


def test_a_dry_run_says_the_same_and_changes_nothing(old: Path) -> None:
    before = (old.read_bytes(), old.stat().st_ino)
    said = migrate(old, dry_run=True)
    assert (old.read_bytes(), old.stat().st_ino) == before
    assert migrate(old) == said
    assert sorted(item.name for item in old.parent.iterdir()) == [old.name]


def test_mode_and_link_stay(old: Path) -> None:
    old.chmod(0o640)
    link = old.with_name("link-" + old.name)
    link.symlink_to(old.name)
    migrate(link)
    assert link.is_symlink()
    assert old.stat().st_mode & 0o777 == 0o640
    assert read(old).version == CURRENT


def test_damage_is_refused_and_the_file_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    for damaged, what in (
        ('{"fingerprint": "x", "events": []}\n', "no SHA-256"),
        ('{"fingerprint": "' + "ab" * 32 + '", "events": 3}\n', "events that are no list"),
        ('{"fingerprint": "' + "ab" * 32 + '", "events": [{"type": "sound"}]}\n', "unknown type 'sound'"),
        ('{"fingerprint": "' + "ab" * 32 + '", "events": [], "at": 1}\n', "has at, which version 0 did not have"),
        ('{"events": []}\n', "fingerprint"),
    ):
        path.write_text(old_line("Oslo?") + damaged)
        before = path.read_bytes()
        with pytest.raises(DamagedTraceError, match="line 2") as caught:
            migrate(path)
        assert what in str(caught.value)
        assert path.read_bytes() == before
        assert [item.name for item in tmp_path.iterdir()] == ["old.jsonl"]


def test_a_torn_last_line_is_dropped_only_when_asked_for(old: Path, tmp_path: Path) -> None:
    more = framing_of(old).pack(old_line("Moss?").encode())
    old.write_bytes(old.read_bytes() + more[:-10])
    before = old.read_bytes()
    with pytest.raises(DamagedTraceError, match="is cut short"):
        migrate(old)
    assert old.read_bytes() == before
    made = migrate(old, drop_torn=True)
    assert (made.dropped, made.exchanges) == (True, 2)
    assert read(old).damage is None


@pytest.mark.parametrize("version", [CURRENT + 1, 99])
def test_a_version_to_come_is_refused_by_name(tmp_path: Path, version: int) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(json.dumps({"format": "stackproof-trace", "version": version}) + "\n")
    for act in (read, ReplayModelClient, migrate):
        with pytest.raises(
            TraceVersionError, match=f"has version {version} .* reads up to version {CURRENT}"
        ) as caught:
            act(path)
        assert caught.value.hint == "a newer Stackproof wrote it: install that one"


@pytest.mark.parametrize("version", ["1", True, None, 0, -1, 1.0])
def test_a_header_that_says_no_version_is_damage(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(json.dumps({"format": "stackproof-trace", "version": version}) + "\n")
    with pytest.raises(DamagedTraceError, match="a header that cannot be understood"):
        read(path)


def test_every_version_has_its_step_to_the_next() -> None:
    assert sorted(MIGRATIONS) == list(range(CURRENT))
    assert all(step.says and step.source == source for source, step in MIGRATIONS.items())


def test_steps_are_taken_one_after_the_other() -> None:
    def step(source: int) -> Migration:
        return Migration(source=source, says="", line=lambda line: {**line, f"to {source + 1}": True})

    known = {source: step(source) for source in (0, 1, 2)}
    assert upgraded({}, steps_from(1, known, 3)) == {"to 2": True, "to 3": True}
    assert upgraded({"a": 1}, steps_from(3, known, 3)) == {"a": 1}
    with pytest.raises(KeyError):
        steps_from(0, {1: known[1]}, 3)


_KILLED = """
import os, signal, sys
from pathlib import Path
from stackproof.trace.migrating import migrate

countdown = int(sys.argv[2])

def watch(event, args):
    global countdown
    if event in ("os.rename", "os.remove", "os.chmod") or (event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)):
        countdown -= 1
        if not countdown:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
migrate(Path(sys.argv[1]))
"""


def test_a_migration_that_is_killed_leaves_the_old_file_or_the_new_one(old: Path) -> None:
    before = old.read_bytes()
    endings = []
    for number in range(1, 10):
        old.write_bytes(before)
        done = subprocess.run([sys.executable, "-c", _KILLED, str(old), str(number)], timeout=300, check=False)
        endings.append(done.returncode)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        assert old.read_bytes() == before
        assert migrate(old).is_changed  # given again, it ends what was begun
        assert read(old).version == CURRENT
    assert endings[-1] == 0
    assert len(endings) >= 4
    assert read(old).version == CURRENT
