"""What is to be done with a call, for a transport to carry out in the terms of its library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .take import Take


@dataclass(frozen=True, kw_only=True, slots=True)
class PassThrough:
    """Let the library do what it would have done, with these headers added."""

    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A response that needs no network. `exception` is {kind, message} to raise after the chunks, if any.

    `status` is None when there was no response at all. `waits` are seconds before each chunk, none when at once.
    `read_on` is set where the recorded caller left: whoever reads on is told why not by the text that it returns.
    `n`: which of the equal requests of its scope it answers, from 1; 0 where no recording does. `delay`: seconds before
    there is a status. Waits end early once `over`, asked now and then, says that nobody waits any more.
    """

    status: int | None
    headers: Mapping[str, str]
    chunks: Iterable[bytes]
    exception: Mapping[str, str] | None = None
    waits: Iterable[float] = ()
    read_on: Callable[[], str] | None = None
    n: int = 0
    delay: float = 0.0
    over: Callable[[], bool] | None = None

    def paced(self) -> Iterator[tuple[float, bytes]]:
        """The chunks, each with the seconds that its reader has to wait for it first."""
        waits = iter(self.waits)
        for chunk in self.chunks:
            yield next(waits, 0.0), chunk


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """Send it, feed the take, hand on what it gives. `url` and `body` are what goes out; None: as it is."""

    take: Take
    url: str | None
    body: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Later:
    """Another process records this very answer now: ask `poll` again until it gives the decision."""

    poll: Callable[[], PassThrough | Answer | Record | None]


Decision = PassThrough | Answer | Record | Later
