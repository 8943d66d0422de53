"""Which cells may run side by side, and that no way out of the loop leaves one running."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from stackproof.catalog.records import SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.run.beside import _close, _fits, _Running
from stackproof.run.cell_run import CellOutcome

HERE = Path()


def cell(mode: StackMode, *, stack: str = "desk", port: int | None = None) -> Cell:
    return Cell(
        suite=SuiteSpec(name="s", description="d", roots=("t",), default_setup="u", source=HERE),
        setup=SetupSpec(name="u", description="d", source=HERE),
        stack=StackSpec(name=stack, description="d", folder=HERE, modes=(mode,), port=port, source=HERE),
        mode=mode,
        inference_mode=Mode.REPLAY,
        service=None,
        paths=("t",),
    )


def running(of: Cell, closed: list[str] | None = None, error: Exception | None = None) -> _Running:
    def steps() -> Generator[None, None, CellOutcome]:
        try:
            while True:
                yield
        finally:
            if closed is not None:
                closed.append(of.stack.name)
            if error is not None:
                raise error

    made = steps()
    next(made)
    return _Running(cell=of, steps=made)


def test_processes_run_beside_one_another_and_beside_a_container() -> None:
    there = [running(cell(StackMode.SERVER)), running(cell(StackMode.DOCKER))]
    assert _fits(cell(StackMode.SERVER), there)
    assert _fits(cell(StackMode.LIBRARY), there)


@pytest.mark.parametrize("mode", [StackMode.DOCKER, StackMode.DOCKER_LIBRARY])
def test_cells_in_containers_come_one_after_another(mode: StackMode) -> None:
    assert not _fits(cell(mode, stack="other"), [running(cell(StackMode.DOCKER))])
    assert _fits(cell(mode), [running(cell(StackMode.SERVER))])


def test_a_fixed_port_is_taken_once_by_whichever_stack() -> None:
    fixed = cell(StackMode.SERVER, port=8321)
    assert not _fits(fixed, [running(fixed)])
    assert not _fits(fixed, [running(replace(fixed, stack=replace(fixed.stack, name="other")))])
    assert _fits(fixed, [running(cell(StackMode.SERVER, port=8322)), running(cell(StackMode.SERVER))])


def test_what_still_runs_is_torn_down_whatever_becomes_of_the_first() -> None:
    closed: list[str] = []
    first = running(cell(StackMode.SERVER, stack="first"), closed, OSError("it does not end"))
    second = running(cell(StackMode.SERVER, stack="second"), closed)
    with pytest.raises(OSError, match="it does not end"):
        _close([first, second])
    assert sorted(closed) == ["first", "second"]
