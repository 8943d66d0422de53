"""Simulated runs over the code that divides tests: the same seed gives the same run, and every test is in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from ci.shard_simulation import __main__ as command
from ci.shard_simulation import comparing, durations, page
from ci.shard_simulation.durations import Kind, Measured
from ci.shard_simulation.figures import Figures
from ci.shard_simulation.others import WAYS
from ci.shard_simulation.scenarios import EXACT, NONE, SCENARIOS, STALE, Suite, simulate
from ci.shard_simulation.spares import simulate_spares

MEASURED = Measured(
    kinds=(Kind(name="made", what="made up", seconds=(0.01, 0.02, 0.02, 0.5, 3.0)),),
    starts=(1.0, 2.0, 9.0),
    machine="none",
)


def test_a_seed_gives_the_same_runs_and_another_one_others() -> None:
    first, again, other = (list(simulate(MEASURED, 300, [8], seed)) for seed in (1, 1, 2))
    assert first == again
    assert [each.makespan for each in first] != [each.makespan for each in other]
    assert [each.scenario for each in first if each.scenario in {one.name for one in SCENARIOS}] != []


def test_one_scenario_alone_comes_out_as_it_does_among_the_others() -> None:
    whole = {each.scenario: each for each in simulate(MEASURED, 300, [8], 3)}
    alone = next(simulate(MEASURED, 300, [8], 3, [one for one in SCENARIOS if one.name == "slow"]))
    assert alone == whole["slow"]


@pytest.mark.parametrize(("tests", "shards"), [(300, 8), (40, 64)])
def test_no_run_is_faster_than_its_bound_and_all_of_them_end(tests: int, shards: int) -> None:
    runs = list(simulate(MEASURED, tests, [shards], 5))
    assert Counter(each.scenario for each in runs) == Counter(one.name for one in SCENARIOS)
    assert all(1 - 1e-9 <= each.ratio < 20 for each in runs)
    assert all(each.again >= 0 and 0 <= each.lost < 1 for each in runs)


def test_what_goes_wrong_takes_time() -> None:
    runs = {each.scenario: each for each in simulate(MEASURED, 2000, [16], 7)}
    assert runs["exact"].ratio < 1.05
    assert runs["retries"].total > runs["exact"].total
    assert runs["slow"].ratio > 2
    assert runs["dying"].again == 1
    assert runs["exact"].lost == 0 < runs["dying"].lost
    assert runs["fewer"].nodes == 4


def test_more_shards_than_nodes_help_against_slow_nodes() -> None:
    runs = list(simulate_spares(MEASURED, 3000, 1, nodes=8, times=(1, 4)))
    slow = {each.shards // each.nodes: each for each in runs if each.scenario == "slow"}
    assert {each.nodes for each in runs} == {8}
    assert slow[4].makespan < slow[1].makespan


def test_times_are_as_stale_as_they_are_said_to_be() -> None:
    suite = Suite(names=durations.names(5000), seconds=np.full(5000, 2.0))
    chance = np.random.default_rng(1)
    assert suite.known(EXACT, chance) == dict.fromkeys(suite.names, 2.0)
    assert suite.known(NONE, chance) == {}
    stale = suite.known(STALE, chance)
    assert 0.88 < len(stale) / 5000 < 0.92
    assert 0.28 < np.std(np.log(list(stale.values()))) < 0.32


def test_every_way_of_dividing_gives_each_test_to_a_part_and_ours_moves_few() -> None:
    names = durations.names(500)
    known = dict.fromkeys(names[::2], 1.5)
    for way in WAYS.values():
        found = way(names, 7, known)
        assert len(found) == 500
        assert set(found.tolist()) <= set(range(7))
    moved = {each.way: each.moved for each in comparing.compare(MEASURED, 500, 7, 1)}
    assert moved["ours"] <= 12
    assert moved["in turn"] > 200


def test_a_suite_is_drawn_from_what_was_measured(tmp_path: Path) -> None:
    durations.write(MEASURED, tmp_path / "durations.json")
    assert durations.read(tmp_path / "durations.json") == MEASURED
    assert MEASURED.start == 2.0
    assert set(durations.drawn(MEASURED, 100, np.random.default_rng(1)).tolist()) <= set(MEASURED.pool.tolist())
    real = durations.read()
    assert {kind.name for kind in real.kinds} == {"replayed", "live", "unit"}
    assert all(list(kind.seconds) == sorted(kind.seconds) and kind.seconds[0] > 0 for kind in real.kinds)


@pytest.fixture(scope="module")
def figures() -> Figures:
    """A whole simulation, as small as it can be."""
    return command.figures(command.QUICK)


def test_the_command_writes_page_and_plot_and_leaves_the_section_on_merging_alone(
    figures: Figures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "figures", lambda extent, **_: figures if extent is command.QUICK else None)
    text = "## Merging\n\n4,096 shards of {braces} in 3 s.\n"
    (tmp_path / "scale.md").write_text(f"# Old\n\n{text}\n## Old too\n\nfigures\n", encoding="utf-8")
    assert command.main(["--quick", "--output", str(tmp_path)]) == 0
    written = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert text in written
    assert "Old" not in written
    assert all(one.words in written for one in SCENARIOS)
    assert ElementTree.parse(tmp_path / "scale.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own


def test_a_new_page_says_where_merging_is_told(figures: Figures, tmp_path: Path) -> None:
    page.write(figures, tmp_path / "scale.md")
    assert "## Merging\n\nHow the evidence" in (tmp_path / "scale.md").read_text(encoding="utf-8")


def test_planning_is_measured_beside_sorting(figures: Figures) -> None:
    assert [(each.tests, each.parts) for each in figures.planned] == [(1000, 4), (1000, 16)]
    assert all(each.seconds > 0 and each.floor > 0 and each.held > 0 for each in figures.planned)
