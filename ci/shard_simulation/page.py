"""Writes docs/scale.md: what was simulated and measured, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ci.shard_simulation.comparing import Compared
from ci.shard_simulation.figures import Figures, spread
from ci.shard_simulation.scenarios import SCENARIOS, Outcome

_KEPT = re.compile(r"^## Merging\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NO_MERGING = "## Merging\n\nHow the evidence of shards becomes one again: [merging.md](merging.md).\n"
_TEXT = (Path(__file__).with_name("page.md")).read_text(encoding="utf-8")


def write(figures: Figures, path: Path) -> None:
    """Write the page; its section "Merging" stays as it was found."""
    before = _KEPT.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    path.write_text(markdown(figures, merging=before.group() if before else _NO_MERGING), encoding="utf-8")


def markdown(figures: Figures, *, merging: str) -> str:
    """The page: the text of `page.md` with the tables in their places."""
    seeds = {tests: _seeds(figures.outcomes, tests) for tests in sorted({each.tests for each in figures.outcomes})}
    nodes = figures.spares[0].nodes
    return _TEXT.format(
        date=figures.date,
        versions=figures.versions,
        machine=figures.machine,
        load=figures.load,
        took=f"{figures.took / 60:.0f} minutes" if figures.took >= 90 else f"{figures.took:.0f} seconds",
        most=f"{figures.most / (1 << 20):,.0f} MiB",
        measured_on=figures.measured.machine,
        start=f"{figures.measured.start:.1f}",
        starts=len(figures.measured.starts),
        seeds=", ".join(f"{count} of {tests:,} tests" for tests, count in seeds.items()),
        kinds="\n".join(_kinds(figures)),
        sizes="\n".join(_sizes(figures)),
        scenarios="\n".join(_scenarios(figures.outcomes)),
        failures="\n".join(_failures(figures.outcomes)),
        spares="\n".join(_spares(figures.spares)),
        spare_nodes=nodes,
        spare_work=f"{spread(figures.spares, lambda each: each.total / nodes).middle:,.0f}",
        spare_tests=f"{figures.spares[0].tests:,}",
        spare_seeds=_seeds(figures.spares, figures.spares[0].tests),
        compared="\n".join(_compared(figures.compared)),
        compared_seeds=len({each.seed for each in figures.compared}),
        planned="\n".join(_planned(figures)),
        merging=merging.rstrip(),
    )


def _kinds(figures: Figures) -> Iterator[str]:
    yield "| durations | tests | median, s | mean, s | longest, s |\n|---|---|---|---|---|"
    for kind in figures.measured.kinds:
        values = kind.seconds
        middle, mean = values[len(values) // 2], sum(values) / len(values)
        yield f"| {kind.what} | {len(values):,} | {middle:.3f} | {mean:.2f} | {values[-1]:.1f} |"


def _sizes(figures: Figures) -> Iterator[str]:
    yield (
        "| tests | shards | all tests, h | tests of a shard, s | lower bound, s | as planned, s | all at once, s |\n"
        "|---|---|---|---|---|---|---|"
    )
    for tests, shards in _pairs(figures.outcomes):
        mine = [each for each in figures.outcomes if (each.tests, each.shards) == (tests, shards)]
        plain = [each for each in mine if each.scenario == "exact"]
        worst = [each for each in mine if each.scenario == "all"]
        cells = (
            f"{spread(plain, lambda each: each.total / 3600).middle:,.1f}",
            f"{spread(plain, lambda each: each.total / each.shards).middle:,.1f}",
            spread(plain, lambda each: each.bound).words(",.0f"),
            spread(plain, lambda each: each.makespan).words(",.0f"),
            spread(worst, lambda each: each.makespan).words(",.0f"),
        )
        yield f"| {tests:,} | {shards:,} | {' | '.join(cells)} |"


def _scenarios(outcomes: Sequence[Outcome]) -> Iterator[str]:
    pairs = _pairs(outcomes)
    heads = (f"{tests:,} × {shards:,}" for tests, shards in pairs)
    yield f"| what happens | {' | '.join(heads)} |\n|---|{'---|' * len(pairs)}"
    for scenario in SCENARIOS:
        mine = [each for each in outcomes if each.scenario == scenario.name]
        cells = (_ratio(each for each in mine if (each.tests, each.shards) == pair) for pair in pairs)
        yield f"| {scenario.words} | {' | '.join(cells)} |"


def _failures(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "| tests | shards | what happens | shards run again | work for nothing, % |\n|---|---|---|---|---|"
    for tests, shards in _pairs(outcomes):
        for name in ("dying", "all"):
            mine = [each for each in outcomes if (each.tests, each.shards, each.scenario) == (tests, shards, name)]
            words = "nodes die" if name == "dying" else "all at once"
            again = spread(mine, lambda each: each.again).words(",.0f")
            lost = spread(mine, lambda each: each.lost * 100).words()
            yield f"| {tests:,} | {shards:,} | {words} | {again} | {lost} |"


def _spares(outcomes: Sequence[Outcome]) -> Iterator[str]:
    words = {scenario.name: scenario.words for scenario in SCENARIOS} | {
        "exact": "as planned",
        "all": "stale times, retries, slow and dying nodes",
    }
    names = list(dict.fromkeys(each.scenario for each in outcomes))
    yield f"| shards for each node | {' | '.join(words[name] for name in names)} |\n|---|{'---|' * len(names)}"
    for shards in sorted({each.shards for each in outcomes}):
        mine = [each for each in outcomes if each.shards == shards]
        cells = (_ratio(each for each in mine if each.scenario == name) for name in names)
        yield f"| {shards // mine[0].nodes} | {' | '.join(cells)} |"


def _compared(compared: Sequence[Compared]) -> Iterator[str]:
    sizes = sorted({(each.tests, each.parts) for each in compared})
    heads = (f"{tests:,} × {parts:,} | moved" for tests, parts in sizes)
    yield f"| | {' | '.join(heads)} |\n|---|{'---|---|' * len(sizes)}"
    for way in dict.fromkeys(each.way for each in compared):
        cells = []
        for size in sizes:
            mine = [each for each in compared if each.way == way and (each.tests, each.parts) == size]
            cells += [
                spread(mine, lambda each: each.ratio).words(),
                spread(mine, lambda each: each.moved).words(",.0f"),
            ]
        yield f"| {way} | {' | '.join(cells)} |"


def _planned(figures: Figures) -> Iterator[str]:
    yield ("| tests | parts | s | × sorting | memory, MiB | by what was there before |\n|---|---|---|---|---|---|")
    for each in figures.planned:
        memory = f"{each.above / (1 << 20):.0f} | {each.above / each.held:.2f} × {each.held / (1 << 20):.0f} MiB"
        yield f"| {each.tests:,} | {each.parts:,} | {each.seconds:.2f} | {each.seconds / each.floor:.1f} | {memory} |"


def _pairs(outcomes: Sequence[Outcome]) -> list[tuple[int, int]]:
    return list(dict.fromkeys((each.tests, each.shards) for each in outcomes))


def _seeds(outcomes: Sequence[Outcome], tests: int) -> int:
    return len({each.seed for each in outcomes if each.tests == tests})


def _ratio(outcomes: Iterable[Outcome]) -> str:
    return spread(outcomes, lambda each: each.ratio).words()
