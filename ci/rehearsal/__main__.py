"""The workflows of CI, run here before they are pushed: `python -m ci.rehearsal [WORKFLOW…] [--event EVENT]`.

Jobs run in their order in clones of a commit; actions of others, `gh` and what is pushed to are played.
docs/rehearsal.md says what that proves and what it does not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from ci.rehearsal import origin, reading, report
from ci.rehearsal.gitlab import pipelines
from ci.rehearsal.listing import listed
from ci.rehearsal.model import Workflow
from ci.rehearsal.options import Options, parse
from ci.rehearsal.origin import Origin
from ci.rehearsal.problems import WorkflowError
from ci.rehearsal.runs import FOLDER, RunEnd, rehearse, sound
from ci.rehearsal.stage import Stage

from stackproof.errors import ExitCode, StackproofError, UsageError


class _EndedError(BaseException):
    """A signal asks for the end; not an Exception, so that nothing on the way holds it up."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def main(argv: Sequence[str], environ: Mapping[str, str], here: Path) -> int:
    """Rehearse; 0 when every job ends as expected and nothing is found, 1 when not, 2 for what cannot be rehearsed."""
    try:
        options = parse(argv, environ, here)
        with _signals(), _scratch(options) as folder:
            return _rehearse(options, environ, folder)
    except StackproofError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
        return error.exit_code
    except _EndedError as ended:
        print("stopped", file=sys.stderr)
        return 128 + ended.signum


def _rehearse(options: Options, environ: Mapping[str, str], folder: Path) -> int:
    order = options.order
    place = origin.make(order.project, order.commit, order.change, folder)
    say = (lambda text: print(text, file=sys.stderr, flush=True)) if options.as_json else _say
    stage = Stage(
        order=order,
        origin=place,
        folder=folder,
        around=environ,
        pythons=Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME", "/")) / ".pyenv") / "versions",
        say=say,
        now=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    if options.gitlab is not None:
        return _gitlab(options, stage, options.gitlab)
    if order.seed is not None:
        stage.found.play("packages of another environment: --seed")
    workflows = _chosen(options, place)
    found = sound(workflows, place)
    if found.findings or options.list_only:
        if options.list_only and not options.as_json:
            print("\n".join(listed(workflows)))
        stage.found.findings += found.findings
        return _end(options, stage, [], [])
    ends: list[RunEnd] = []
    try:
        stage.earlier()
        for end in rehearse(stage, workflows):
            ends.append(end)  # noqa: PERF402 - what was rehearsed before something is wrong is told, too
    except WorkflowError as error:
        # What no runner would carry out is a finding as good as any other.
        stage.found.add(error.place, error.text + (f" ({error.hint})" if error.hint else ""))
    if not ends and not stage.found.findings:
        raise UsageError(
            f"no workflow here is started by {order.event}",
            hint="; ".join(f"{one.file}: {', '.join(one.events)}" for one in workflows),
        )
    return _end(options, stage, ends, report.unexpected(ends, options.expected))


def _gitlab(options: Options, stage: Stage, source: str) -> int:
    ends: list[RunEnd] = []
    told: list[str] = []
    try:
        if options.list_only:
            told = pipelines.listed(stage, source)
        else:
            ends += pipelines.rehearse(stage, source)
    except WorkflowError as error:
        stage.found.add(error.place, error.text)
    if told and not options.as_json:
        print("\n".join(told))
    if not ends and not told and not stage.found.findings:
        raise UsageError(f"the commit has no {pipelines.FILE}")
    return _end(options, stage, ends, [] if told else report.unexpected(ends, options.expected))


def _end(options: Options, stage: Stage, ends: Sequence[RunEnd], wrong: Sequence[str]) -> int:
    good = not wrong and not stage.found.findings
    if options.as_json:
        print(stage.masks.hide(json.dumps(report.as_json(stage, ends, wrong), indent=2)))
    else:
        for line in report.lines(stage, ends, wrong):
            print(line)
        what = "read" if options.list_only else "rehearsed"
        print(f"\n{what}: {'as expected' if good else 'NOT as expected'}")
    return ExitCode.PASS if good else ExitCode.TESTS


def _chosen(options: Options, place: Origin) -> list[Workflow]:
    """The workflows of the commit that were named, in that order, or all."""
    paths = [path for path in place.paths(FOLDER, place.commit) if path.endswith((".yml", ".yaml"))]
    names = {path.rpartition("/")[2]: path for path in paths}
    chosen = []
    for name in options.workflows or names:
        path = names.get(name.rpartition("/")[2])
        if path is None:
            known = ", ".join(names) or "none"
            raise UsageError(f"the commit has no workflow {name!r}", hint=f"it has {known}; commit first")
        chosen.append(reading.workflow(place.show(path, place.commit) or "", path))
    if not chosen:
        raise UsageError("the commit has no workflow in .github/workflows")
    return chosen


@contextmanager
def _scratch(options: Options) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rehearsal-")).resolve()
    try:
        yield folder
    finally:
        if options.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _signals() -> Iterator[None]:
    def end(signum: int, _: FrameType | None) -> None:
        raise _EndedError(signum)

    before = {signum: signal.signal(signum, end) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ, Path.cwd()))
