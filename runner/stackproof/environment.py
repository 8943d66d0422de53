"""From a cell, its options and the caller's environment to the variables of the tests and of the stack. Does no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from stackproof import provider_urls, proxies
from stackproof.catalog.records import ModelRole, ServiceSpec, StackMode, StackSpec
from stackproof.edge import wiring
from stackproof.edge.places import Places
from stackproof.errors import UsageError
from stackproof.options import RunOptions
from stackproof.plan import Cell, Plan, command_stem, is_secret
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE as RECORDER
from stackproof.recorder.settings import Settings

PLACEHOLDER = "stackproof-replay"
MASK = "********"
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - inside a container, whose network lets nobody else in

# Set below for children: what the caller has of them belongs to another run.
_OURS = frozenset(
    {
        RECORDER,
        *(
            f"STACKPROOF_{name}"
            for name in (
                "API_BASE_URL",
                "CHILD",
                "CLIENT_KEY_IN",
                "DEBUG",
                "EMBEDDING_DIMENSION",
                "INFERENCE_MODE",
                "LACKS",
                "RECORDING_DIR",
                "RUN_DIR",
                "RUN_ID",
                "SETUP",
                "STACK",
                "STACK_TYPE",
                "SUITE",
            )
        ),
        *(f"STACKPROOF_{role.upper()}_MODEL" for role in ModelRole),
    }
)
# What an outer pytest tells its own workers would make a pytest inside it believe that it is one of them.
_OUTER_PYTEST = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_")
# Python would leave out every assert of helpers, and with `--assert=plain` of the tests too: all would be green.
_NO_ASSERTS = "PYTHONOPTIMIZE"
_IN_PROCESS = (StackMode.LIBRARY, StackMode.DOCKER_LIBRARY)
# With these LangChain sends a trace of every call to its makers' service, which a replay could not reach.
_TRACED = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")
_WITHOUT_A_KEY = "to try it without a key: --provider-service llama-cpp, a small model on this machine, smollm2:135m"
_URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s@]+(@)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Variables for the tests and for the stack (in library mode the same).

    secrets: names whose values must not be shown. placeholders: secrets that nobody gave and replay does not need.
    set_here: names that are not simply the caller's.
    """

    tests: Mapping[str, str]
    stack: Mapping[str, str]
    secrets: frozenset[str]
    placeholders: frozenset[str]
    set_here: frozenset[str]

    def shown(self, *, stack: bool = False) -> dict[str, str]:
        """What `--print-env` prints: variables that this run sets or hands on as secrets, with secret values masked."""
        values = self.stack if stack else self.tests
        hidden = sorted((value for name in self.secrets if len(value := values.get(name, "")) >= 8), key=len)
        return {name: self._masked(name, values[name], hidden) for name in sorted(values) if name in self.set_here}

    def _masked(self, name: str, value: str, hidden: list[str]) -> str:
        if name in self.secrets and name not in self.placeholders:
            return MASK
        for secret in reversed(hidden):
            if secret != PLACEHOLDER:
                value = value.replace(secret, MASK)
        return _URL_PASSWORD.sub(rf"\g<1>{MASK}\g<2>", value)


def of_cells(planned: Plan, caller: Mapping[str, str]) -> dict[str, Environment]:
    """The variables of every cell, by its id, as far as they are known before anything has started.

    UsageError when something is missing: that is said before anything starts.
    """
    return {
        cell.id: build(
            cell=cell,
            options=planned.options,
            project=planned.project,
            run_id=planned.run_id,
            cell_dir=planned.run_dir / "cells" / cell.id,
            caller=caller,
            base_url=None,
            service_url=None,
        )
        for cell in planned.cells
    }


def build(
    *,
    cell: Cell,
    options: RunOptions,
    project: Path,
    run_id: str,
    cell_dir: Path,
    caller: Mapping[str, str],
    base_url: str | None,
    service_url: str | None,
    moved: Mapping[str, str] | None = None,
    beside: tuple[str, ...] = (),
    edge: Places | None = None,
) -> Environment:
    """All variables of one cell. `project` is absolute. `moved`: provider URLs as a container has to write them, and
    where it finds what runs beside it; `beside`: the names and addresses of that. `edge`: where the edge listens, for a
    stack whose calls are recorded there.

    Strongest first: `moved`, `--env`, the URL of a provider service that this run started, the caller's variables, the
    setup's, the stack's own. An empty variable of the caller counts as absent: CI systems pass absent secrets that way.
    UsageError when a call would go out and the setup's secrets are missing, or would go past the edge.
    """
    _refuse_missing(cell, options, caller)
    inherited = {
        name: value for name, value in caller.items() if name not in _OURS and not name.startswith(_OUTER_PYTEST)
    }
    if cell.inference_mode is Mode.REPLAY:
        inherited |= {name: "false" for name in _TRACED if inherited.get(name)}
    common = {**inherited, **_absent(cell.setup.env, inherited)}
    if service_url is not None:
        common |= provider_urls.served(cell, service_url)
    given = {**_given(options), **(moved or {})}
    common |= given
    placeholders: frozenset[str] = frozenset()
    if _needs_no_secret(cell):
        placeholders = frozenset(name for name in cell.setup.all_secrets if not common.get(name))
        common |= dict.fromkeys(placeholders, PLACEHOLDER)
    if replay := cell.inference_mode is Mode.REPLAY:
        common |= _absent(_only_for_replay(cell), common)
    common |= _ours(cell, options, project=project, run_id=run_id, cell_dir=cell_dir, base_url=base_url)
    near = (*beside, *proxies.hosts((moved or {}).values()), "" if edge is None else edge.host)
    common = proxies.settled(common, kept=given, goes_out=cell.mode is StackMode.REMOTE or not replay, direct=near)
    settings = _settings(
        cell, options, project=project, run_id=run_id, cell_dir=cell_dir, base_url=base_url, values=common
    )
    common[RECORDER] = replace(settings, beside=beside).to_json()
    stack = _stack(cell, common, given, inherited, cell_dir=cell_dir, project=project, base_url=base_url)
    if wiring.is_at_edge(cell):
        stack = wiring.wired(stack, cell, settings.providers, edge)
    # In library mode the tests' process is the stack's. Beside a server, too, tests may know things by its names.
    tests = stack if cell.mode in _IN_PROCESS else {**common, **_renamed(cell.stack, common), **given}
    key = cell.stack.client_key
    if key is not None and not tests.get(key) and key in stack:
        tests = {**tests, key: stack[key]}  # one that stack.yaml itself makes up, for tests alone
    tests = {name: value for name, value in tests.items() if name != _NO_ASSERTS}
    secrets = frozenset(name for name in (*stack, *cell.setup.all_secrets) if is_secret(name, cell.setup))
    return Environment(
        tests=tests,
        stack=stack,
        secrets=secrets,
        placeholders=placeholders,
        set_here=frozenset(
            name
            for name in (*stack, *common)
            if stack.get(name, common.get(name)) != caller.get(name)
            or name in cell.setup.all_secrets
            or name in cell.setup.env
        ),
    )


def missing(cell: Cell, options: RunOptions, caller: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that real calls of this cell need and nobody gave; none when no call goes to the provider from here."""
    if _needs_no_secret(cell):
        return ()
    given = _given(options)
    defaults = {name for name in cell.setup.secrets if cell.setup.env.get(name)}
    return tuple(
        name
        for name in dict.fromkeys((*cell.setup.secrets, *cell.setup.needs))
        if not given.get(name) and not caller.get(name) and name not in defaults
    )


def _needs_no_secret(cell: Cell) -> bool:
    """In replay nothing goes out, a service on this machine asks for no key, a remote stack has keys of its own."""
    return cell.inference_mode is Mode.REPLAY or cell.service is not None or cell.mode is StackMode.REMOTE


def _refuse_missing(cell: Cell, options: RunOptions, caller: Mapping[str, str]) -> None:
    if names := missing(cell, options, caller):
        hint = f"export {' '.join(f'{name}=…' for name in names)}, or use --inference-mode replay"
        raise UsageError(
            f"setup {cell.setup.name!r} needs {' and '.join(names)} for {cell.inference_mode.value}, "
            f"which the environment lacks",
            hint=f"{hint}\n{_WITHOUT_A_KEY}" if cell.inference_mode.records else hint,
        )


def _given(options: RunOptions) -> dict[str, str]:
    given: dict[str, str] = {}
    for pair in options.env:
        name, _, value = pair.partition("=")
        if name in _OURS:
            raise UsageError(
                f"--env: {name} is set by the run itself", hint="use the option of that name: stackproof run --help"
            )
        given[name] = value
    return given


def _absent(defaults: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in defaults.items() if not present.get(name)}


def _ours(
    cell: Cell, options: RunOptions, *, project: Path, run_id: str, cell_dir: Path, base_url: str | None
) -> dict[str, str]:
    dimension = options.embedding_dimension or cell.setup.embedding_dimension
    models = {
        f"STACKPROOF_{role.upper()}_MODEL": _as_the_stack_says(
            cell.stack, role, getattr(options, f"{role.value}_model") or cell.setup.models.get(role)
        )
        for role in ModelRole
    }
    values = {
        "STACKPROOF_INFERENCE_MODE": cell.inference_mode.value,
        "STACKPROOF_RECORDING_DIR": str(project / options.recording_dir),
        "STACKPROOF_SUITE": cell.suite.name,
        "STACKPROOF_SETUP": cell.setup.name,
        "STACKPROOF_STACK_TYPE": cell.mode.stack_type,
        "STACKPROOF_STACK": cell.stack_config,
        "STACKPROOF_API_BASE_URL": base_url,
        "STACKPROOF_CLIENT_KEY_IN": cell.stack.client_key,
        "STACKPROOF_DEBUG": "1" if options.debug else None,
        "STACKPROOF_LACKS": json.dumps(dict(cell.stack.lacks)) if cell.stack.lacks else None,
        "STACKPROOF_EMBEDDING_DIMENSION": None if dimension is None else str(dimension),
        "STACKPROOF_RUN_ID": run_id,
        "STACKPROOF_RUN_DIR": str(project / cell_dir),
        "STACKPROOF_CHILD": run_id,
        **models,
    }
    return {name: value for name, value in values.items() if value is not None}


def _as_the_stack_says(stack: StackSpec, role: ModelRole, name: str | None) -> str | None:
    return name and stack.models.get(role, "{name}").replace("{name}", name)


def _settings(
    cell: Cell,
    options: RunOptions,
    *,
    project: Path,
    run_id: str,
    cell_dir: Path,
    base_url: str | None,
    values: Mapping[str, str],
) -> Settings:
    service = cell.service
    return Settings(
        mode=cell.inference_mode,
        recordings=str(project / options.recording_dir),
        setup=cell.setup.name,
        suite=cell.suite.name,
        run_dir=str(project / cell_dir),
        run_id=run_id,
        project=str(project),
        integration_root=cell.integration_root,
        providers=provider_urls.of_setup(cell.setup, values),
        secrets=cell.setup.all_secrets,
        rules=cell.setup.rules + cell.suite.rules,
        provenance={"stack": cell.stack.name, **({} if service is None else _served_by(service))},
        header=cell.stack.header,
        stack_url=base_url,
        stack_type=cell.mode.stack_type,
        id_hook=cell.stack.id_hook,
        record_errors=options.record_errors,
        pace=options.pace_factor,
        chunk_fuzz=options.chunk_fuzz,
        strict=options.strict,
        command=command_stem(cell, options),
        debug=options.debug,
        faults=tuple(fault.to_data() for fault in options.faults),
        max_requests=options.max_requests,
        max_tokens=options.max_tokens,
        max_seconds=options.max_seconds,
    )


def _served_by(service: ServiceSpec) -> dict[str, object]:
    return {
        "server": service.server,
        "service": service.name,
        "models": {alias: dict(facts) for alias, facts in service.models.items()},
        **({"synthetic": True} if service.synthetic else {}),
    }


def _only_for_replay(cell: Cell) -> dict[str, str]:
    folder = str(cell.setup.source.parent.absolute())
    return {name: value.replace("{folder}", folder) for name, value in cell.setup.replay.items()}


def _stack(
    cell: Cell,
    common: Mapping[str, str],
    given: Mapping[str, str],
    inherited: Mapping[str, str],
    *,
    cell_dir: Path,
    project: Path,
    base_url: str | None,
) -> dict[str, str]:
    spec = cell.stack
    parts = urlsplit(base_url or "")
    # A container has an address and a file system of its own; the folders of the run have the same paths in both.
    inside = spec.docker if cell.mode.in_containers else None
    folder = str(spec.folder) if inside is None else inside.folder
    templates = {
        "base_url": base_url or "",
        "host": (parts.hostname or "") if inside is None else EVERY_ADDRESS,
        "port": str((parts.port or "") if inside is None else inside.port),
        "run_dir": str(project / cell_dir),
        "recording_dir": common["STACKPROOF_RECORDING_DIR"],
        "project": str(project),
        "folder": folder,
    }
    stack = dict(common)
    for name, text in spec.env.items():
        value = re.sub(r"\{(\w+)\}", lambda found: templates.get(found[1], found[0]), text)
        # A value made of this run's port or folder is right for this run only: the caller cannot know it.
        if value != text or not common.get(name):
            stack[name] = value
    stack |= _renamed(spec, common)
    stack |= given
    if spec.python_path:
        paths = [str(Path(folder) / path.relative_to(spec.folder)) for path in spec.python_path]
        stack["PYTHONPATH"] = ":".join(
            [*paths, *filter(None, [given.get("PYTHONPATH") or inherited.get("PYTHONPATH")])]
        )
    return stack


def _renamed(stack: StackSpec, values: Mapping[str, str]) -> dict[str, str]:
    """What this run sets, under the names that the stack and its tests have for it."""
    return {own: values[ours] for ours, own in stack.variables.items() if ours in values}
