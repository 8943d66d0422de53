"""The plot of the page: scenarios, more shards than nodes, and the cost of planning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from ci.shard_simulation.figures import Figures, spread
from ci.shard_simulation.scenarios import Outcome
from matplotlib.figure import Figure

_COLOURS = ("#7a9cc6", "#274b7a", "#e0a458", "#9c4f1f")
_SHORT = {
    "exact": "as planned",
    "stale": "stale times",
    "none": "no times",
    "retries": "tests run again",
    "fewer": "fewer nodes",
    "slow": "slow nodes",
    "dying": "dying nodes",
    "all": "all at once",
}


def draw(figures: Figures, path: Path) -> None:
    """Write the plot; the same figures give the same file: no random ids, no date."""
    with matplotlib.rc_context({"svg.hashsalt": "stackproof", "svg.fonttype": "none", "font.size": 9}):
        sheet = Figure(figsize=(11, 7.4), layout="constrained")
        places = sheet.subplot_mosaic([["runs", "runs"], ["spares", "planning"]], height_ratios=[1.15, 1])
        _runs(places["runs"], figures.outcomes)
        _spares(places["spares"], figures.spares)
        _planning(places["planning"], figures)
        sheet.savefig(path, format="svg", metadata={"Date": None})


def _runs(axes: Any, outcomes: Any) -> None:
    sizes = list(dict.fromkeys((each.tests, each.shards) for each in outcomes))
    names = [name for name in _SHORT if any(each.scenario == name for each in outcomes)]
    width = 0.8 / len(sizes)
    for number, (tests, shards) in enumerate(sizes):
        found = [
            spread((o for o in outcomes if (o.scenario, o.tests, o.shards) == (name, tests, shards)), _ratio)
            for name in names
        ]
        middles = [each.middle for each in found]
        axes.bar(
            [place + (number - (len(sizes) - 1) / 2) * width for place in range(len(names))],
            middles,
            width * 0.92,
            yerr=([each.middle - each.least for each in found], [each.most - each.middle for each in found]),
            error_kw={"linewidth": 0.8},
            color=_COLOURS[number % len(_COLOURS)],
            label=f"{tests:,} tests, {shards:,} shards",
        )
    axes.axhline(1.0, color="#444", linewidth=0.8)
    axes.set_xticks(range(len(names)), [_SHORT[name] for name in names])
    axes.set_ylim(bottom=0.8)
    axes.set_title("Duration of a run by its lower bound (bars: the median; lines: least to most over the seeds)")
    axes.legend(loc="upper left")


def _spares(axes: Any, outcomes: Any) -> None:
    styles = ("o-", "s--", "^:", "D-.")
    for name, style, colour in zip(
        dict.fromkeys(each.scenario for each in outcomes),
        styles,
        ("#7a9cc6", "#9c4f1f", "#274b7a", "#e0a458"),
        strict=False,
    ):
        mine = [each for each in outcomes if each.scenario == name]
        times = sorted({each.shards // each.nodes for each in mine})
        found = [spread((each for each in mine if each.shards // each.nodes == many), _ratio) for many in times]
        axes.fill_between(
            times, [f.least for f in found], [f.most for f in found], color=colour, alpha=0.15, linewidth=0
        )
        axes.plot(times, [each.middle for each in found], style, color=colour, label=_SHORT[name])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axhline(1.0, color="#444", linewidth=0.8)
    axes.set_ylim(bottom=0.8)
    axes.set_xlabel("shards for each node")
    axes.set_title("More shards than nodes: duration by the lower bound")
    axes.legend()


def _planning(axes: Any, figures: Figures) -> None:
    for total, style, colour in zip(
        sorted({each.parts for each in figures.planned}),
        ("o-", "s--", "^:"),
        ("#7a9cc6", "#274b7a", "#9c4f1f"),
        strict=False,
    ):
        mine = [each for each in figures.planned if each.parts == total]
        axes.plot([e.tests for e in mine], [e.seconds for e in mine], style, color=colour, label=f"{total:,} parts")
    floor = {each.tests: each.floor for each in figures.planned}
    axes.plot(list(floor), list(floor.values()), "k:", linewidth=0.8, label="sorting the tests alone")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("tests")
    axes.set_title("Planning: seconds of processor time")
    axes.legend()


def _ratio(outcome: Outcome) -> float:
    return outcome.ratio
