"""Provider calls of a session as counts and as lines for a person."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stackproof import calls_told
from stackproof.plaintext import counted
from stackproof.plugin.keeping import Kept
from stackproof.recorder import encodings
from stackproof.recorder.brain import Brain
from stackproof.recorder.inject.fault import INJECTED
from stackproof.recorder.mode import Mode


def seen(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """From lines of the calls' journal, the counts of calls that went out."""
    kinds = Counter(str(call.get("kind")) for call in calls)
    return {
        "recorded": kinds["recorded"],
        "observed": kinds["observed"],
        "refused": kinds["dropped"],
        "stopped": kinds["budget"],
        "retries": sum(call.get("retry") is True for call in calls),
    }


def unseen(calls: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each host that was contacted past the recorder, with its port where that is known, and who did so."""
    found = set()
    for call in calls:
        if call.get("kind") == "unseen":
            port = "" if call.get("port") is None else f":{call['port']}"
            who = call.get("test_id") or call.get("scope") or "no test"
            found.add((f"{call.get('host')}{port}", str(who)))
    return sorted(found)


def count(brain: Brain, kept: Kept, unused_files: list[str], undecided: Sequence[str] = ()) -> dict[str, Any]:
    """The facts of the `calls` event: counts by kind, distinct files and their bytes, what was left over.

    undecided: recordings of fixtures that were not used here, and may be in another shard.
    """
    calls, _ = brain.ledger.read("calls")
    kinds = Counter(str(call.get("kind")) for call in calls)
    files = {str(call["file"]) for call in calls if call.get("file") and call.get("kind") == "replayed"}
    late = [call for call in calls if call.get("late")]
    return {
        "replayed": kinds["replayed"],
        **seen(calls),
        "missed": kinds["missed"],
        "unused": len(unused_files),
        "live": 0,
        "injected": kinds[INJECTED],
        "late": len(late),
        "bytes": sum(Path(file).stat().st_size for file in files if Path(file).exists()),
        "files": len(files),
        "written": kept.written,
        "removed": kept.removed,
        "not_promoted": kept.not_promoted,
        "in_flight": kept.still_in_flight,
        "unused_files": unused_files,
        **(
            {"undecided_files": [os.path.relpath(file, brain.settings.recordings) for file in undecided]}
            if undecided
            else {}
        ),
        "unseen_hosts": list(dict.fromkeys(host for host, _ in unseen(calls))),
        "unseen": [{"host": host, "test": test} for host, test in unseen(calls)],
        "dropped": sorted({str(call.get("reason")) for call in calls if call.get("kind") == "dropped"}),
        "encoded": sorted(str(call["encoded"]) for call in calls if call.get("encoded")),
        "sealed_by_hook": brain.settings.mode is Mode.REPLAY,
    }


def tidy(facts: Mapping[str, Any]) -> bool:
    """Whether nothing is there that `--strict` fails on: every recording was used, every host was seen."""
    return not facts["unused"] and not facts["unseen"]


def missed(told: Mapping[str, str]) -> list[str]:
    """What tests missed that failed by themselves: pytest shows their failure, and not what is likely behind it."""
    return [line for nodeid, text in told.items() for line in (nodeid, *(f"  {line}" for line in text.splitlines()))]


def lines(facts: dict[str, Any], mode: Mode) -> list[str]:
    """What the terminal says at the end."""
    told = [f"provider calls: {calls_told.counted(facts, mode)} ({mode.value})"]
    if mode.records:
        told.append(f"recordings: {counted(facts['written'], 'file')} written, {facts['removed']} removed")
    if facts["not_promoted"]:
        told.append(f"not kept: {counted(facts['not_promoted'], 'recording')} of tests that failed")
    if facts["refused"]:
        told.append(f"not kept: {facts['refused']} answers ({', '.join(facts['dropped'])})")
    if facts["encoded"]:
        told.append(encodings.told(facts["encoded"]))
    told += [f"not kept: a call of {test} was still in flight 5 s after the test ended" for test in facts["in_flight"]]
    if facts["late"]:
        whose = "its test" if facts["late"] == 1 else "their tests"
        told.append(f"late: {counted(facts['late'], 'provider call')} came after {whose} had ended")
    told += calls_told.past(facts, mode)
    told += [f"unused: {os.path.relpath(file)}" for file in facts["unused_files"]]
    if undecided := facts.get("undecided_files"):
        files = counted(len(undecided), "recording")
        told.append(f"not used here: {files} of fixtures that tests of other shards have too")
    return told
