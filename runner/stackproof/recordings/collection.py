"""Which tests there are now: pytest's own collection, in a process of its own, as a run would do it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackproof import environment, options, plan
from stackproof.catalog.records import Catalog, StackMode
from stackproof.errors import UsageError
from stackproof.evidence import jsonfile
from stackproof.recorder.mode import Mode
from stackproof.recordings.collection_plugin import NAME
from stackproof.recordings.query import is_below
from stackproof.run import suite as pytest_run
from stackproof.run.interrupts import Interrupts
from stackproof.stack import ports, start
from stackproof.stack.process import tail

_DEADLINE = 180.0
# What a project's own configuration deselects is there all the same.
_EVERYTHING = ("-p", "stackproof.recordings.collection_plugin", "-m", "", "-k", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """What there is below `roots`. tests: node ids, deselected ones too. bases: those without their parameters.
    modules: files that were read. skipped: files that skipped themselves as a whole: nobody knows their tests.
    """

    roots: tuple[str, ...] = ()
    tests: frozenset[str] = frozenset()
    bases: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()

    def lacks(self, nodeid: str) -> bool:
        """Whether it is certain that there is no such test: its file was read, and it is not in it."""
        file = nodeid.partition("::")[0]
        return (
            nodeid not in self.tests
            and file in self.modules
            and file not in self.skipped
            and any(is_below(nodeid, root) for root in self.roots)
        )

    def has_other_parameters(self, nodeid: str) -> bool:
        """Whether the test is there under other parameters."""
        return nodeid.partition("[")[0] in self.bases


def collect(
    project: Path,
    catalog: Catalog,
    environ: Mapping[str, str],
    *,
    suites: Iterable[str],
    setup: str,
    stack: str | None = None,
) -> Collected:
    """Collect `suites` in the environment of a replay with `setup`; stack None: the default one.

    UsageError names the file and the first line of the error where a file cannot be collected, and is raised too where
    there is no test at all: what was deleted cannot be told from what is broken.
    """
    # Other runners do not tell which tests there are: none of theirs is ever said to be gone.
    pytests = [name for name in suites if catalog.suite(name).runner is None]
    if not pytests:
        return Collected()
    given: dict[str, object] = {
        "suite": ",".join(pytests),
        "setup": setup,
        "inference_mode": Mode.REPLAY.value,
        "collect_only": True,
        "pytest_args": _EVERYTHING,
    }
    if stack is not None:
        given["stack_config"] = stack
    chosen = replace(
        options.resolve(given, environ, project), file=(), subdirs=(), pattern=None, workers=None, json=False
    )
    absolute = project.absolute()
    with tempfile.TemporaryDirectory(prefix="stackproof-") as folder, Interrupts() as interrupts:
        cell_dir = Path(folder)
        cells = plan.make(chosen, catalog, absolute, "000000", caller=environ).cells
        cell = cells[0]
        port = ports.free_port() if cell.mode is StackMode.SERVER else None
        built = environment.build(
            cell=cell,
            options=chosen,
            project=absolute,
            run_id="000000",
            cell_dir=cell_dir,
            caller=environ,
            base_url=start.base_url(cell.stack, cell.mode, port),
            service_url=None,
        )
        roots = tuple(dict.fromkeys(path for each in cells for path in each.paths))
        log = cell_dir / "pytest.log"
        process = pytest_run.process(
            pytest_run.arguments(chosen, roots, project=absolute, cell_dir=cell_dir),
            environment=built.tests,
            project=absolute,
            log=log,
        )
        ended = pytest_run.run(process, timeout=_DEADLINE, interrupts=interrupts)
        if interrupts.first is not None:
            raise KeyboardInterrupt
        if ended.timed_out:
            raise UsageError(f"collecting the tests took more than {_DEADLINE:g} s", hint=_hint(chosen, setup))
        return _read(cell_dir, roots, log, _hint(chosen, setup))


def _read(cell_dir: Path, roots: tuple[str, ...], log: Path, hint: str) -> Collected:
    facts = jsonfile.read(cell_dir / NAME)
    if facts is None:
        raise UsageError(f"the tests cannot be collected: {(tail(log) or ('pytest said nothing',))[-1]}", hint=hint)
    for error in facts["errors"]:
        raise UsageError(f"{error[0] or 'the tests'} cannot be collected: {error[1]}", hint=hint)
    tests = frozenset(jsonfile.strings(facts, "tests"))
    if not tests:
        raise UsageError(f"no test was collected below {', '.join(roots)}", hint=hint)
    return Collected(
        roots=roots,
        tests=tests,
        bases=frozenset(test.partition("[")[0] for test in tests),
        modules=frozenset(jsonfile.strings(facts, "modules")),
        skipped=frozenset(jsonfile.strings(facts, "skipped")),
    )


def _hint(chosen: options.RunOptions, setup: str) -> str:
    return f"look at it with: {chosen.program} --suite {chosen.suite} --setup {setup} --collect-only"
