"""Writes what `stackproof benchmark --full` found as a page for a person, and as a plot."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackproof.evidence.benchmark_table import Figure, Table

PAGE, PLOT = Path("docs/benchmarks.md"), Path("docs/benchmarks.svg")
_NAMES = {"stackproof": "Stackproof", "vcrpy": "vcrpy", "cassetter": "cassetter"}
_HEAD = """\
# Benchmarks

Written by `nox -s benchmark -- --full`; do not edit. Measured on {date} with {versions}.

Machine: {machine}. Load average when it began: {load:.1f}.

`× floor` is a ratio: a call of the real OpenAI SDK answered from a recording, by the same call over an in-memory
transport (`httpx2.MockTransport` with the same bytes at hand), in pairs in one process that take turns. In brackets:
the 95 % interval of a median, by rank. A mark tells whether all of it is within the aim: ✓ it is, ✗ none of it is, ≈
the aim is inside, – there is no aim, ? it was not measured. Absolute times are of this machine, on this day.
"""
_PLOT = "\n![A replayed call by kind, and by the number of recordings](benchmarks.svg)\n"


class NoPlotError(Exception):
    """The library that draws is not installed."""


def write(project: Path, table: Table) -> list[Path]:
    """Write page and plot below `project`; the files that were written. Without matplotlib there is no plot."""
    page, plot = project / PAGE, project / PLOT
    page.parent.mkdir(parents=True, exist_ok=True)
    written = [page]
    try:
        draw(table, plot)
        written.append(plot)
    except NoPlotError:
        plot.unlink(missing_ok=True)
    page.write_text(markdown(table, has_plot=plot.is_file()), encoding="utf-8")
    return written


def markdown(table: Table, *, has_plot: bool) -> str:
    """The page: a table for each group of figures, in their order."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(table.versions.items()))
    parts = [
        _HEAD.format(
            date=table.date.partition("T")[0], versions=versions, machine=table.machine.words(), load=table.load
        )
    ]
    if has_plot:
        parts.append(_PLOT)
    for group in dict.fromkeys(figure.group for figure in table.figures):
        parts.append(f"\n## {group}\n\n| | what | figure | aim | how it is measured |\n|---|---|---|---|---|\n")
        parts += [f"{row(figure)}\n" for figure in table.figures if figure.group == group]
    return "".join(parts)


def row(figure: Figure) -> str:
    """One line of a table."""
    cells = (mark(figure), figure.what, figure_words(figure), aim_words(figure), figure.how)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def mark(figure: Figure) -> str:
    """✓, ✗, ≈, – or ?, as the page's head explains."""
    if figure.value is None:
        return "?"
    if figure.aim is None:
        return "–"
    return "≈" if figure.met is None else "✓" if figure.met else "✗"


def figure_words(figure: Figure) -> str:
    """`1.14 × floor (1.13 to 1.15)`, and what else is known; why there is nothing where nothing was measured."""
    if figure.value is None:
        return f"not measured: {figure.why or 'nobody knows why'}"
    words = f"{_number(figure.value, figure.unit)} {figure.unit}"
    if figure.low is not None and figure.high is not None:
        words += f" ({_number(figure.low, figure.unit)} to {_number(figure.high, figure.unit)})"
    return f"{words}; {figure.more}" if figure.more else words


def aim_words(figure: Figure) -> str:
    """`≤ 1.15`, or nothing."""
    return "" if figure.aim is None else f"≤ {_number(figure.aim, figure.unit)}"


def _number(value: float, unit: str) -> str:
    if unit == "× floor":
        return f"{value:.2f}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.1f}"


def draw(table: Table, path: Path) -> None:
    """Two pictures side by side: ratios of one call by kind, and by the number of recordings; NoPlotError."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise NoPlotError("matplotlib is not installed here") from error
    # The same figures give the same file: no random ids, no date.
    with matplotlib.rc_context({"svg.hashsalt": "stackproof", "svg.fonttype": "none", "font.size": 9}):
        sheet = figures.Figure(figsize=(11, 3.8), layout="constrained")
        left, right = sheet.subplots(1, 2)
        _draw_kinds(left, [each for each in table.figures if each.unit == "× floor" and each.value is not None])
        _draw_curves(right, table)
        sheet.savefig(path, format="svg", metadata={"Date": None})


def _draw_kinds(axes: Any, ratios: list[Figure]) -> None:
    ratios = [figure for figure in ratios if figure.low is not None and figure.high is not None][::-1]
    values = [figure.value or 0.0 for figure in ratios]
    below = [value - (figure.low or 0.0) for value, figure in zip(values, ratios, strict=True)]
    above = [(figure.high or 0.0) - value for value, figure in zip(values, ratios, strict=True)]
    places = range(len(ratios))
    axes.barh(places, values, xerr=(below, above), color="#7a9cc6", height=0.6)
    for place, figure in zip(places, ratios, strict=True):
        if figure.aim is not None:
            axes.plot([figure.aim, figure.aim], [place - 0.4, place + 0.4], color="#a33", linewidth=2)
    axes.set_yticks(list(places), [figure.what for figure in ratios])
    axes.axvline(1.0, color="#444", linewidth=0.8)
    axes.set_xlim(left=0.9)
    axes.set_title("A replayed call, × floor (red: the aim)")


def _draw_curves(axes: Any, table: Table) -> None:
    for (name, curve), style in zip(_curves(table), ("o-", "s--", "^:"), strict=False):
        axes.plot(list(curve), list(curve.values()), style, label=_NAMES[name])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0.9, max((max(curve.values()) for curve in table.curves.values()), default=1.0) * 1.5 + 0.6)
    axes.set_yticks([1, *(ten * one for ten in (1, 10, 100) for one in (2, 5, 10) if ten * one < axes.get_ylim()[1])])
    axes.set_xlabel("recordings")
    axes.set_title("The same by number of recordings, × floor")
    if table.curves:
        axes.legend()


def _curves(table: Table) -> Iterator[tuple[str, dict[int, float]]]:
    for name in _NAMES:
        if name in table.curves:
            yield name, dict(sorted(table.curves[name].items()))
