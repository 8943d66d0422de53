"""From options and catalog to the cells of a run."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackproof import plan_defaults, plan_runner
from stackproof.catalog.containers import in_order
from stackproof.catalog.records import (
    BesideSpec,
    Catalog,
    ProviderSpec,
    ServiceSpec,
    SetupSpec,
    StackMode,
    StackSpec,
    SuiteSpec,
)
from stackproof.errors import UsageError
from stackproof.option_kinds import Group, Kind
from stackproof.option_table import OPTIONS
from stackproof.options import BUDGET, RunOptions, Source
from stackproof.plaintext import number
from stackproof.recorder.mode import Mode
from stackproof.secret_values import is_called_like_one
from stackproof.shards import timings_words as timings
from stackproof.shards.choosing import owner
from stackproof.shards.records import Shard
from stackproof.suggest import did_you_mean, unknown

RUNS = Path(".stackproof") / "runs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One suite × setup × stack. service: started for it, None when nothing is. paths: what pytest is pointed at.

    containers: what runs beside a stack in a container, in the order of their start. integration_root: the folder below
    which the folders of recordings mirror those of the tests. shard: the part of its tests that runs; None for all.
    """

    suite: SuiteSpec
    setup: SetupSpec
    stack: StackSpec
    mode: StackMode
    inference_mode: Mode
    service: ServiceSpec | None
    paths: tuple[str, ...]
    containers: tuple[BesideSpec, ...] = ()
    integration_root: str = "tests/integration"
    shard: Shard | None = None

    @property
    def stack_config(self) -> str:
        """As `--stack-config` has it: `server:reference`, or the URL of a stack that runs already."""
        return self.stack.url or f"{self.mode}:{self.stack.name}"

    @property
    def whole_id(self) -> str:
        """What its shards are parts of: `base-ollama-server-reference`."""
        return f"{self.suite.name}-{self.setup.name}-{self.mode}-{self.stack.name}"

    @property
    def id(self) -> str:
        """Name for folders and reports: `base-ollama-server-reference`, of a shard with `.3of8` behind."""
        return self.whole_id if self.shard is None else f"{self.whole_id}.{self.shard.slug}"

    @property
    def title(self) -> str:
        """Name for people: `base × ollama × server:reference`, of a shard with ` · shard 3/8` behind."""
        whole = f"{self.suite.name} × {self.setup.name} × {self.stack_config}"
        return whole if self.shard is None else f"{whole} · shard {self.shard}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Everything that a run will do. run_id: 6 hexadecimal digits. run_dir: absolute, below `.stackproof/runs`.

    elsewhere: cells that cannot be divided and are another shard's, each with that.
    """

    run_id: str
    project: Path
    run_dir: Path
    cells: tuple[Cell, ...]
    options: RunOptions
    elsewhere: tuple[tuple[Cell, Shard], ...] = ()

    def together(self, cell: Cell) -> tuple[str, ...]:
        """Which tests of a cell stay in one shard: as its suite says, and as was asked for besides."""
        return tuple(dict.fromkeys((*cell.suite.together, *self.options.together)))


def make(
    options: RunOptions, catalog: Catalog, project: Path, run_id: str, *, caller: Mapping[str, str] | None = None
) -> Plan:
    """The cells: every suite with every setup and stack that was asked for.

    `caller` is the caller's environment: a setup's own service is not started when the caller says where the provider
    is. UsageError when a name is unknown, a stack has not the mode, or no such tests exist.
    """
    options = plan_defaults.of_project(options, catalog, project)
    cells = [
        _cell(suite, setup, stack, part, options=options, catalog=catalog, project=project, caller=caller or {})
        for suite in (catalog.suite(name, where=options.origin("suite")) for name in _several(options.suite))
        for setup, stack in itertools.product(
            _several(options.setup or suite.default_setup), _several(options.stack_config)
        )
        for part in options.parts
    ]
    _must_know_times(options, project)
    # A name given twice is one cell.
    cells = list({cell.id: cell for cell in cells}.values())
    owners = {cell.id: owner(cell.whole_id, options.part.total) for cell in cells if options.part and not cell.shard}
    return Plan(
        run_id=run_id,
        project=project,
        run_dir=project.absolute() / RUNS / run_id,
        cells=tuple(cell for cell in cells if owners.get(cell.id, options.part) == options.part),
        options=options,
        elsewhere=tuple((cell, owners[cell.id]) for cell in cells if owners.get(cell.id, options.part) != options.part),
    )


def _must_know_times(options: RunOptions, project: Path) -> None:
    """UsageError where times are to be read from what is not there."""
    if options.shard is None and options.shards is None:
        return
    for path in options.timings:
        if not (project / path).exists():
            raise timings.missing(path, where=options.origin("timings"))


def again(cell: Cell, options: RunOptions, *, complete: bool = False) -> str:
    """The command line that runs exactly this cell again, from what was given explicitly.

    complete: suite, setup and stack are named even where the defaults would give them; so they are when nothing was
    given. Values of `--env` whose names look like secrets are written as a reference to the variable.
    """
    if not options.tests:
        return options.program
    words = list(_words(cell, options, without=frozenset(), complete=complete))
    words = words or list(_words(cell, options, without=frozenset(), complete=True))
    if options.pytest_args:
        words += ["--", *map(shlex.quote, options.pytest_args)]
    return " ".join([options.program, *words])


def command_stem(cell: Cell, options: RunOptions) -> str:
    """The command line of this cell without what chooses tests and mode, for somebody who adds those."""
    return " ".join([options.program, *_words(cell, options, without=_CHOOSES, complete=True)])


_CHOOSES = frozenset(
    {
        "file",
        "subdirs",
        "pattern",
        "shard",
        "timings",
        "together",
        "engine",
        "shards",
        "inference_mode",
        "collect_only",
        "strict",
        "seal",
        "inject",
        "coverage",
        *BUDGET,
    }
)


def _words(cell: Cell, options: RunOptions, *, without: frozenset[str], complete: bool) -> Iterator[str]:
    this = {"suite": cell.suite.name, "setup": cell.setup.name, "stack_config": cell.stack_config}
    if cell.shard is not None:
        # As a number also where the variables of a CI system said which: elsewhere they say something else.
        this["shard"] = str(cell.shard)
        without |= {"engine", "shards"}
    elif options.shard is not None:
        without |= {"shard", "timings", "together"}  # all of it, wherever that is
    for option in OPTIONS:
        # What to show is not part of what ran.
        if option.name in without or (option.group is Group.SHOW and option.name != "collect_only"):
            continue
        asked = getattr(options, option.name)
        value = this.get(option.name, asked)
        # One of several: whoever asked for all of them would get all of them again.
        one_of_several = option.name in this and value != asked and (isinstance(asked, str) or option.name == "shard")
        explicit = options.sources.get(option.name) in (Source.COMMAND_LINE, Source.ENVIRONMENT)
        if not explicit and not one_of_several and not (complete and option.name in this):
            continue
        if option.kind is Kind.FLAG:
            yield option.flag if value else f"--no-{option.flag[2:]}"
        elif option.name == "env":
            yield from (f"--env {_quoted_pair(pair, cell)}" for pair in options.env)
        elif isinstance(value, tuple):
            yield from (f"{option.flag} {shlex.quote(str(item))}" for item in value)
        else:
            yield f"{option.flag} {shlex.quote(number(value) if isinstance(value, float) else str(value))}"


def _quoted_pair(pair: str, cell: Cell) -> str:
    name, _, value = pair.partition("=")
    return f'{name}="${name}"' if is_secret(name, cell.setup) else f"{name}={shlex.quote(value)}"


def is_secret(name: str, setup: SetupSpec) -> bool:
    """Whether a variable's value must not be shown: the setup says so, or its name does."""
    return name in setup.all_secrets or is_called_like_one(name)


def _several(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _cell(
    suite: SuiteSpec,
    setup_name: str,
    stack_config: str,
    part: Shard | None,
    *,
    options: RunOptions,
    catalog: Catalog,
    project: Path,
    caller: Mapping[str, str],
) -> Cell:
    given = options.origin("setup") if options.setup else f"default_setup of suite {suite.name!r}"
    setup = catalog.setup(setup_name, where=given)
    extra = tuple(ProviderSpec(name=name, prefixes=prefixes) for name, prefixes in options.providers.items())
    mode, stack = _stack(stack_config, options, catalog)
    plan_runner.check(suite, mode, stack.name, options)
    return Cell(
        suite=suite,
        setup=replace(setup, providers=setup.providers + extra),
        stack=stack,
        mode=mode,
        inference_mode=options.mode,
        service=_service(setup, options, catalog, caller),
        paths=_paths(suite, options, catalog, project),
        containers=_containers(setup, stack, mode, options=options, catalog=catalog, caller=caller),
        integration_root=catalog.integration_root,
        # Only pytest's plugin can divide what was collected.
        shard=part if suite.runner is None else None,
    )


def _stack(text: str, options: RunOptions, catalog: Catalog) -> tuple[StackMode, StackSpec]:
    where = options.origin("stack_config")
    if text.startswith(("http://", "https://")):
        return StackMode.REMOTE, _remote(text, options)
    word, colon, name = text.partition(":")
    modes = [mode.value for mode in StackMode if mode is not StackMode.REMOTE]
    if not colon or not name:
        stated = catalog.stacks.get(word)
        raise UsageError(
            f"{where}: stack {text!r} says no mode, write MODE:NAME",
            hint=f"it runs as {_ways(stated)}"
            if stated is not None
            else f"for example server:NAME; known stacks: {', '.join(sorted(catalog.stacks))}",
        )
    if word not in modes:
        raise unknown("stack mode", word, modes, where=where)
    stack, mode = catalog.stack(name, where=where), StackMode(word)
    if mode not in stack.modes:
        raise UsageError(
            f"{where}: stack {name!r} does not run in mode {word!r}",
            hint=f"it runs as {_ways(stack)}",
        )
    return mode, stack


def _ways(stack: StackSpec) -> str:
    return ", ".join(f"{mode}:{stack.name}" for mode in stack.modes)


def _remote(url: str, options: RunOptions) -> StackSpec:
    if options.mode is not Mode.LIVE:
        raise UsageError(
            f"{options.origin('stack_config')}: a stack that runs already ({url}) can be tested live only: "
            f"its provider calls are not seen from here, as {options.inference_mode} needs them to be",
            hint="add --inference-mode live, or let the run start the stack: --stack-config server:NAME",
        )
    name = re.sub(r"[^A-Za-z0-9.]+", "-", url.partition("://")[2]).strip("-.")
    here = Path()
    return StackSpec(
        name=name, description=url, folder=here, modes=(StackMode.REMOTE,), url=url.rstrip("/"), source=here
    )


def _service(setup: SetupSpec, options: RunOptions, catalog: Catalog, caller: Mapping[str, str]) -> ServiceSpec | None:
    if options.provider_service is not None:
        service = catalog.service(options.provider_service, where=options.origin("provider_service"))
        return None if options.mode is Mode.REPLAY else service
    if setup.service is None or options.mode is Mode.REPLAY:
        return None
    # Somebody who says where the provider is does not want another one in its place.
    given = _said(options, caller)
    if any(provider.variable in given for provider in setup.providers):
        return None
    return catalog.service(setup.service, where=f"service of setup {setup.name!r}")


def _said(options: RunOptions, caller: Mapping[str, str]) -> set[str]:
    """Variables that whoever starts this run has given himself."""
    return {pair.partition("=")[0] for pair in options.env} | {name for name, value in caller.items() if value}


def _containers(
    setup: SetupSpec,
    stack: StackSpec,
    mode: StackMode,
    *,
    options: RunOptions,
    catalog: Catalog,
    caller: Mapping[str, str],
) -> tuple[BesideSpec, ...]:
    """What runs beside the stack; UsageError for one outside of a container whose caller does not say where that is."""
    named = {
        **dict.fromkeys(stack.containers, f"containers of stack {stack.name!r}"),
        **dict.fromkeys(setup.containers, f"containers of setup {setup.name!r}"),
    }
    found = [catalog.container(name, where=where) for name, where in named.items()]
    if mode.in_containers:
        return in_order(named, catalog.containers)
    given = _said(options, caller)
    lacking = [spec for spec in found if given.isdisjoint(spec.provides)]
    if lacking and mode is not StackMode.REMOTE and not options.collect_only:
        who = f"setup {setup.name!r}" if lacking[0].name in setup.containers else f"stack {stack.name!r}"
        names = " and ".join(spec.name for spec in lacking)
        own = [next(iter(spec.provides)) for spec in lacking if spec.provides]
        also = f", or say where yours is: {' '.join(f'--env {name}=…' for name in own)}" if own else ""
        raise UsageError(
            f"{who} needs {names} beside the stack, which only runs in containers start: {mode.value}:{stack.name}",
            hint=f"--stack-config docker:{stack.name}{also}",
        )
    return ()


def _paths(suite: SuiteSpec, options: RunOptions, catalog: Catalog, project: Path) -> tuple[str, ...]:
    if options.file:
        for node in options.file:
            _must_exist(node, project, "--file")
        return options.file
    for node in suite.roots:
        _must_exist(node, project, f"roots of suite {suite.name!r}")
    if not options.subdirs:
        return suite.roots
    return tuple(dict.fromkeys(path for subdir in options.subdirs for path in _below(subdir, suite, catalog, project)))


def _below(subdir: str, suite: SuiteSpec, catalog: Catalog, project: Path) -> list[str]:
    """The part of a suite that lies in one directory below the integration root."""
    folder = Path(catalog.integration_root) / subdir
    if not (project / folder).is_dir():
        there = [path.name for path in (project / catalog.integration_root).glob("[!_.]*") if path.is_dir()]
        raise UsageError(
            f"--subdirs: there is no directory {folder.as_posix()}{did_you_mean(subdir, there)}",
            hint=f"directories below {catalog.integration_root}: {', '.join(sorted(there)) or 'none'}",
        )
    roots = {root: Path(root.partition("::")[0]) for root in suite.roots}
    if any(folder.is_relative_to(path) for path in roots.values()):
        return [folder.as_posix()]
    inside = [root for root, path in roots.items() if path.is_relative_to(folder)]
    if not inside:
        raise UsageError(
            f"--subdirs: suite {suite.name!r} has no tests in {folder.as_posix()}",
            hint=f"its roots: {', '.join(suite.roots)}",
        )
    return inside


def _must_exist(node: str, project: Path, where: str) -> None:
    path = node.partition("::")[0]
    if not (project / path).exists():
        parent = (project / path).parent
        there = [item.name for item in parent.iterdir()] if parent.is_dir() else []
        raise UsageError(
            f"{where}: there is no {path}{did_you_mean(Path(path).name, there)}",
            hint=f"paths are relative to {project.name or 'the project'}/",
        )
