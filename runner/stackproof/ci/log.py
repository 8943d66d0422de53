"""The log of a CI job: where it obeys nothing, and what is folded in it.

GitHub: `::stop-commands::WORD` … `::WORD::` and `::group::TITLE` … `::endgroup::`
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands). GitLab: `section_start` and
`section_end` (https://docs.gitlab.com/ci/jobs/job_logs/#custom-collapsible-sections).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import assert_never

from stackproof.ci import guard, kind
from stackproof.ci.kind import Kind
from stackproof.plaintext import one_line, shortened

_LONGEST = 200  # characters of a title


class Log:
    """One log, written to by one thread. say: prints a line that is read by `reader`. clock: seconds since 1970."""

    def __init__(self, reader: Kind, say: Callable[[str], None], *, clock: Callable[[], float] = time.time) -> None:
        self._reader, self._say, self._clock = reader, say, clock
        self._token: str | None = None
        self._open: str | None = None

    def fence(self) -> None:
        """From here on nothing is obeyed; the word that ends it cannot be guessed."""
        if self._reader is Kind.GITHUB:
            self._token = secrets.token_hex(16)
            self._say(f"::stop-commands::{self._token}")

    def lift(self) -> None:
        """Have the runner obey again; nothing happens where nothing kept it from that."""
        if self._token is not None:
            self._say(f"::{self._token}::")
            self._token = None

    def fold(self, title: str) -> bool:
        """Fold what follows below `title`, until `unfold` or the next fold: none is inside of another.

        False, and nothing is said, where nothing can be folded.
        """
        self.unfold()
        shown = shortened(one_line(title), _LONGEST)
        match self._reader:
            case Kind.GITHUB:
                self._open = title
                shown = shown.replace("##[", "## [").replace("%", "%25")
                self._obeyed(f"::group::{shown}")
            case Kind.GITLAB:
                # Only what is made here: a name may hold letters, digits and `_.-`, and has to be unique in the log.
                self._open = f"stackproof_{secrets.token_hex(6)}"
                start = f"section_start:{int(self._clock())}:{self._open}[collapsed=true]"
                self._say(f"\x1b[0K{start}\r\x1b[0K{shown}")
            case Kind.OTHER | Kind.NONE:
                return False
            case _:
                assert_never(self._reader)
        return True

    def unfold(self) -> None:
        """The end of what is folded; nothing happens where nothing is."""
        if self._open is None:
            return
        name, self._open = self._open, None
        if self._reader is Kind.GITHUB:
            self._obeyed("::endgroup::")
        else:
            self._say(f"\x1b[0Ksection_end:{int(self._clock())}:{name}\r\x1b[0K")

    def _obeyed(self, line: str) -> None:
        """The fence is lifted for this line alone."""
        fenced = self._token is not None
        self.lift()
        self._say(line)
        if fenced:
            self.fence()


NOWHERE = Log(Kind.NONE, guard.command)
"""Where nothing is folded."""


@contextmanager
def fenced(environ: Mapping[str, str], *, quiet: bool = False) -> Iterator[Log]:
    """The log of a command; nothing that is printed inside is obeyed, and what is folded ends with it.

    quiet: only data is printed, so that nothing is said here.
    """
    log = Log(Kind.NONE if quiet else kind.of(environ), guard.command)
    log.fence()
    try:
        yield log
    finally:
        log.unfold()
        log.lift()
