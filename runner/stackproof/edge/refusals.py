"""What the edge itself answers: in a form that SDKs show and do not try again."""

from __future__ import annotations

import json
from dataclasses import dataclass

SAYS = "stackproof edge: "
"""In front of each line that the edge writes about a call."""

HEADERS = {"content-type": "application/json", "x-should-retry": "false"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """text: one sentence. status: what HTTP says to it."""

    status: int
    text: str

    def body(self) -> bytes:
        """An error as OpenAI writes it, and a `message` at the top for everybody else."""
        error = {"message": self.text, "type": "stackproof_edge", "param": None, "code": "stackproof_edge"}
        return json.dumps({"error": error, "message": self.text}).encode()
