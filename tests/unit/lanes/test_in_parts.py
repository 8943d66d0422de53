"""A part of a cell by itself: what is asked of it, and what only of all parts together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from stackproof.evidence import testlog
from stackproof.evidence.manifest import ManifestFacts
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.lanes import in_parts
from stackproof.shards.records import Shard

PARTS = {"cell": Shard(index=2, total=3)}


def left(folder: Path, collected: list[str] | None, outcomes: Mapping[str, str]) -> Evidence:
    """The evidence of a job with that part."""
    events: list[Mapping[str, object]] = [{"event": "collected", "nodeids": collected}] if collected is not None else []
    events += [{"event": "test", "nodeid": test, "outcome": outcome} for test, outcome in outcomes.items()]
    path = folder / "tests.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return Evidence(manifest=ManifestFacts(), cells={"cell.2of3": CellFacts(id="cell.2of3", log=testlog.read(path))})


@pytest.mark.parametrize("outcomes", [{}, {"a": "skipped"}, {"a": "skipped", "b": "xfailed"}])
def test_a_part_in_which_nothing_could_pass_is_a_part_like_others(tmp_path: Path, outcomes: dict[str, str]) -> None:
    assert in_parts.idle(left(tmp_path, list(outcomes), outcomes), PARTS) == {"cell"}


@pytest.mark.parametrize(
    ("collected", "outcomes"),
    [
        (["a"], {"a": "passed"}),
        (["a", "b"], {"a": "skipped", "b": "failed"}),
        (["a", "b"], {"a": "skipped"}),
        (["a"], {}),
        (None, {}),
    ],
)
def test_a_part_that_had_something_to_do_is_asked_what_became_of_it(
    tmp_path: Path, collected: list[str] | None, outcomes: dict[str, str]
) -> None:
    assert in_parts.idle(left(tmp_path, collected, outcomes), PARTS) == frozenset()


def test_a_part_that_left_nothing_is_not_idle() -> None:
    assert in_parts.idle(Evidence(manifest=ManifestFacts()), PARTS) == frozenset()
