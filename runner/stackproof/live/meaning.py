"""What an answer says about a key: accepted, rejected, without credit, too fast; in the words of each provider."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from stackproof.live import questions
from stackproof.live.asking import Answer


class Standing(StrEnum):
    """How things are with a key, or with a model of it."""

    OK = "ok"
    REJECTED = "rejected"
    NO_CREDIT = "no credit"
    RATE_LIMITED = "rate limited"
    UNKNOWN_MODEL = "model unknown"
    UNREACHABLE = "unreachable"
    # The key was taken, and the question was not: what credit there is shows with the first call.
    UNCLEAR = "unclear"


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """What an answer means. said: status and the provider's own words, which may repeat the key.

    again: the same question may fare better. wait: seconds that the provider asks for before that, None where it does
    not say. elsewhere: the address that it was sent on to. hint: what
    to do, where no answer came.
    """

    standing: Standing
    said: str
    again: bool = False
    wait: float | None = None
    elsewhere: str | None = None
    hint: str | None = None


# OpenAI's and Azure's are of this type, and codes say which limit it is; others have taken the words over.
_NO_CREDIT_TYPES = frozenset(
    {"insufficient_quota", "billing_error", "credit_balance_exhausted", "billing_hard_limit_reached"}
)
# Anthropic has it as a 400 of the type of any other bad request.
_NO_CREDIT_WORDS = re.compile(r"credit balance is too low|insufficient (?:credit|balance|funds)", re.IGNORECASE)
_BAD_KEY_WORDS = re.compile(r"API key not valid|API_KEY_INVALID|invalid.api.key", re.IGNORECASE)
_NO_MODEL_CODES = frozenset({"model_not_found", "not_found_error", "DeploymentNotFound"})
_SHORT_LIMIT = re.compile(r"retryDelay|PerMinute|per minute", re.IGNORECASE)
_DELAY = re.compile(r'"retryDelay"\s*:\s*"([0-9.]+)s"')
_TAVILYS = (432, 433)  # the plan's limit, and that of what goes beyond it


def of(answer: Answer) -> Meaning:
    """What the answer means."""
    status, words, kinds = answer.status, _words(answer), frozenset(_kinds(answer))
    said = f"{status}{_kind(kinds)}: {words}" if words else f"{status}{_kind(kinds)}"
    standing, again = _standing(answer, words, kinds)
    return Meaning(
        standing=standing,
        said=said,
        again=again,
        wait=_wait(answer) if again else None,
        elsewhere=answer.headers.get("location", "another address") if 300 <= status < 400 else None,
    )


def _standing(answer: Answer, words: str, kinds: frozenset[str]) -> tuple[Standing, bool]:
    """The standing, and whether the same question may fare better. The first row that fits counts."""
    status, text = answer.status, answer.body.decode("utf-8", "replace")
    exhausted = "RESOURCE_EXHAUSTED" in kinds and _SHORT_LIMIT.search(text) is None
    rows: tuple[tuple[object, Standing], ...] = (
        # A page in the place of an answer: the sign-in of a network, or a server that is something else.
        (200 <= status < 300 and questions.parsed(answer) is None, Standing.UNREACHABLE),
        (200 <= status < 300, Standing.OK),
        (300 <= status < 400 or status == 407, Standing.UNREACHABLE),
        (status in (402, *_TAVILYS) or kinds & _NO_CREDIT_TYPES or _NO_CREDIT_WORDS.search(words), Standing.NO_CREDIT),
        (status in (401, 403) or (status == 400 and _BAD_KEY_WORDS.search(text)), Standing.REJECTED),
        (status == 429 and exhausted, Standing.NO_CREDIT),
        (status == 429, Standing.RATE_LIMITED),
        (status in (408, 409) or status >= 500, Standing.UNREACHABLE),
        (status == 404 or kinds & _NO_MODEL_CODES, Standing.UNKNOWN_MODEL),
    )
    standing = next((standing for fits, standing in rows if fits), Standing.UNCLEAR)
    passing = status in (408, 409) or (status >= 500 and status != 501)
    return standing, passing or standing is Standing.RATE_LIMITED


def _kind(kinds: frozenset[str]) -> str:
    """The one word that says more than the status."""
    told = next((kind for kind in ("insufficient_quota", "RESOURCE_EXHAUSTED") if kind in kinds), "")
    return f" {told}" if told else ""


def _errors(answer: Answer) -> Iterator[Mapping[str, Any]]:
    data = questions.parsed(answer)
    # Gemini's address for OpenAI's clients wraps its errors in a list.
    for each in data if isinstance(data, list) else [data]:
        if isinstance(each, dict):
            inner = each.get("error", each.get("detail"))
            yield inner if isinstance(inner, dict) else each


def _kinds(answer: Answer) -> Iterator[str]:
    for error in _errors(answer):
        yield from (value for name in ("type", "code", "status") if isinstance(value := error.get(name), str))


def _words(answer: Answer) -> str:
    for error in _errors(answer):
        for name in ("message", "error", "detail"):
            if isinstance(value := error.get(name), str) and value.strip():
                # The first sentence: the others are where to read on.
                return re.split(r"(?<=[^.][.!?]) ", " ".join(value.split()), maxsplit=1)[0]
    return ""


def _wait(answer: Answer) -> float | None:
    """`retry-after-ms`, `retry-after` in seconds or as a date (RFC 9110, 10.2.3), or Gemini's `retryDelay`."""
    headers = answer.headers
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        return max(0.0, (parsedate_to_datetime(headers["retry-after"]) - datetime.now(UTC)).total_seconds())
    except (KeyError, ValueError, TypeError):
        pass
    delay = _DELAY.search(answer.body.decode("utf-8", "replace"))
    return float(delay[1]) if delay else None
