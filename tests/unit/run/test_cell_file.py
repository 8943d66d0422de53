"""What the process of a cell is told arrives whole, and secrets do not go through the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.errors import StackproofError
from stackproof.options import RunOptions, Source
from stackproof.run import cell_file


def order(options: RunOptions) -> cell_file.CellOrder:
    return cell_file.CellOrder(
        run_id="7f3c2a", cell_id="base-local-server-toy", project=Path("/project"), orchestrator=7, options=options
    )


def test_options_come_back_as_they_were(tmp_path: Path) -> None:
    options = RunOptions(
        setup="ollama",
        file=("a.py", "b.py::test_x"),
        suite_timeout=12.5,
        workers="2",
        pytest_args=("-x", "--lf"),
        providers={"mine": ("http://host/v1",)},
        sources={"setup": Source.COMMAND_LINE, "suite": Source.DEFAULT},
    )
    cell_file.write(tmp_path, order(options))
    assert cell_file.read(tmp_path, {}) == order(options)


def test_values_of_env_travel_beside_the_file(tmp_path: Path) -> None:
    options = RunOptions(env=("TOKEN=abc=def ghi", "EMPTY="))
    beside = cell_file.write(tmp_path, order(options))
    assert beside == {"TOKEN": "abc=def ghi", "EMPTY": ""}
    assert "abc" not in (tmp_path / "cell.json").read_text()
    assert cell_file.read(tmp_path, {**beside, "OTHER": "1"}).options.env == options.env


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cell.json").write_text('{"schema": 99}')
    with pytest.raises(StackproofError, match="another version"):
        cell_file.read(tmp_path, {})
