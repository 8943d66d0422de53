"""Recordings that another project made: how often two answers of one kind differ though nothing has changed.

2,501 answers of ten kinds of provider, made over months by many people. Two of them whose requests ask for the same
kind of answer should have no breaking difference; where one is taken away from all of them, the rest should accept it.
"""

from __future__ import annotations

import os
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stackproof import catalog
from stackproof.drift import comparing, reading
from stackproof.drift.accepted import Accepted
from stackproof.drift.answer import Answer, shape_of
from stackproof.drift.finding import Finding, Severity
from stackproof.drift.pairing import Call
from stackproof.recorder import recording
from stackproof.recordings.importing import ogx, walk
from stackproof.recordings.importing.imported import Choices
from stackproof.recordings.importing.place import Place

_ROOT = Path(__file__).parents[3]
Group = list[tuple[Call, Path]]


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> list[Group]:
    """Recordings of one setup whose requests ask for the same kind of answer, all answered with one status."""
    told = os.environ.get("STACKPROOF_ARCHIVE")
    packed = Path(told) if told else _ROOT.parent / "shared" / "data" / "ogx-recordings.tar.xz"
    if not packed.is_file():
        pytest.skip("the archive that drift is tried against noise with is not here (STACKPROOF_ARCHIVE)")
    folder, root = tmp_path_factory.mktemp("ogx"), tmp_path_factory.mktemp("recordings")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    known = catalog.load(_ROOT)
    place = Place(root, integration_root=known.integration_root)
    walk.Import(root=folder, readers=[ogx], choices=Choices(setups=known.setups), place=place).run(
        walk.sources(folder, [ogx])
    )
    found: dict[tuple[object, ...], Group] = defaultdict(list)
    for path in sorted(root.rglob("*.json")):
        content = recording.read(str(path))
        if content is not None:
            call = reading.call_of(content, path.name, file=path.name, made=())
            setup = path.relative_to(root).parts[0]
            found[setup, call.asked, call.answer.status, call.answer.form].append((call, path))
    return [group for group in found.values() if len(group) > 1]


def _accepted(answers: Iterable[Answer]) -> Accepted:
    accepted = Accepted()
    for answer in answers:
        accepted.add(answer)
    return accepted


def _rates(groups: list[Group], recorded: Callable[[Group, int], Iterable[Answer]]) -> Counter[str]:
    """How many answers were compared, and how many have a difference of each severity."""
    counts: Counter[str] = Counter()
    for group in groups:
        for at, (call, _) in enumerate(group):
            found = list(comparing.inside(_accepted(recorded(group, at)), call.answer, model=call.model))
            counts["compared"] += 1
            counts.update({str(each.severity) for each in found})
    return counts


def test_no_answer_differs_from_itself(groups: list[Group]) -> None:
    counts = _rates(groups, lambda group, at: [group[at][0].answer])
    assert counts == {"compared": counts["compared"]}
    assert counts["compared"] > 2_000


def test_two_answers_of_one_kind_hardly_ever_have_a_breaking_difference(groups: list[Group]) -> None:
    rng = Random(1)  # noqa: S311 - to pick, not to hide

    def another(group: Group, at: int) -> Iterable[Answer]:
        other = rng.choice([each for each in range(len(group)) if each != at])
        return [group[other][0].answer]

    counts = _rates(groups, another)
    print(dict(counts))
    assert counts["breaking"] <= 0.01 * counts["compared"]
    assert counts["additive"] <= 0.01 * counts["compared"]


def test_beside_all_others_of_its_kind_no_answer_has_a_breaking_difference(groups: list[Group]) -> None:
    counts = _rates(groups, lambda group, at: [call.answer for each, (call, _) in enumerate(group) if each != at])
    print(dict(counts))
    assert counts["breaking"] == 0
    assert counts["additive"] <= 0.005 * counts["compared"]


def _without(name: str) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(item) for key, item in value.items() if key != name}
        return [change(item) for item in value] if isinstance(value, list) else value

    return change


@pytest.mark.parametrize("name", ["finish_reason", "model", "object", "choices", "completion_tokens", "role"])
def test_what_all_others_accept_hides_no_field_that_is_gone(groups: list[Group], name: str) -> None:
    """The union of many recordings is no excuse for everything."""
    rng, found, tried = Random(2), 0, 0  # noqa: S311
    change = _without(name)
    for group in groups:
        accepted = None
        for call, path in rng.sample(group, min(3, len(group))):
            content = recording.read(str(path))
            if content is None or f'"{name}": ' not in recording.dumps(content["response"]):
                continue
            accepted = accepted or _accepted(call.answer for call, _ in group)
            before: list[Finding] = list(comparing.inside(accepted, call.answer, model=call.model))
            response = content["response"]
            for key in ("body", "events"):
                if key in response:
                    response[key] = change(response[key])
            after = list(comparing.inside(accepted, shape_of(content), model=call.model))
            assert before == []
            tried += 1
            found += any(each.severity is Severity.BREAKING for each in after)
    print(name, found, tried)
    assert found >= 0.98 * tried > 0
