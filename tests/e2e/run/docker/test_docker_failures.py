"""Whatever the engine does not do while a stack starts, nothing is left there, and its first error is the one told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.catalog.stacks import load_stack
from stackproof.errors import DockerError, StackproofError
from stackproof.stack import container, luggage, place, seen, shared_container, stack_container
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine
from stackproof.stack.handover import Handover

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

# What happens between the first question and the teardown; reading the log goes on in a thread of its own.
STEPS = ("owned", "image", "create_network", "create", "start", "run_inside", "state")
_TAKEN = 8000


class Breaking:
    """An engine that fails once, at the n-th call of a kind, before it did what it was asked or after (`lost`)."""

    def __init__(self, engine: Engine, step: str, *, lost: bool) -> None:
        self._engine, self._step, self._lost = engine, step, lost
        self.broke = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name != self._step or self.broke:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.broke = True
            if self._lost:
                found(*args, **kwargs)
            raise DockerError(f"the engine broke at {name}")

        return call

    def close(self) -> None:
        """Leave the engine of the tests open."""


@contextmanager
def attempt(
    project: Project, name: str, engine: Any, patch: pytest.MonkeyPatch, handover: Handover | None = None
) -> Iterator[str]:
    """Start the stack; yields its address. handover: it is a process in a container that others have too."""
    patch.setattr(engines, "connect", lambda *_, **__: engine)
    patch.setattr(container, "_ENDING", 0.5)  # it goes on, whatever its engine says
    stack = load_stack(project.root / "stacks" / name / "stack.yaml", shown="stack.yaml")
    cell_dir = project.root / "cells" / "cell"
    shutil.rmtree(cell_dir, ignore_errors=True)
    cell_dir.mkdir(parents=True)
    server = stack_container.server if handover is None else partial(shared_container.server, handover=handover)
    with ExitStack() as undo:
        where = undo.enter_context(
            place.opened(
                stack,
                run_id="broken",
                owner=os.getpid(),
                internal=True,
                environment=os.environ,
                without="",
                handover=handover,
                say=lambda _: None,
                check=lambda: None,
            )
        )
        handle = undo.enter_context(
            server(
                stack,
                where,
                variables={"STACKPROOF_INFERENCE_MODE": "live"},
                cell_dir=cell_dir,
                recordings=luggage.recordings(project.root / "recordings", "local", (), "tests/integration"),
                timeout=90,
                say=lambda _: None,
                check=lambda: None,
            )
        )
        yield handle.base_url


@pytest.mark.parametrize("lost", [False, True], ids=["not-done", "answer-lost"])
@pytest.mark.parametrize("step", STEPS)
def test_a_failure_at_any_step_leaves_nothing(  # noqa: PLR0917 - fixtures
    project: Project,
    contained: Callable[..., str],
    engine: Engine,
    left_on_engine: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    lost: bool,
) -> None:
    contained("toy")
    broken = Breaking(engine, step, lost=lost)
    said = ""
    try:
        with attempt(project, "toy", broken, monkeypatch) as address:
            assert str(_TAKEN) in address
    except StackproofError as error:
        said = error.message
    assert broken.broke
    # A question that was answered later all the same costs nothing.
    assert said in ("", f"the engine broke at {step}") or step == "run_inside", said
    assert left_on_engine() == []


SHARED = (*STEPS, "converse")


@pytest.mark.parametrize("cell", [0, 1], ids=["first-cell", "second-cell"])
@pytest.mark.parametrize("step", SHARED)
def test_a_failure_at_any_step_leaves_nothing_of_a_container_that_cells_share(  # noqa: PLR0917 - fixtures
    project: Project,
    contained: Callable[..., str],
    engine: Engine,
    left_on_engine: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    cell: int,
) -> None:
    contained("toy")
    said = []
    for number in (0, 1):
        broken = Breaking(engine, step if number == cell else "none", lost=False)
        handover = Handover(project.root / "shared" / "toy.json", follows=number == 0)
        try:
            with attempt(project, "toy", broken, monkeypatch, handover) as address:
                assert str(_TAKEN) in address
        except StackproofError as error:
            said.append(error.message)
            assert number == cell
            if number == 0:
                assert left_on_engine() == []
        # The second cell makes nothing, and looks for no image.
        assert broken.broke == (number == cell and (cell == 0 or step in {"state", "converse"}))
    assert said in ([], [f"the engine broke at {step}"]) or step == "run_inside", said
    assert left_on_engine() == []
    assert not (project.root / "shared" / "toy.json").exists()


def test_one_that_does_not_see_this_machine_s_folders_makes_way_for_one_that_need_not(
    project: Project,
    contained: Callable[..., str],
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contained("toy")
    removed: list[str] = []

    def unseen(_: str) -> None:
        raise seen.NotSeenError("they are not there")

    class Watched(Breaking):
        def remove(self, name: str) -> None:
            removed.append(name)
            engine.remove(name)

    monkeypatch.setattr(seen, "required", lambda *_: unseen)
    handover = Handover(project.root / "shared" / "toy.json", follows=True)
    watched = Watched(engine, "none", lost=False)
    with pytest.raises(seen.NotSeenError), attempt(project, "toy", watched, monkeypatch, handover):
        pass
    # Once at once, and once at the end.
    assert removed.count(handover.noted.container) == 2


def test_what_the_program_in_the_container_raises_is_what_is_told(
    project: Project,
    contained: Callable[..., str],
    engine: Engine,
    left_on_engine: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contained("toy")
    unbroken = Breaking(engine, "none", lost=False)
    with pytest.raises(ZeroDivisionError), attempt(project, "toy", unbroken, monkeypatch):
        raise ZeroDivisionError(left_on_engine())
    assert left_on_engine() == []
    assert Path(project.root / "cells/cell/stack.log").read_text().startswith("starting\n")
