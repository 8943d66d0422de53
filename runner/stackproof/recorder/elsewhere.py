"""Asks for what a stack wrote where this run's folder is not shared with it: in a container of an engine elsewhere.

Whoever started the stack keeps `elsewhere/` in the run's folder. A file TOKEN.ask there says what is waited for,
{"scope": 12 digits, "serving": seconds, "inflight": seconds}. TOKEN.told answers {"in_flight": n}, after everything
that the stack wrote before has been added to this side's files. A file `problem` says why nothing more will be.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass

FOLDER = "elsewhere"
PROBLEM = "problem"
ASK, TOLD = ".ask", ".told"
_STEP = 0.005
_ANSWER = 60.0  # seconds, beside what is waited for


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """in_flight: calls of the scope that had not ended. problem: why what the stack wrote is not known, else empty."""

    in_flight: int = 0
    problem: str = ""


def fetch(run_dir: str, *, scope: str = "", serving: float = 0.0, inflight: float = 0.0) -> Told:
    """Have everything that the stack wrote so far in this side's files; at once where it writes them itself.

    scope: digest of the scope whose requests and calls are waited for first, `serving` and `inflight` seconds at most.
    """
    folder = os.path.join(run_dir, FOLDER)
    if not os.path.isdir(folder):
        return Told()
    token = os.path.join(folder, os.urandom(8).hex())
    deadline = time.monotonic() + serving + inflight + _ANSWER
    with open(f"{token}.tmp", "w", encoding="utf-8") as file:
        json.dump({"scope": scope[:12], "serving": serving, "inflight": inflight}, file)
    os.replace(f"{token}.tmp", token + ASK)
    try:
        while True:
            # Looked for first: whoever ends answers what was asked before it says so.
            gone = _read(os.path.join(folder, PROBLEM))
            if (answer := _read(token + TOLD)) is not None:
                facts = json.loads(answer)
                return Told(in_flight=int(facts["in_flight"]))
            if gone is not None:
                return Told(problem=gone)
            if time.monotonic() > deadline:
                return Told(problem=f"nothing was told within {_ANSWER:g} s")
            time.sleep(_STEP)
    finally:
        for suffix in (ASK, TOLD):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(token + suffix)


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None
