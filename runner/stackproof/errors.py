"""The one family of expected errors, each class with the exit code that it ends a command with."""

from __future__ import annotations

import sys
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every `stackproof` command.

    The first of USAGE, DOCKER, STACK_START and DISK that happened ends a run; otherwise TESTS comes before
    RECORDINGS before NOT_PROVEN before NOTHING_RAN.
    """

    PASS = 0
    TESTS = 1
    USAGE = 2
    NOTHING_RAN = 3
    DOCKER = 4
    STACK_START = 5
    RECORDINGS = 6
    NOT_PROVEN = 7
    INTERNAL = 70
    DISK = 74
    SIGINT = 130
    SIGTERM = 143


_POSIX = frozenset({"fcntl", "grp", "pwd", "resource", "termios"})


class StackproofError(Exception):
    """An expected error: one sentence that says what happened and where, and a hint that says what to do next."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(StackproofError):
    """The command line, an environment variable or a file that was given says something impossible."""

    exit_code = ExitCode.USAGE


class NothingRanError(StackproofError):
    """A run in which no test was executed."""

    exit_code = ExitCode.NOTHING_RAN


class DockerError(StackproofError):
    """A Docker engine is missing, or did not do what it was asked."""

    exit_code = ExitCode.DOCKER


class NoEngineError(DockerError):
    """This machine has no Docker engine that answers: nothing of the stack was tried."""


class StackStartError(StackproofError):
    """The software under test, or a service that it needs, did not become ready."""

    exit_code = ExitCode.STACK_START


class MissingProgramError(StackStartError):
    """This machine lacks a program that the stack needs, a Python or Node.js of some version; it is not at fault."""


class RecordingError(StackproofError):
    """Only the recordings are at fault: missed, damaged, unreadable, or unused in a strict run."""

    exit_code = ExitCode.RECORDINGS


class DiskError(StackproofError):
    """A file cannot be kept: no room is left, the quota is used up, or it is read-only or closed to this user."""

    exit_code = ExitCode.DISK


class NotProvenError(StackproofError):
    """Evidence is missing or inconsistent."""

    exit_code = ExitCode.NOT_PROVEN


def lacking_posix(error: ImportError) -> UsageError | None:
    """What a person is told on a system that has not what every run needs (Windows); None for any other import."""
    if error.name not in _POSIX:
        return None
    return UsageError(
        f"Stackproof runs on Linux and macOS; this Python is one of {sys.platform}, which has no module {error.name!r}",
        hint="on Windows use WSL 2: `wsl --install`, and install Stackproof in there, with the project on its own disk",
    )
