"""Streams whose text no CI system takes for more than text: tests, models and providers wrote most of it.

What is taken for more, and therefore written otherwise here:

- GitHub's runner obeys a line that begins with `::`, after blanks too, and one with `##[` anywhere; a carriage return
  ends a line for it (actions/runner, src/Runner.Common/ActionCommand.cs, TryParseV2 and TryParse). Its page renders
  `##[error]` and `##[endgroup]` even where the runner obeys nothing.
- GitLab folds at `section_start:…` followed by a carriage return and an escape (docs.gitlab.com/ci/jobs/job_logs/).
- Terminals obey escapes.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import IO, Any

from stackproof.ci import kind
from stackproof.ci.kind import Kind
from stackproof.plaintext import plain

_COMMAND = re.compile(r"^([^\S\n]*:)(?=:)", re.MULTILINE)
_LEGACY = re.compile(r"(##)(?=\[)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 1000  # of a line of which all is remembered


def defused(text: str, reader: Kind, *, before: str = "") -> str:
    """The text with nothing in it that `reader` obeys. before: what stands on its line already, defused too."""
    if not reader.reads_marks:
        return text
    if _is_data(text):
        # Another spelling of the same value: a program may read it.
        return text.replace("##[", "#\\u0023[")
    shown = plain(text)
    if reader is Kind.GITHUB:
        # A space in the mark, so that it is still to be seen what was meant.
        shown = _COMMAND.sub(r"\1 ", _LEGACY.sub(r"\1 ", before + shown))[len(before) :]
    return shown


def _is_data(text: str) -> bool:
    """Whether it may be one JSON object, in which nothing but `##[` would be obeyed."""
    whole = text.strip()
    return whole.startswith("{") and whole.endswith("}") and not (_CONTROL.search(whole) or _COMMAND.search(whole))


def uncoloured(text: str) -> str:
    """Without colours, which would be written out as escapes."""
    return _COLOUR.sub("", text)


class Guarded:
    """A stream for text, written through `defused`; `command` is for lines of ours that are to be obeyed."""

    def __init__(self, stream: IO[str], reader: Kind) -> None:
        self._stream, self._reader = stream, reader
        self._line = ""

    def write(self, text: str) -> int:
        """As the stream's."""
        shown = defused(text, self._reader, before=self._line)
        self._stream.write(shown)
        # Pieces may come together to a mark. Of a long line its last characters can begin one.
        last = (self._line + shown).rpartition("\n")[2]
        self._line = last if len(last) <= _LONGEST or not last.strip() else f"…{last[-2:]}"
        return len(text)

    def command(self, line: str) -> None:
        """A line as it is."""
        self._stream.write(f"\n{line}\n" if self._line else f"{line}\n")
        self._stream.flush()
        self._line = ""

    def writelines(self, lines: Iterator[str]) -> None:
        """Each by itself."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def command(line: str) -> None:
    """A line on standard output that the CI system is to read: made of our own words, all else in it escaped."""
    if isinstance(sys.stdout, Guarded):
        sys.stdout.command(line)
    else:
        print(line, flush=True)


@contextlib.contextmanager
def guarded(environ: Mapping[str, str]) -> Iterator[None]:
    """Standard output and standard error guarded while a command runs, where a CI system reads marks in them.

    Standard output is left alone where it is a file: then it is no log, and every byte counts. Standard error is
    guarded by its text alone: it reaches GitHub's runner in a stream of its own, in no order with the other one.
    """
    reader = kind.of(environ)
    if not reader.reads_marks:
        yield
        return
    out: Any = sys.stdout if _is_file(sys.stdout) else Guarded(sys.stdout, reader)
    error: Any = Guarded(sys.stderr, reader)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        yield


def _is_file(stream: IO[str]) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False
