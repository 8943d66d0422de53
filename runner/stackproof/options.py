"""What a run was asked for, and where each choice came from.

Cascade: command line > environment > `[tool.stackproof]` in pyproject.toml > default. The environment is an argument.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from stackproof import nox_sessions
from stackproof.errors import UsageError
from stackproof.faults import grammar
from stackproof.option_kinds import Option
from stackproof.option_table import BY_NAME, OPTIONS
from stackproof.option_values import read_value, truthy
from stackproof.recorder.inject.fault import Fault
from stackproof.recorder.mode import Mode
from stackproof.recorder.pacing import EVERY_BYTE
from stackproof.shards import asked
from stackproof.shards.records import Shard, require_some
from stackproof.suggest import did_you_mean, nearest

PREFIX = "STACKPROOF_"
CHILD = "STACKPROOF_CHILD"
FILE_NAME = "pyproject.toml"
# Nobody waits a hundred times longer than the provider took.
_SLOWEST = 100.0
# pytest's own words for "list the tests and stop".
_COLLECTING = frozenset({"--co", "--collect-only"})
BUDGET = ("max_requests", "max_tokens", "max_seconds")
# Tables below [tool.stackproof] that are not options of a run.
OTHER_TABLES = ("providers", "typecheck", "benchmark", "release")
# Variables with our prefix that are not options: set for children, or read by the live smoke tests.
OTHER_VARIABLES = frozenset(
    PREFIX + name
    for name in (
        "API_BASE_URL",
        "CHILD",
        "LIVE_MODEL",
        "RECORDER",
        "RUN_DIR",
        "RUN_ID",
        "SHARDS",
        "STACK",
        "STACK_TYPE",
    )
)


class Source(StrEnum):
    """Where a value came from, strongest first."""

    COMMAND_LINE = "command line"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """The options of `stackproof run`; their meaning is in `option_table.OPTIONS`.

    pytest_args: what followed `--`. providers: name -> URL prefixes, from `[tool.stackproof.providers]`.
    tests: False where only the stack is wanted. program: how a person starts a run in this project. sources: option
    name -> where its value came from. shard_source: the variables of the CI system that said which shard this is.
    """

    suite: str = "base"
    setup: str | None = None
    stack_config: str = "server:reference"
    file: tuple[str, ...] = ()
    subdirs: tuple[str, ...] = ()
    pattern: str | None = None
    shard: str | None = None
    timings: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    engine: str = "local"
    shards: int | None = None
    inference_mode: str = Mode.REPLAY.value
    recording_dir: str = "recordings"
    provider_service: str | None = None
    record_errors: bool = False
    max_requests: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    allow_record_in_ci: bool = False
    strict: bool = False
    seal: str = "auto"
    pace: str = "instant"
    chunk_fuzz: str | None = None
    inject: tuple[str, ...] = ()
    text_model: str | None = None
    tool_model: str | None = None
    vision_model: str | None = None
    embedding_model: str | None = None
    embedding_dimension: int | None = None
    rerank_model: str | None = None
    safety_model: str | None = None
    judge_model: str | None = None
    env: tuple[str, ...] = ()
    python: str | None = None
    workers: str | None = None
    test_timeout: float | None = None
    suite_timeout: float = 1800.0
    start_timeout: float | None = None
    coverage: str | None = None
    keep: bool = False
    post_command: str | None = None
    collect_only: bool = False
    dry_run: bool = False
    format: str = "text"
    print_env: bool = False
    json: bool = False
    verbose: bool = False
    debug: bool = False
    pytest_args: tuple[str, ...] = ()
    providers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tests: bool = True
    program: str = "stackproof run"
    sources: Mapping[str, Source] = field(default_factory=dict)
    shard_source: str = "--shard"

    @property
    def part(self) -> Shard | None:
        """`shard`, read; None where all tests are to run."""
        return None if self.shard is None else Shard.parse(self.shard, where="--shard")

    @property
    def parts(self) -> tuple[Shard | None, ...]:
        """What each cell is planned as: whole, one shard of it, or all of them for the jobs of a CI system."""
        if self.shards is None or self.engine != "local":
            return (self.part,)
        return tuple(Shard(index=index + 1, total=self.shards) for index in range(self.shards))

    @property
    def mode(self) -> Mode:
        """`inference_mode` as the recorder knows it."""
        return Mode.parse(self.inference_mode)

    @property
    def pace_factor(self) -> float:
        """`pace` as a factor of the recorded waits: 0 for `instant`, 1 for `recorded`. ValueError for anything else."""
        named = {"instant": 0.0, "recorded": 1.0}
        factor = named[self.pace] if self.pace in named else float(self.pace)
        if not 0 <= factor <= _SLOWEST:
            raise ValueError(f"{self.pace} is not between 0 and {_SLOWEST:g}")
        return factor

    @property
    def budget(self) -> dict[str, int | float]:
        """What real calls may spend, by the option that says so: those that were given."""
        given = {name: getattr(self, name) for name in BUDGET}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """`inject`, read. UsageError names what is wrong with one."""
        return grammar.parse_all(self.inject, where=self.origin("inject"))

    def origin(self, name: str) -> str:
        """What a person wrote to set the option: `--setup`, `STACKPROOF_SETUP`, `pyproject.toml`, `default`."""
        option = BY_NAME[name]
        return {
            Source.COMMAND_LINE: option.flag,
            Source.ENVIRONMENT: option.variable or "environment",
            Source.FILE: FILE_NAME,
            Source.DEFAULT: "default",
        }[self.sources.get(name, Source.DEFAULT)]


def resolve(cli: Mapping[str, object], environ: Mapping[str, str], project: Path) -> RunOptions:
    """Put the cascade together. `cli` holds only what was given explicitly, by option name, and `pytest_args`.

    UsageError: one sentence that names the source of a value that is wrong.
    """
    table = read_file(project)
    variables = {} if CHILD in environ else environ
    _refuse_misspelt(variables)
    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for option in OPTIONS:
        sources[option.name] = Source.DEFAULT
        found = _find(option, cli, variables, table)
        if found is not None:
            sources[option.name], raw, where = found
            values[option.name] = read_value(option, raw, where=where)
    if "subdirs" in values:
        values["subdirs"] = tuple(part for text in values["subdirs"] for part in text.split(",") if part)
    options = RunOptions(
        **values,
        pytest_args=_pytest_args(cli),
        providers=_providers(table),
        program="nox -s integration --" if nox_sessions.has(project, "integration") else "stackproof run",
        sources=sources,
    )
    if not options.collect_only and not _COLLECTING.isdisjoint(options.pytest_args):
        options = replace(options, collect_only=True)
    if options.shard is not None:
        shard, source = asked.shard(options.shard, environ)
        options = replace(options, shard=str(shard), shard_source=source)
    _check_together(options, environ)
    return options


def read_file(project: Path) -> Mapping[str, object]:
    """`[tool.stackproof]` of the project's pyproject.toml, with keys checked; empty when there is none."""
    path = project / FILE_NAME
    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{FILE_NAME}: cannot be read as TOML: {error}") from error
    tool = content.get("tool", {})
    table = tool.get("stackproof", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{FILE_NAME}: [tool.stackproof] is not a table")
    known = [option.key for option in OPTIONS if option.key is not None]
    for key in table:
        if key not in known and key not in OTHER_TABLES:
            raise _unknown_key(key, known)
    return table


def _unknown_key(key: str, known: list[str]) -> UsageError:
    option = BY_NAME.get(key) or BY_NAME.get(key.replace("-", "_"))
    if option is not None and option.key is None:
        return UsageError(
            f"{FILE_NAME}: {key!r} cannot be set in [tool.stackproof]", hint=f"give {option.flag} instead"
        )
    where = f"{FILE_NAME}: unknown key {key!r} in [tool.stackproof]"
    return UsageError(f"{where}{did_you_mean(key, known)}", hint=f"known keys: {', '.join(known)}")


def _refuse_misspelt(variables: Mapping[str, str]) -> None:
    known = {option.variable[len(PREFIX) :] for option in OPTIONS if option.variable is not None}
    for name in sorted(variables):
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES or name[len(PREFIX) :] in known:
            continue
        # Other tools may use the prefix for their own ends: only what is almost one of our names is refused.
        meant = nearest(name[len(PREFIX) :], known, cutoff=0.8)
        if meant is not None:
            raise UsageError(
                f"unknown variable {name}, did you mean {PREFIX}{meant}?", hint=f"rename it, or unset it: unset {name}"
            )


def _find(
    option: Option, cli: Mapping[str, object], variables: Mapping[str, str], table: Mapping[str, object]
) -> tuple[Source, object, str] | None:
    if cli.get(option.name) is not None:
        return Source.COMMAND_LINE, cli[option.name], option.flag
    # An empty variable is how CI systems say "not set".
    if option.variable is not None and variables.get(option.variable):
        return Source.ENVIRONMENT, variables[option.variable], option.variable
    if option.key is not None and option.key in table:
        return Source.FILE, table[option.key], f"{FILE_NAME}, [tool.stackproof] {option.key}"
    return None


def _pytest_args(cli: Mapping[str, object]) -> tuple[str, ...]:
    given = cli.get("pytest_args", ())
    return tuple(str(item) for item in given) if isinstance(given, list | tuple) else ()


def _providers(table: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    given = table.get("providers", {})
    where = f"{FILE_NAME}, [tool.stackproof.providers]"
    if not isinstance(given, dict):
        raise UsageError(f"{where}: not a table of names and URL prefixes")
    result: dict[str, tuple[str, ...]] = {}
    for name, value in given.items():
        prefixes = [value] if isinstance(value, str) else value
        if not isinstance(prefixes, list) or not all(isinstance(p, str) and "://" in p for p in prefixes):
            raise UsageError(f"{where} {name}: {value!r} is not a URL prefix or a list of them")
        result[name] = tuple(prefixes)
    return result


def _check_together(options: RunOptions, environ: Mapping[str, str]) -> None:
    if options.mode.records and truthy(environ.get("CI")) and not options.allow_record_in_ci:
        raise UsageError(
            f"inference mode {options.inference_mode!r} ({options.origin('inference_mode')}) does not run under CI, "
            f"where the variable CI is {environ['CI']!r}",
            hint="record on a machine of your own, or add --allow-record-in-ci",
        )
    _check_budget(options)
    _check_shards(options)
    for text in options.env:
        name, equals, _ = text.partition("=")
        if not equals or not name.isidentifier() or not name.isascii():
            raise UsageError(
                f"--env: {text!r} is not NAME=VALUE", hint='for example --env OLLAMA_URL="http://host:11434/v1"'
            )
    if options.format != "text" and not options.dry_run:
        raise UsageError("--format is about the plan that --dry-run prints", hint="add --dry-run")
    try:
        _ = options.pace_factor
    except ValueError:
        raise UsageError(
            f"{options.origin('pace')}: {options.pace!r} is neither 'instant', 'recorded' nor a factor from 0 to 100",
            hint="for example --pace 0.5 for half of the recorded waits",
        ) from None
    fuzz = options.chunk_fuzz
    if fuzz is not None and fuzz != EVERY_BYTE and not fuzz.isdecimal():
        raise UsageError(
            f"{options.origin('chunk_fuzz')}: {fuzz!r} is neither 'bytes' nor a number",
            hint="for example --chunk-fuzz 7",
        )
    if options.inject and options.mode is not Mode.REPLAY:
        raise UsageError(
            f"{options.origin('inject')}: {grammar.ONLY_IN_REPLAY}, and inference mode {options.inference_mode!r} "
            f"({options.origin('inference_mode')}) is another",
            hint="leave one of the two out",
        )
    _ = options.faults
    workers = options.workers
    if workers is not None and workers not in ("auto", "logical") and not workers.isdecimal():
        raise UsageError(f"{options.origin('workers')}: {workers!r} is neither a number nor 'auto'")


def _check_shards(options: RunOptions) -> None:
    asked.check_together(options.together, where=options.origin("together"))
    swarm = options.engine == "swarm"
    if options.shard is not None or options.shards is not None:
        where = "--shard" if options.shards is None else "--shards"
        asked.refuse_from_before(options.pytest_args, where=where)
    if options.shard is not None and (swarm or options.shards is not None):
        other = "--engine swarm" if swarm else "--shards"
        raise UsageError(
            f"--shard is one part of a run, and {other} is about all of them", hint=f"leave out --shard or {other}"
        )
    planned = options.dry_run and options.format != "text"
    if options.shards is not None:
        require_some(options.shards, where=options.origin("shards"))
    if options.shards is not None and not swarm and not planned:
        raise UsageError(
            "--shards: only --engine swarm runs all shards of a run, and --dry-run --format plans them for a CI system",
            hint=f"add one of these, or run one part here: --shard 1/{options.shards}",
        )
    if swarm and options.shards is None:
        raise UsageError("--engine swarm needs --shards, the number of tasks", hint="for example --shards 8")
    if swarm and options.mode.records:
        raise UsageError(
            f"{options.origin('inference_mode')}: recordings are made on one machine, and --engine swarm runs on many",
            hint="leave out --engine swarm",
        )


def _check_budget(options: RunOptions) -> None:
    """Nobody is to believe in a limit that nothing keeps."""
    for name in options.budget:
        where = options.origin(name)
        if options.mode is Mode.LIVE:
            raise UsageError(
                f"{where}: in inference mode 'live' ({options.origin('inference_mode')}) nothing counts the calls",
                hint="--inference-mode verify makes the same real calls, and counts them",
            )
        # A job may have the variable for all of its steps: where no call goes out the limit is kept by itself.
        if options.mode is Mode.REPLAY and options.sources.get(name) is Source.COMMAND_LINE:
            raise UsageError(
                f"{where}: in inference mode 'replay' ({options.origin('inference_mode')}) no call goes out that "
                "could be counted",
                hint="leave it out, or add --inference-mode verify",
            )
