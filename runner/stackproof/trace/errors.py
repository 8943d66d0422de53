"""What can go wrong with a trace, each with a name of its own, so that a caller can tell one from another."""

from __future__ import annotations

from pathlib import Path

from stackproof.errors import ExitCode, StackproofError


class TraceError(StackproofError):
    """A trace does not serve: only what was recorded is at fault, or the request that was compared with it.

    These are raised in the middle of other people's code, so the hint is a note of the exception too: tracebacks and
    pytest show it.
    """

    exit_code = ExitCode.RECORDINGS

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        if hint is not None:
            self.add_note(hint)


class TraceMismatchError(TraceError):
    """The request is not the one that was recorded at this place. The message shows where they differ."""


class TraceExhaustedError(TraceError):
    """One request more than was recorded: the conversation is longer than its trace."""


class TraceLeftOverError(TraceError):
    """The conversation ended with exchanges left that nobody asked for: it is shorter than its trace."""


class PartialTraceError(TraceError):
    """The request was recorded only in part, and a partial exchange is never served as a complete one."""


class DamagedTraceError(TraceError):
    """A line is no exchange, or the file is no trace.

    line: its number, counted from 1 after decompression; None where it is about the file. torn: it is a last line
    whose writer was killed while writing; the next one who appends drops it.
    """

    def __init__(self, path: Path, what: str, *, line: int | None = None, torn: bool = False, hint: str = "") -> None:
        where = f"{path}, line {line}," if line is not None else f"{path}"
        usual = (
            "its writer was stopped while writing; recording into the file again drops that line, as does "
            f"`stackproof trace migrate --drop-torn {path}`"
            if torn
            else f"`stackproof trace check {path}` names every line that is damaged"
        )
        super().__init__(f"{where} {what}", hint=hint or usual)
        self.path = path
        self.what = what
        self.line = line
        self.torn = torn


class UnknownEventError(DamagedTraceError):
    """A line, or the client that is being recorded, has an event of a type that is not known."""


class TraceVersionError(TraceError):
    """The file has a version of the format that this Stackproof does not read, or does not append to."""


class TraceFileError(TraceError):
    """The file cannot be opened, read or written: it is missing, a folder, or the system refuses."""

    exit_code = ExitCode.USAGE


class TraceBusyError(TraceFileError):
    """Another process has held the file for longer than anybody waits."""

    exit_code = ExitCode.RECORDINGS


class MissingPackageError(TraceFileError):
    """The file is compressed, and the package that reads and writes it is not installed."""


class UnfitValueError(TraceError):
    """A request or an event holds something that JSON cannot say."""

    exit_code = ExitCode.USAGE


class TraceCancelledError(TraceError):
    """The stream was cancelled by its caller, through a `CancelToken`."""
