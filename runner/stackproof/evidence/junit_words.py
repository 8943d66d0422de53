"""What a test case says became of it, in the words of many writers.

Marks are elements (`failure`, `skipped`, Surefire's `flakyFailure`); words are attributes, which some writers use
beside the marks and some instead of them: CTest's `status="notrun"`
(https://cmake.org/cmake/help/latest/manual/ctest.1.html), GoogleTest's and Bazel's `result="suppressed"`, NUnit's
`status="Failed"` and `executed="False"`. A mark counts more than a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackproof.evidence.outcomes import Outcome, worst

FINAL = frozenset({"failure", "error", "skipped"})
"""Marks that suites count in their attributes."""

SAID_IN = ("status", "result", "executed", "success")
"""Attributes of a case that say what became of it."""

_FLAKY = frozenset({"flakyFailure", "flakyError", "rerunFailure", "rerunError"})
_WORDS: Mapping[Outcome, frozenset[str]] = {
    Outcome.PASSED: frozenset(
        {"", "completed", "executed", "ok", "pass", "passed", "run", "succeeded", "success", "successful", "true"}
    ),
    Outcome.SKIPPED: frozenset(
        {"disabled", "excluded", "filtered", "ignored", "inconclusive", "notrun", "pending", "skip", "skipped",
         "suppressed", "todo"}
    ),
    Outcome.FAILED: frozenset({"fail", "failed", "failing", "failure", "unsuccessful"}),
    Outcome.ERROR: frozenset(
        {"aborted", "broken", "canceled", "cancelled", "crashed", "error", "errored", "exception", "interrupted",
         "killed", "notrunnable", "timedout", "timeout"}
    ),
}  # fmt: skip
_OUTCOMES = {word: outcome for outcome, words in _WORDS.items() for word in words}


def marked(marks: Iterable[tuple[str, Mapping[str, str]]]) -> Outcome | None:
    """The worst that the elements of a case say; None when they say nothing."""
    found: list[Outcome] = []
    for tag, attributes in marks:
        if tag == "failure":
            found.append(Outcome.FAILED)
        elif tag == "error":
            found.append(Outcome.ERROR)
        elif tag == "skipped":
            found.append(_skip(attributes))
        elif tag in _FLAKY:
            found.append(Outcome.FLAKY)
    return worst(found) if found else None


def said(attributes: Mapping[str, str]) -> tuple[Outcome, str]:
    """The worst that the attributes of a case say, and the word for it; LookupError with a word that nobody knows."""
    outcome, why = Outcome.PASSED, ""
    for name in SAID_IN:
        if (value := attributes.get(name)) is None:
            continue
        found = _word(name, value)
        if found is None:
            raise LookupError(f"{name}={value!r}")
        if found.severity > outcome.severity:
            outcome, why = found, f"{name}={value!r}"
    return outcome, why


def _word(name: str, value: str) -> Outcome | None:
    word = "".join(character for character in value.lower() if character.isalnum())
    if word == "false":
        return {"executed": Outcome.SKIPPED, "success": Outcome.FAILED}.get(name)
    return _OUTCOMES.get(word)


def _skip(attributes: Mapping[str, str]) -> Outcome:
    if attributes.get("type") == "pytest.xfail":
        return Outcome.XFAILED
    if attributes.get("type") == "pytest.xpass" or attributes.get("message", "").startswith("xfail-marked test passes"):
        return Outcome.XPASSED
    return Outcome.SKIPPED
