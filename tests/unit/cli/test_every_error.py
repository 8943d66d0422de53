"""Each class of expected errors, provoked once: one sentence, what to do, the exit code, and never a traceback."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.cli.provoking import (
    Case,
    Here,
    bad_patch,
    build_fails,
    busy,
    cancelled,
    collision,
    command,
    damaged,
    died,
    engine_refuses,
    exhausted,
    full_disk,
    half_installed,
    lacking_program,
    left_over,
    mismatch,
    never_met,
    newer,
    no_cell,
    not_an_object,
    not_seen,
    other_event,
    partial,
    unfit,
    without_times,
    without_zstandard,
)

import stackproof
from stackproof import console
from stackproof.cli.reference_messages import exit_codes, read
from stackproof.errors import ExitCode, StackproofError

PACKAGE = Path(stackproof.__file__).parent

CASES: Mapping[str, Case] = {
    "StackproofError": Case(
        by=half_installed,
        code=ExitCode.INTERNAL,
        says=("the built-in setups are missing from this installation", "install stackproof again"),
    ),
    "DiskError": Case(
        by=full_disk,
        code=ExitCode.DISK,
        says=("cannot be written: No space left on device, ", " free on /", "make room there"),
    ),
    "UsageError": Case(
        by=command("run", "--suite", "bsae"),
        code=ExitCode.USAGE,
        says=("unknown suite 'bsae' (--suite), did you mean 'base'?", "known suites: base, search"),
    ),
    "NothingRanError": Case(
        by=without_times,
        code=ExitCode.NOTHING_RAN,
        says=("no test with a time is in .stackproof/runs", "`stackproof run` makes some"),
    ),
    "DockerError": Case(
        by=engine_refuses,
        code=ExitCode.DOCKER,
        says=("failed while looking for image no/such", "the image store is broken", "the engine's own log"),
    ),
    "NoEngineError": Case(
        by=command("stack", "down", DOCKER_HOST="unix:///nowhere/docker.sock"),
        code=ExitCode.DOCKER,
        says=("no Docker engine answered at unix:///nowhere/docker.sock (DOCKER_HOST)", "start the engine"),
    ),
    "BuildFailedError": Case(
        by=build_fails, code=ExitCode.DOCKER, says=("image desk:1 could not be built: Step 2/2 : RUN make: make: not",)
    ),
    "NotSeenError": Case(
        by=not_seen, code=ExitCode.DOCKER, says=("containers do not see what is in", "STACKPROOF_DOCKER_SHARING=copy")
    ),
    "StackStartError": Case(
        by=command("run"), code=ExitCode.STACK_START, says=("there is no program 'no-such-program'", "again: ")
    ),
    "MissingProgramError": Case(
        by=lacking_program, code=ExitCode.STACK_START, says=("there is no program 'nonesuch'", "install it", "again: ")
    ),
    "StackDiedError": Case(by=died, code=ExitCode.TESTS, says=("desk exited with code 3 while the tests ran", "see ")),
    "RecordingError": Case(
        by=not_an_object,
        code=ExitCode.RECORDINGS,
        says=("recordings cannot be written to", "Not a directory", "--recording-dir", "again: "),
    ),
    "RefusedError": Case(
        by=bad_patch,
        code=ExitCode.RECORDINGS,
        says=("the patch is refused: it is none of recordings", "nothing was changed"),
    ),
    "CollisionError": Case(
        by=collision, code=ExitCode.RECORDINGS, says=("nothing was moved", "would take the place", "recordings diff")
    ),
    "NotProvenError": Case(
        by=no_cell,
        code=ExitCode.NOT_PROVEN,
        says=("no cell of ci/release.yaml is in run aaaaaa", "it lists base-own-server-desk"),
    ),
    "NeverMetError": Case(by=never_met, code=ExitCode.TESTS, says=("was never met: no provider call of 2 tests fits",)),
    "TraceMismatchError": Case(by=mismatch, code=ExitCode.RECORDINGS, says=("Oslo?", "Rome?", "record")),
    "TraceExhaustedError": Case(
        by=exhausted, code=ExitCode.RECORDINGS, says=("holds 1 complete exchange, and request 2 was sent", "record")
    ),
    "TraceLeftOverError": Case(
        by=left_over, code=ExitCode.RECORDINGS, says=("ended with 2 exchanges of 2 left", "record it anew")
    ),
    "PartialTraceError": Case(
        by=partial, code=ExitCode.RECORDINGS, says=("recorded only in part", "record the conversation anew")
    ),
    "DamagedTraceError": Case(by=damaged, code=ExitCode.RECORDINGS, says=("talk.jsonl, line 3,", "stackproof trace")),
    "UnknownEventError": Case(by=other_event, code=ExitCode.RECORDINGS, says=("video_delta",)),
    "TraceVersionError": Case(
        by=newer, code=ExitCode.RECORDINGS, says=("version 9 of the trace format", "a newer Stackproof")
    ),
    "TraceFileError": Case(
        by=command("trace", "show", "nowhere.jsonl"),
        code=ExitCode.USAGE,
        says=("there is no trace at nowhere.jsonl", "RecordingModelClient"),
    ),
    "TraceBusyError": Case(by=busy, code=ExitCode.RECORDINGS, says=("held by another process", "fuser -v")),
    "MissingPackageError": Case(by=without_zstandard, code=ExitCode.USAGE, says=("zstandard", "pip install")),
    "UnfitValueError": Case(by=unfit, code=ExitCode.USAGE, says=("nan", "send a finite number")),
    "TraceCancelledError": Case(by=cancelled, code=ExitCode.RECORDINGS, says=("cancelled by the caller",)),
}
"""Name of a class -> how it is provoked."""

NEVER_SHOWN = {
    "TraceError": "it is what all errors of a trace have in common",
    "_InvalidError": "the cell starts a container of its own then",
}


@pytest.fixture(name="here")
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    monkeypatch.chdir(tmp_path)
    return Here(root=tmp_path, monkeypatch=monkeypatch)


def test_every_class_of_expected_errors_is_provoked() -> None:
    assert set(exit_codes(read(PACKAGE))) == CASES.keys() | NEVER_SHOWN.keys()


@pytest.mark.parametrize("name", CASES)
def test_it_is_one_sentence_with_its_exit_code_and_what_to_do(name: str, here: Here) -> None:
    case = CASES[name]
    raised: StackproofError | None = None
    code: int | None = None
    try:
        code = case.by(here)
    except StackproofError as error:
        raised = error
    if raised is not None:
        here.kind, code, shown = type(raised).__name__, raised.exit_code, io.StringIO()
        console.show_error(raised, stream=shown)
        here.said = shown.getvalue()
    assert (here.kind, code) == (name, case.code), here.said
    assert "Traceback" not in here.said
    assert "✗ " in here.said or "FAIL" in here.said
    assert [words for words in case.says if words not in here.said] == [], here.said
