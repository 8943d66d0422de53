"""Reads how a fault is written, in a mark and after `--inject`: `cut:3`, `status:429,times=1,retry-after=2`.

    NAME[:VALUE[,VALUE]][,KEYWORD=VALUE]…

NAME says what happens and which values it needs (`WRITTEN`); keywords say to which calls.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from stackproof.errors import UsageError
from stackproof.recorder.inject.fault import Act, Fault
from stackproof.suggest import did_you_mean

WRITTEN: Mapping[Act, str] = {
    Act.CUT: "cut:N",
    Act.DAMAGE: "damage:N",
    Act.ERROR_EVENT: "error-event:N",
    Act.STATUS: "status:CODE",
    Act.REFUSED: "refused",
    Act.SLOW_FIRST_BYTE: "slow-first-byte:SECONDS",
    Act.STALL: "stall:N,SECONDS",
    Act.CONTENT_TYPE: "content-type:VALUE",
    Act.TRUNCATE: "truncate:BYTES",
}
"""How each fault is written, without keywords."""

KEYWORDS = ("call", "times", "provider", "path", "model", "retry-after")
ONLY_IN_REPLAY = "faults are injected in replay only"
LONGEST = 600.0
"""Seconds: no wait of a test is meant to be longer."""

_KEYWORD = re.compile(r"\s*(?P<name>[A-Za-z][\w-]*)\s*=(?P<value>.*)", re.DOTALL)
_STATUSES = range(400, 600)
_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^`|~\w-]+/[!#$%&'*+.^`|~\w-]+(?:\s*;[ -~]*)?")


def parse(text: str, *, where: str = "fault", given: Mapping[str, object] | None = None) -> Fault:
    """One fault, as docs/faults.md has the grammar: `status:429,times=1,retry-after=2`, `cut:3`, `stall:2,5`.

    ```python
    import requests

    from stackproof.faults import parse
    from stackproof.recorder import recorded

    url = "http://localhost:11434/v1"
    question = {"model": "smollm2:135m", "messages": [{"role": "user", "content": "Hello"}]}
    limit = parse("status:429,times=1,retry-after=2")
    with recorded("recordings/ollama", scope="greeting", providers={"ollama": url}, faults=[limit]):
        answer = requests.post(f"{url}/chat/completions", json=question, timeout=60)
    print(answer.status_code, answer.headers["retry-after"])
    ```

    where: who wrote it (`--inject`, a test's id), for the message. given: keywords that a mark has beside its text.
    Numbers count from 1: events, calls; waits are seconds, 600 at most; bytes are of the body.

    Raises UsageError, one sentence that begins with `where`, with what was probably meant.
    """
    if not isinstance(text, str):
        raise UsageError(f"{where}: {text!r} is no fault: it is written as a text, as 'cut:3'", hint=_hint())
    words, keywords = _taken_apart(text, where)
    for name, value in (given or {}).items():
        told = name.replace("_", "-")
        if told in keywords:
            raise UsageError(f"{where}: {told!r} is said twice of fault {text!r}")
        keywords[told] = str(value)
    name, colon, first = words[0].partition(":")
    act = _act(name.strip(), text, where)
    values = [part.strip() for part in ([first, *words[1:]] if colon or words[1:] else [])]
    reader = _Reader(text, where)
    reader.count(act, values)
    spec = ",".join([_joined(act, values), *(f"{key}={value}" for key, value in keywords.items())])
    reader.known(keywords, act)
    calls = {key: reader.whole(keywords[key], key, least=1) for key in ("call", "times") if key in keywords}
    start = calls.get("call", 1)
    times = calls.get("times", 1 if "call" in calls else None)
    number, seconds, value = reader.values(act, values)
    return Fault(
        act=act,
        spec=spec,
        number=number,
        seconds=seconds,
        value=value,
        retry_after=reader.seconds(keywords["retry-after"], "retry-after") if "retry-after" in keywords else None,
        first=start,
        last=None if times is None else start + times - 1,
        **{key: keywords.get(key) for key in ("provider", "path", "model")},
    )


def parse_all(texts: Iterable[str], *, where: str) -> tuple[Fault, ...]:
    """Several: each of the texts, and each line of one."""
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return tuple(parse(line, where=where) for line in lines if line)


def _taken_apart(text: str, where: str) -> tuple[list[str], dict[str, str]]:
    words: list[str] = []
    keywords: dict[str, str] = {}
    for part in text.strip().split(","):
        # What belongs to the name comes first: a content type may have a `=` in it.
        if words and (found := _KEYWORD.fullmatch(part)) is not None:
            if found["name"] in keywords:
                raise UsageError(f"{where}: {found['name']!r} is said twice of fault {text!r}")
            keywords[found["name"]] = found["value"].strip()
        elif keywords:
            raise UsageError(f"{where}: {part.strip()!r} in fault {text!r} is no KEYWORD=VALUE", hint=_hint())
        else:
            words.append(part)
    return words, keywords


def _act(name: str, text: str, where: str) -> Act:
    try:
        return Act(name)
    except ValueError:
        meant = did_you_mean(name, [act.value for act in Act])
        raise UsageError(f"{where}: unknown fault {name!r} in {text!r}{meant}", hint=_hint()) from None


def _joined(act: Act, values: list[str]) -> str:
    return f"{act.value}:{','.join(values)}" if values else act.value


def _hint() -> str:
    return f"faults: {', '.join(WRITTEN.values())}; keywords: {', '.join(KEYWORDS)}"


class _Reader:
    """Reads values of one fault; each error names the fault and who wrote it."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where

    def _wrong(self, what: str, more: str = "") -> UsageError:
        return UsageError(f"{self._where}: {what} in fault {self._text!r}{more}", hint=_hint())

    def count(self, act: Act, values: list[str]) -> None:
        """There are as many values as the fault has, and none is empty."""
        wanted = WRITTEN[act].partition(":")[2]
        if len(values) != (wanted.count(",") + 1 if wanted else 0) or not all(values):
            raise UsageError(
                f"{self._where}: fault {self._text!r} is not written {WRITTEN[act]!r}",
                hint=f"for example {_EXAMPLES[act]}",
            )

    def known(self, keywords: Mapping[str, str], act: Act) -> None:
        """Every keyword is one that this fault has, and says something."""
        allowed = [key for key in KEYWORDS if key != "retry-after" or act is Act.STATUS]
        for key, value in keywords.items():
            if key not in allowed:
                if key in KEYWORDS:
                    raise self._wrong(f"{key}, which goes with a status only,")
                raise self._wrong(f"unknown keyword {key!r}", did_you_mean(key, allowed))
            if not value:
                raise self._wrong(f"{key} has no value")

    def values(self, act: Act, values: list[str]) -> tuple[int, float, str]:
        """Number, seconds and text of the fault."""
        number, seconds, value = 0, 0.0, ""
        match act:
            case Act.CUT | Act.TRUNCATE:
                number = self.whole(values[0], "the number", least=0)
            case Act.DAMAGE | Act.ERROR_EVENT:
                number = self.whole(values[0], "the number of the event", least=1)
            case Act.STATUS:
                number = self.whole(values[0], "the status", least=0)
                if number not in _STATUSES:
                    raise self._wrong(f"the status {values[0]!r} is not one of an error, 400 to 599,")
            case Act.SLOW_FIRST_BYTE:
                seconds = self.seconds(values[0], "the wait")
            case Act.STALL:
                number = self.whole(values[0], "the number", least=0)
                seconds = self.seconds(values[1], "the wait")
            case Act.CONTENT_TYPE:
                value = values[0]
                if not _MEDIA_TYPE.fullmatch(value):
                    raise self._wrong(f"{value!r} is no content type, as text/html,")
            case Act.REFUSED:
                pass
        return number, seconds, value

    def whole(self, value: str, what: str, *, least: int) -> int:
        """A whole number."""
        if not (value.isascii() and value.isdecimal()) or len(value) > _DIGITS or int(value) < least:
            raise self._wrong(f"{what} {value!r} is not a whole number of at least {least}")
        return int(value)

    def seconds(self, value: str, what: str) -> float:
        """A number of seconds."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number <= LONGEST:
            raise self._wrong(f"{what} {value!r} is not a number of seconds above 0 and up to {LONGEST:g}")
        return number


_DIGITS = 9
_EXAMPLES: Mapping[Act, str] = {
    Act.CUT: "cut:3",
    Act.DAMAGE: "damage:2",
    Act.ERROR_EVENT: "error-event:2",
    Act.STATUS: "status:429,times=1",
    Act.REFUSED: "refused,times=1",
    Act.SLOW_FIRST_BYTE: "slow-first-byte:2",
    Act.STALL: "stall:3,2.5",
    Act.CONTENT_TYPE: "content-type:text/html",
    Act.TRUNCATE: "truncate:20",
}
