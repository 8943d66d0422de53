"""`recordings list` and `recordings stats`: a line for each file, and what they add up to."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stackproof.recordings import corpus
from stackproof.recordings.tallies import AGES, By, Tallies

CHAT = "tests/integration/base/test_chat.py::test_two_turns"
SEARCH = "tests/integration/search/test_search.py::test_a_hit[über]"


@pytest.fixture
def filled(book: Any) -> Any:
    """Three recordings of two suites, and a file that is none."""
    book.record(CHAT, {"model": "small", "n": 1}, {"model": "large", "n": 2})
    book.record(SEARCH, {"query": "x" * 500}, path="/search")
    (book.root / "recordings/ollama/base/broken.json").write_text("{")
    return book


def edit(path: Path, **provenance: Any) -> None:
    """Another provenance for the file at `path`."""
    content = json.loads(path.read_text())
    content["provenance"] |= provenance
    path.write_text(json.dumps(content))


def test_a_line_says_whose_it_is_what_was_asked_and_what_came_back(filled: Any) -> None:
    lines = filled.say("list").out.splitlines()
    assert len(lines) == 5
    assert [line.split()[0] for line in lines[:4]] == filled.files()
    large = next(line for line in lines if "  large " in line)
    assert large.split()[1:] == ["200", "POST", "/chat/completions", "large", *large.split()[5:7], CHAT]
    assert lines[-1].startswith("4 recordings, ")
    assert lines[-1].endswith(", 1 damaged")


def test_a_damaged_file_is_a_line_with_the_reason(filled: Any) -> None:
    line = next(line for line in filled.say("list").out.splitlines() if "broken.json" in line)
    assert "damaged: cannot be read as a recording" in line


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_lines_fit_a_narrow_terminal(filled: Any, width: int) -> None:
    said = filled.say("list", COLUMNS=str(width))
    assert all(len(line) <= width for line in said.out.splitlines())
    assert said.out.startswith("ollama/base\n  ")


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--model", "lar*"], 1), (["--suite", "search"], 1), (["--endpoint", "/chat/*"], 2), (["--test", CHAT], 2),
        (["--setup", "ollama"], 4),
    ],
)  # fmt: skip
def test_filters_choose(filled: Any, words: list[str], count: int) -> None:
    assert filled.say("list", *words).out.splitlines()[-1].startswith(f"{count} recording")


def test_json_is_one_object_with_every_file(filled: Any) -> None:
    facts = filled.say("list", "--json").json
    assert [f"recordings/{row['file']}" for row in facts["recordings"]] == filled.files()
    assert (facts["files"], facts["damaged"]) == (4, 1)
    assert facts["bytes"] == sum(row["bytes"] for row in facts["recordings"])
    assert filled.say("list", "--json", "--model", "nobody").json["recordings"] == []


def test_the_oldest_and_the_largest_come_first_when_asked_for(filled: Any) -> None:
    search = next(path for path in filled.files() if "/search/" in path)
    edit(filled.root / search, recorded_at="2001-01-01T00:00:00+00:00")
    for order in ("age", "size"):
        assert filled.say("list", "--sort", order).out.split()[0] == search
    assert filled.say("list", "--sort", "colour").code == 2


def test_files_are_counted_by_what_they_are(filled: Any) -> None:
    facts = filled.say("stats", "--json").json
    by = {kind: {row["name"]: row["files"] for row in rows} for kind, rows in facts["by"].items()}
    assert by["setup"] == {"ollama": 4}
    assert by["suite"] == {"base": 2, "search": 1, "damaged": 1}
    assert by["endpoint"] == {"POST /chat/completions": 2, "POST /search": 1, "damaged": 1}
    assert by["model"] == {"small": 1, "large": 1, "none": 1, "damaged": 1}
    only = filled.say("stats", "--by", "model", "--json").json
    assert list(only["by"]) == ["model"]
    assert "  model" in filled.say("stats", "--by", "model").out


def test_ages_are_counted_in_four_buckets(filled: Any) -> None:
    files = [filled.root / path for path in filled.files() if "broken" not in path]
    for path, date in zip(files, ("2026-11-20", "2026-10-01", "2020-01-01"), strict=True):
        edit(path, recorded_at=date)
    found = Tallies({}, datetime(2026, 11, 29, tzinfo=UTC), [By.AGE, By.SYNTHETIC])
    edit(files[0], synthetic=True)
    root = filled.root / "recordings"
    found.count(corpus.read(path, root) for path in files)
    assert [(name, count) for name, count, _ in found.rows(By.AGE)] == [(AGES[0], 1), (AGES[1], 1), (AGES[3], 1)]
    assert {name: count for name, count, _ in found.rows(By.SYNTHETIC)} == {"real answers": 2, "synthetic": 1}
