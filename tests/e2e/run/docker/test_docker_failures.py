"""Whatever the engine does not do while a stack starts, nothing is left there, and its first error is the one told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.catalog.stacks import load_stack
from stackproof.errors import DockerError, StackproofError
from stackproof.stack import container, luggage, place
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine

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
def attempt(project: Project, name: str, engine: Any, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start the stack; yields its address."""
    patch.setattr(engines, "connect", lambda *_, **__: engine)
    stack = load_stack(project.root / "stacks" / name / "stack.yaml", shown="stack.yaml")
    cell_dir = project.root / "cell"
    cell_dir.mkdir(exist_ok=True)
    with ExitStack() as undo:
        where = undo.enter_context(
            place.opened(
                stack,
                run_id="broken",
                owner=os.getpid(),
                internal=True,
                environment=os.environ,
                without="",
                say=lambda _: None,
                check=lambda: None,
            )
        )
        handle = undo.enter_context(
            container.server(
                stack,
                where,
                variables={"STACKPROOF_INFERENCE_MODE": "live"},
                cell_dir=cell_dir,
                recordings=luggage.recordings(project.root / "recordings", "local", (), "tests/integration"),
                timeout=20,
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
    assert Path(project.root / "cell/stack.log").read_text().startswith("starting\n")
