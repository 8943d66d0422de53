"""What is run from elsewhere is run at one commit, which nobody can move."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

_USES = re.compile(r"^\s*-?\s*uses:\s*(?P<what>\S+)(?P<rest>.*)$", re.MULTILINE)
_PINNED = re.compile(r"(?P<action>[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]+)@(?P<commit>[0-9a-f]{40})")


def test_every_action_of_others_is_pinned_by_its_whole_hash_with_the_version_beside_it(texts: dict[str, str]) -> None:
    wrong = [
        (file, found["what"])
        for file, text in texts.items()
        for found in _USES.finditer(text)
        if not found["what"].startswith("$/")
        and not (_PINNED.fullmatch(found["what"]) and re.fullmatch(r" # v\d+\.\d+\.\d+", found["rest"]))
    ]
    assert wrong == []


def test_an_action_has_the_same_commit_and_version_everywhere(texts: dict[str, str]) -> None:
    there = defaultdict(set)
    for text in texts.values():
        for found in _USES.finditer(text):
            if pinned := _PINNED.fullmatch(found["what"]):
                there[pinned["action"]].add((pinned["commit"], found["rest"]))
    assert {action: pins for action, pins in there.items() if len(pins) != 1} == {}
    assert "actions/checkout" in there


def test_actions_of_this_repository_are_those_of_the_running_commit(
    steps: list[tuple[str, dict[str, Any]]], project: Path
) -> None:
    # `./` would take what an earlier step has put there.
    own = {step["uses"] for _, step in steps if "@" not in step.get("uses", "@")}
    assert own
    assert {uses for uses in own if not uses.startswith("$/")} == set()
    assert [uses for uses in own if not (project / uses[2:] / "action.yml").is_file()] == []


def test_every_composite_action_is_used_and_given_only_what_it_knows(
    steps: list[tuple[str, dict[str, Any]]], actions: dict[str, dict[str, Any]]
) -> None:
    used = set()
    for place, step in steps:
        if step.get("uses", "").startswith("$/"):
            name = Path(step["uses"]).name
            used.add(name)
            inputs, given = actions[name].get("inputs", {}), step.get("with", {})
            assert given.keys() <= inputs.keys(), place
            required = {key for key, each in inputs.items() if each.get("required") == "true"}
            assert required <= given.keys(), place
    assert used == actions.keys()


def test_machines_are_named_with_their_version(jobs: dict[str, dict[str, Any]]) -> None:
    assert {
        name: job["runs-on"] for name, job in jobs.items() if not re.fullmatch(r"ubuntu-\d\d\.04", job["runs-on"])
    } == {}
