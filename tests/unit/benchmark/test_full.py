"""The figures of `stackproof benchmark --full`, the page that they make, and what is told where one is missing."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stackproof.checks import benchmark, benchmark_files, benchmark_full, benchmark_page
from stackproof.checks.benchmark_child import ChildFailedError, measured
from stackproof.checks.benchmark_processes import IMPORT, attempted
from stackproof.errors import UsageError
from stackproof.evidence import benchmark_table, jsonfile
from stackproof.evidence.benchmark import BenchmarkLine
from stackproof.evidence.benchmark_table import Figure, Table
from stackproof.evidence.machine import Machine
from stackproof.evidence.statistics import Interval
from stackproof.recorder import miss, recording
from stackproof.recorder.identity import digest
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import parse_name

RATIO = Figure(group="One call", what="a chat answer", unit="× floor", aim=1.15, how="pairs", value=1.14)
TABLE = Table(
    figures=(
        RATIO.found(Interval(estimate=1.141, low=1.13, high=1.149), "median 0.7 ms"),
        Figure(group="A process", what="loading", unit="ms", aim=50.0, how="processor time", value=61.24),
        Figure(group="A process", what="memory | held", unit="bytes", how="tracemalloc", value=12345.0),
        Figure(group="Beside", what="vcrpy", unit="× floor", how="turns", why="vcrpy is not installed here"),
    ),
    machine=Machine(processor="p", cpus=2, system="s", python="y"),
    date="2026-12-01T10:00:00+00:00",
    load=0.4,
    versions={"stackproof": "0.1.0"},
    curves={"stackproof": {10: 1.1, 1000: 1.12}, "vcrpy": {1000: 90.0, 10: 3.0}},
)


def line(name: str, ratio: float) -> BenchmarkLine:
    return BenchmarkLine(name=name, turns=(0.01 * ratio,) * 20, floor=(0.01,) * 20)


def lines(**ratios: float) -> dict[str, BenchmarkLine]:
    return {name.replace("_", "-"): line(name.replace("_", "-"), ratio) for name, ratio in ratios.items()}


def test_the_page_has_a_table_for_each_group_and_a_mark_for_each_aim() -> None:
    text = benchmark_page.markdown(TABLE, has_plot=False)
    assert "Measured on 2026-12-01 with stackproof 0.1.0." in text
    assert [row for row in text.splitlines() if row.startswith("## ")] == ["## One call", "## A process", "## Beside"]
    assert "| ✓ | a chat answer | 1.14 × floor (1.13 to 1.15); median 0.7 ms | ≤ 1.15 | pairs |" in text
    assert "| ✗ | loading | 61.2 ms | ≤ 50 | processor time |" in text
    assert "| – | memory / held | 12,345 bytes |  | tracemalloc |" in text
    assert "| ? | vcrpy | not measured: vcrpy is not installed here |  | turns |" in text
    assert "benchmarks.svg" not in text
    assert "benchmarks.svg" in benchmark_page.markdown(TABLE, has_plot=True)


def test_the_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "checks/benchmark-full.json"
    jsonfile.write(path, benchmark_table.to_json(TABLE))
    assert benchmark_table.read(path) == TABLE
    assert not TABLE.is_whole
    assert replace(TABLE, figures=TABLE.figures[:3]).is_whole


@pytest.mark.parametrize(
    ("low", "value", "high", "mark"),
    [(1.1, 1.12, 1.15, "✓"), (1.1, 1.12, 1.16, "≈"), (1.14, 1.17, 1.2, "≈"), (1.151, 1.17, 1.2, "✗"),
     (None, 1.15, None, "✓"), (None, 1.16, None, "✗")],
)  # fmt: skip
def test_an_aim_is_met_or_missed_by_all_of_the_interval(
    low: float | None, value: float, high: float | None, mark: str
) -> None:
    figure = RATIO.found(Interval(estimate=value, low=low, high=high))
    assert benchmark_page.mark(figure) == mark
    assert benchmark_page.mark(replace(figure, aim=None)) == "–"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1, "kind": "benchmark-full", "figures": [1]}'])
def test_something_else_is_no_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert benchmark_table.read(path) is None


def test_page_and_plot_are_written_and_are_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    first = [path.read_bytes() for path in benchmark_page.write(tmp_path, TABLE)]
    assert [path.read_bytes() for path in benchmark_page.write(tmp_path, TABLE)] == first
    assert len(first) == 2
    assert first[1].startswith(b"<?xml")
    for word in (b"a chat answer", b"Stackproof", b"vcrpy"):
        assert word in first[1]


def test_without_the_library_that_draws_there_is_a_page_and_no_old_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/benchmarks.svg").write_text("old")
    assert benchmark_page.write(tmp_path, TABLE) == [tmp_path / "docs/benchmarks.md"]
    assert not (tmp_path / "docs/benchmarks.svg").exists()
    assert "benchmarks.svg" not in (tmp_path / "docs/benchmarks.md").read_text()


def test_calls_are_held_to_their_aims_and_the_numbers_beside_to_each_other() -> None:
    times = lines(
        turns=1.14, turns_streamed=1.2, embeddings=1.3, embeddings_base64=1.3,
        turns_beside_10=1.10, turns_beside_1000=1.12, turns_beside_100000=1.15,
    )  # fmt: skip
    chat, streamed, floats, base64, beside = benchmark_full.of_turns(times)
    assert [each.met for each in (chat, streamed, floats, base64)] == [True, False, False, None]
    assert chat.low == pytest.approx(1.14)
    assert beside.value == pytest.approx(4.545, abs=0.01)
    assert beside.met
    assert beside.more == "1.100, 1.120, 1.150 × floor"


def test_a_series_that_was_not_timed_is_a_line_without_a_figure() -> None:
    figures = list(benchmark_full.of_turns(lines(turns=1.1, turns_beside_10=1.1)))
    assert [each.value is None for each in figures] == [False, True, True, True, True]
    assert all(each.why for each in figures[1:])


def test_a_peer_that_is_not_installed_keeps_its_lines() -> None:
    told = {
        "costs": {"10": {"stackproof": {"ratio": 1.2, "opening": 1.5}, "vcrpy": {"ratio": 4.0, "opening": 18.1}}},
        "missing": {"cassetter": "cassetter is not installed here"},
    }
    figures = {each.what: each for each in benchmark_full.of_peers(told)}
    assert len(figures) == 3 * len(benchmark_full.PEER_COUNTS)
    assert figures["vcrpy, 10 recordings of one test"].value == 4.0
    assert figures["cassetter, 10 recordings of one test"].why == "cassetter is not installed here"
    assert figures["vcrpy, 1,000 recordings of one test"].why == "it told nothing"


def test_where_the_peers_cannot_be_run_each_line_says_why() -> None:
    assert {each.why for each in benchmark_full.of_peers({}, "exit code 1: no module named ci")} == {
        "exit code 1: no module named ci"
    }


def test_time_for_each_file_leaves_out_the_start_of_the_command() -> None:
    time = Figure(group="files", what="list", unit="µs", how="x")
    found = benchmark_files.of_time(time, {1000: 0.6, 101_000: 5.6})
    assert found.value == pytest.approx(50.0)
    assert found.more == "5.6 s for 101,000, 0.6 s for 1,000"
    peak = benchmark_files.of_peak(replace(time, unit="MiB"), {1000: 60 << 20, 101_000: 90 << 20}, "")
    assert (peak.value, peak.more) == (90.0, "60 MiB over 1,000")
    assert benchmark_files.of_peak(time, {}, "exit code 2: no such command").why == "exit code 2: no such command"


def test_the_files_that_are_walked_over_are_recordings_under_their_own_names(tmp_path: Path) -> None:
    benchmark_files.fill(tmp_path, tmp_path / "recordings", 201)
    paths = sorted((tmp_path / "recordings").rglob("*.json"))
    assert len(paths) == 201
    scopes = set()
    for path in paths:
        content = recording.read(str(path))
        assert content is not None
        name = parse_name(path.name)
        assert name is not None
        assert name.request == digest(miss.form_of(content["request"]))[:20]
        assert name.scope == Scope(name=content["scope"]).digest[:12]
        scopes.add(content["scope"].rpartition("::")[2])
    assert scopes == {"test_0", "test_1", "test_2"}
    assert "def test_2()" in (tmp_path / "tests/integration/area00/test_area.py").read_text()


def test_a_program_is_measured_and_its_words_kept(tmp_path: Path) -> None:
    script = "import time; held = bytearray(64 << 20); time.sleep(0.05); print('é')"
    taken = measured([sys.executable, "-X", "utf8", "-c", script], folder=tmp_path, environ={}, deadline=60)
    assert taken.out == "é\n"
    assert taken.seconds >= 0.05
    assert taken.peak > 64 << 20
    assert taken.cpu > 0


@pytest.mark.parametrize(
    ("script", "deadline", "word"),
    [("raise SystemExit('no such thing')", 60, "exit code 1: no such thing"),
     ("import time; time.sleep(60)", 0.3, "exit code -9 after")],
)  # fmt: skip
def test_a_program_that_fails_or_never_ends_is_no_measurement(
    tmp_path: Path, script: str, deadline: float, word: str
) -> None:
    def measure() -> Figure:
        measured([sys.executable, "-c", script], folder=tmp_path, environ={}, deadline=deadline)
        return IMPORT

    with pytest.raises(ChildFailedError, match=word):
        measure()
    figure = attempted(IMPORT, measure)
    assert figure.value is None
    assert word in benchmark_page.figure_words(figure)


def test_full_takes_nothing_beside_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        benchmark.run(tmp_path, ["--full", "--baseline", "x.json"])
    assert "--full" in str(caught.value.hint)


def test_the_whole_is_written_and_says_when_something_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark_full, "_all", lambda *_: iter(TABLE.figures))
    said: list[str] = []
    assert benchmark_full.run(tmp_path, {}, say=said.append) == 7
    assert said[0] == "✓ a chat answer: 1.14 × floor (1.13 to 1.15); median 0.7 ms"
    assert (tmp_path / "docs/benchmarks.md").is_file()
    (kept,) = tmp_path.glob(".stackproof/runs/*/checks/benchmark-full.json")
    assert len(json.loads(kept.read_text())["figures"]) == 4
    monkeypatch.setattr(benchmark_full, "_all", lambda *_: iter(TABLE.figures[:3]))
    assert benchmark_full.run(tmp_path, {}, say=said.append) == 0


def test_the_memory_of_who_measures_is_not_counted(tmp_path: Path) -> None:
    held = bytearray(200 << 20)
    held[::4096] = b"x" * len(held[::4096])
    taken = measured([sys.executable, "-I", "-S", "-c", "pass"], folder=tmp_path, environ={}, deadline=60)
    assert taken.peak < 100 << 20
    assert len(held) == 200 << 20
