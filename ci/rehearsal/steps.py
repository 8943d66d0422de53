"""Runs the steps of a job, or of a composite action, one after another."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path as FolderPath

from ci.rehearsal import actions, command_files, contexts, shell
from ci.rehearsal.check import check_use
from ci.rehearsal.commands import Commands
from ci.rehearsal.composite import load
from ci.rehearsal.document import Path
from ci.rehearsal.expressions import ExpressionError, Scope, evaluate, is_true, text
from ci.rehearsal.job_state import JobState, worked_out
from ci.rehearsal.model import Step
from ci.rehearsal.order import Result
from ci.rehearsal.problems import WorkflowError
from ci.rehearsal.results import StepEnd, of_steps
from ci.rehearsal.shells import command
from ci.rehearsal.template import condition
from ci.rehearsal.writing import may_write

_TAIL = 25


class Steps:
    """A list of steps. depth: how many actions are around it."""

    def __init__(self, job: JobState, steps: Sequence[Step], *, depth: int = 0) -> None:
        self._job, self._steps, self._depth = job, steps, depth
        self.ends: list[StepEnd] = []
        self.by_id: dict[str, StepEnd] = {}

    @property
    def failed(self) -> bool:
        """Whether one of them has failed for good."""
        return any(end.conclusion is Result.FAILURE for end in self.ends)

    def run(self) -> None:
        """Run them all; a step that may not run is skipped."""
        for step in self._steps:
            end = self._one(step)
            self.ends.append(end)
            if step.id:
                self.by_id[step.id] = end
            self._tell(step, end)

    def scope(self, step: Step, env: Mapping[str, str], *, at: Path | None = None) -> Scope:
        """What the expressions of a step may name, or those at another place after the last step."""
        place = step.document.place(at or step.path)
        status = of_steps(self.failed)
        return Scope(
            contexts={
                **self._job.base,
                "steps": contexts.steps(self.by_id),
                "env": dict(env),
                "job": {"status": "failure" if self.failed else "success", "check_run_id": "1"},
            },
            functions={**status, "hashfiles": contexts.hash_files(self._job.machine.workspace)},
            absent=contexts.absent(self._job.stage, self.by_id, lambda what: self._job.stage.found.add(place, what)),
        )

    def _one(self, step: Step) -> StepEnd:
        env = {**self._job.env, **self._job.machine.variables}
        try:
            wanted = evaluate(condition(step.condition), self.scope(step, env))
        except ExpressionError as error:
            raise WorkflowError(step.document.place((*step.path, "if")), str(error)) from None
        if not is_true(wanted):
            return StepEnd(title=step.title, outcome=Result.SKIPPED, conclusion=Result.SKIPPED, outputs={})
        scope = self.scope(step, env)
        # A step's own variables see those around it, not each other.
        env |= {
            name: text(worked_out(step.document, (*step.path, "env", name), value, scope))
            for name, value in step.env.items()
        }
        scope = self.scope(step, env)
        title = text(worked_out(step.document, (*step.path, "name"), step.title, scope))
        before, tail = time.monotonic(), deque[str](maxlen=_TAIL)
        why, outputs = self._do(step, scope, env, tail)
        outcome = Result.FAILURE if why else Result.SUCCESS
        may_fail = is_true(worked_out(step.document, (*step.path, "continue-on-error"), step.continue_on_error, scope))
        return StepEnd(
            title=self._job.stage.masks.hide(title),
            outcome=outcome,
            conclusion=Result.SUCCESS if may_fail else outcome,
            outputs=outputs,
            may_write=lambda name: self._may_write(step, outputs, name),
            seconds=time.monotonic() - before,
            why=self._job.stage.masks.hide(why),
            tail=tuple(tail),
        )

    def _do(self, step: Step, scope: Scope, env: Mapping[str, str], tail: deque[str]) -> tuple[str, Mapping[str, str]]:
        """Why it failed, empty where it did not, and its outputs."""
        if step.run is not None:
            return self._script(step, scope, env, tail)
        uses = step.uses or ""
        if uses.startswith(("./", "$/")):
            return self._composite(step, scope, env, tail)
        return self._action(step, scope, tail)

    def _script(
        self, step: Step, scope: Scope, env: Mapping[str, str], tail: deque[str]
    ) -> tuple[str, Mapping[str, str]]:
        job, place = self._job, step.document.place((*step.path, "run"))
        found, machine = job.stage.found, job.machine
        script = text(worked_out(step.document, (*step.path, "run"), step.run, scope))
        where = step.working_directory or job.working_directory or "."
        folder = machine.workspace / text(worked_out(step.document, (*step.path, "working-directory"), where, scope))
        if not folder.is_dir():
            return f"the working directory {where!r} does not exist", {}
        files = machine.temp / f"_runner_file_commands/{time.monotonic_ns()}"
        given = command_files.make(files)
        path = machine.temp / f"{time.monotonic_ns()}.sh"
        path.write_text(script)
        commands = Commands(masks=job.stage.masks, wrong=lambda what: found.add(place, what))

        def line(one: str) -> None:
            seen = commands.line(one)
            tail.append(seen)
            if job.stage.order.show:
                job.stage.say(f"    | {seen}")

        around = contexts.variables(self._github(step))
        seconds = job.seconds(worked_out(step.document, (*step.path, "timeout-minutes"), step.timeout, scope))
        words = command(text(worked_out(step.document, step.path, step.shell or job.shell or "", scope)), path, place)
        environment = {**machine.environment(), **env, **around, **given, **self._permitted()}
        code = shell.run(words, environment=environment, folder=folder, seconds=seconds, line=line)
        commands.end()
        job.annotations.extend(commands.annotations)
        if machine.canary.exists():
            machine.canary.unlink()
            found.add(place, "text that others may write, such as a title or a branch's name, was executed as a script")
        return self._after(code, seconds, files, step)

    def _after(self, code: int | None, seconds: float, files: FolderPath, step: Step) -> tuple[str, Mapping[str, str]]:
        machine, place = self._job.machine, step.document.place((*step.path, "run"))
        try:
            written = command_files.read(files, lambda what: self._job.stage.found.add(place, what))
        except command_files.FileError as error:
            return str(error), {}
        machine.variables.update(written.env)
        for path in written.paths:
            machine.paths[:0] = [path]
        if code is None:
            return f"its time was up after {seconds:.0f} s", written.outputs
        why = "" if code == 0 else f"exit code {code}" if code > 0 else f"ended by signal {-code}"
        return why, written.outputs

    def _github(self, step: Step) -> Mapping[str, object]:
        return {**self._job.base["github"], "action": step.id or f"__run_{step.number}"}

    def _permitted(self) -> dict[str, str]:
        pairs = ",".join(f"{scope}={level}" for scope, level in self._job.permissions.items())
        return {"REHEARSAL_PERMISSIONS": pairs, "REHEARSAL_NO_PUSH": self._job.stage.no_push}

    def _inputs(self, step: Step, scope: Scope) -> dict[str, str]:
        return {
            name.lower(): text(worked_out(step.document, (*step.path, "with", name), value, scope))
            for name, value in step.inputs.items()
        }

    def _action(self, step: Step, scope: Scope, tail: deque[str]) -> tuple[str, Mapping[str, str]]:
        job, place = self._job, step.document.place((*step.path, "uses"))
        name, _, version = (step.uses or "").partition("@")
        played = actions.KNOWN.get(name)
        if played is None or not version:
            hint = f"played are {', '.join(actions.KNOWN)}, and the composite actions of the repository"
            raise WorkflowError(place, f"{step.uses!r} is an action that is not played", hint=hint)
        job.stage.found.play(name)
        defaults = {key.lower(): value for key, value in played.inputs.items()}
        inputs = self._inputs(step, scope)
        for key in inputs:
            if key not in defaults:
                job.stage.found.add(place, f"{name} has no input {key!r}; it has {', '.join(sorted(defaults))}")
        call = actions.Call(
            inputs={**defaults, **inputs},
            machine=job.machine,
            store=job.stage.store,
            run=job.run,
            event=job.event,
            origin=job.stage.origin,
            repository=job.stage.order.repository,
            permissions=job.permissions,
            pythons=job.stage.pythons,
            seed=job.stage.order.seed,
            pretended=bool(job.stage.order.ends),
            say=lambda what: tail.append(job.stage.masks.hide(what)),
            wrong=lambda what: job.stage.found.add(place, what),
        )
        try:
            return "", played.do(call)
        except actions.FailedError as error:
            return str(error), {}

    def _composite(
        self, step: Step, scope: Scope, env: Mapping[str, str], tail: deque[str]
    ) -> tuple[str, Mapping[str, str]]:
        job = self._job
        loaded = load(step, job, self._depth)
        if isinstance(loaded, str):
            return loaded, {}
        action, folder = loaded
        check_use(step, action, job.stage.found)
        inputs = self._inputs(step, scope)
        defaults = {
            name.lower(): text(worked_out(action.document, ("inputs", name, "default"), default or "", scope))
            for name, default in action.inputs.items()
        }
        base = {**job.base, "inputs": {**defaults, **inputs}}
        base["github"] = {**job.base["github"], "action_path": str(folder)}
        base.pop("secrets", None)
        inner = Steps(
            job.within(base=base, env=env, shell=None, working_directory=None), action.steps, depth=self._depth + 1
        )
        inner.run()
        for end in inner.ends:
            if end.conclusion is Result.FAILURE:
                tail.extend(end.tail)
        last = action.steps[-1]
        outputs = {
            name: text(worked_out(action.document, ("outputs", name, "value"), value, inner.scope(last, env)))
            for name, value in action.outputs.items()
        }
        broken = next((end for end in inner.ends if end.conclusion is Result.FAILURE), None)
        return ("" if broken is None else f"{broken.title}: {broken.why}"), outputs

    def _tell(self, step: Step, end: StepEnd) -> None:
        stage, indent = self._job.stage, "  " * (self._depth + 1)
        if end.outcome is Result.SKIPPED:
            stage.say(f"{indent}-  {end.title}")
            return
        played = step.uses is not None and not step.uses.startswith(("./", "$/"))
        word = {Result.SUCCESS: "ok", Result.FAILURE: "XX"}[end.outcome]
        stage.say(f"{indent}{word} {end.title}  {'played' if played else f'{end.seconds:.1f} s'}")
        if end.outcome is Result.FAILURE:
            stage.say(f"{indent}   {step.document.place(step.path)}: {end.why}")
            if not stage.order.show and self._leaf(step):
                for line in end.tail:
                    stage.say(f"{indent}   | {line}")

    @staticmethod
    def _may_write(step: Step, outputs: Mapping[str, str], name: str) -> bool:
        # Where a step has written something, what it has not written is told from its text; where nothing, it may have
        # had nothing to say.
        return may_write(step, name) and not (outputs and step.run is not None and name not in step.run.lower())

    @staticmethod
    def _leaf(step: Step) -> bool:
        return step.run is not None or not (step.uses or "").startswith(("./", "$/"))


def event_file(job: JobState) -> str:
    """Write `github.event` where the steps find it; the path."""
    path = job.machine.temp / "_github_workflow" / "event.json"
    with suppress(FileExistsError):
        path.parent.mkdir()
    path.write_text(json.dumps(job.event.payload, indent=1))
    return str(path)
