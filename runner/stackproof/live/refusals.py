"""Whether tests failed because of the account and not of the stack: a key that is refused, credit that is used up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.testlog import TestEntry
from stackproof.live import meaning
from stackproof.live.asking import Answer
from stackproof.live.meaning import Standing
from stackproof.plaintext import shortened

_OF_THE_ACCOUNT = frozenset({Standing.REJECTED, Standing.NO_CREDIT, Standing.RATE_LIMITED})
_LONGEST = 160


def behind(bad: Sequence[TestEntry], calls: Sequence[Mapping[str, Any]]) -> str | None:
    """One sentence, where each of the tests that failed met such an answer; None where one of them did not."""
    met: dict[str, str] = {}
    for call in calls:
        if (said := _said(call)) is not None:
            met.setdefault(str(call.get("test_id")), said)
    if not bad or any(entry.nodeid not in met for entry in bad):
        return None
    return met[bad[0].nodeid]


def _said(call: Mapping[str, Any]) -> str | None:
    status = jsonfile.number(call, "status")
    if status is None or status < 400:
        return None
    response = jsonfile.table(jsonfile.read(Path(str(call.get("file")))) or {}, "response")
    body = jsonfile.table(response, "body")
    content = json.dumps(body["json"]) if "json" in body else str(body.get("text", ""))
    meant = meaning.of(Answer(status=status, headers={}, body=content.encode("utf-8", "replace")))
    if meant.standing not in _OF_THE_ACCOUNT:
        return None
    return f"{call.get('provider')} answered its tests {shortened(meant.said, _LONGEST)} ({meant.standing.value})"
