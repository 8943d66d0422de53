"""What the YAML files under `stacks/` and `tests/suites.yaml` say, as checked, frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar, assert_never

from stackproof.catalog.benchmarking import BenchmarkSpec
from stackproof.catalog.edge import EdgeSpec, RecorderPlace
from stackproof.catalog.preparing import PrepareSpec
from stackproof.catalog.runners import RunnerSpec
from stackproof.errors import UsageError
from stackproof.suggest import unknown

Record = TypeVar("Record")


class StackMode(StrEnum):
    """How a stack runs: the part of `--stack-config` before the colon."""

    LIBRARY = "library"
    SERVER = "server"
    DOCKER = "docker"
    DOCKER_LIBRARY = "docker-library"
    REMOTE = "remote"

    @property
    def stack_type(self) -> str:
        """`library_client` when tests call the stack inside their own process, else `server`."""
        match self:
            case StackMode.LIBRARY | StackMode.DOCKER_LIBRARY:
                return "library_client"
            case StackMode.SERVER | StackMode.DOCKER | StackMode.REMOTE:
                return "server"
        assert_never(self)

    @property
    def in_containers(self) -> bool:
        """Whether it needs a Docker engine."""
        return self in (StackMode.DOCKER, StackMode.DOCKER_LIBRARY)


class ModelRole(StrEnum):
    """What a test needs a model for; each role has an option `--<role>-model` and a fixture."""

    TEXT = "text"
    TOOL = "tool"
    VISION = "vision"
    EMBEDDING = "embedding"
    RERANK = "rerank"
    SAFETY = "safety"
    JUDGE = "judge"


class Wire(StrEnum):
    """A protocol that a provider speaks, by which a test says what it asks for."""

    CHAT = "chat"  # OpenAI's Chat Completions, or what a stack translates into them
    RESPONSES = "responses"  # OpenAI's Responses
    MESSAGES = "messages"  # Anthropic's Messages
    EMBEDDINGS = "embeddings"  # OpenAI's
    RERANK = "rerank"  # as vLLM, Jina and Cohere shape it
    OLLAMA = "ollama"  # Ollama's own API
    INTERACTIONS = "interactions"  # Gemini's
    SEARCH = "search"  # Tavily's search of the web


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderSpec:
    """Who is called, and by which URLs it is known.

    variable: environment variable that holds the provider's base URL. origin: the bare origin of that URL
    (scheme, host, port) belongs to the provider too, as Ollama's `/api` beside its `/v1`. prefixes: further URL
    prefixes that belong to it; `{NAME}` in one is the value of a variable of the setup, so that a tenant's project is
    part of the prefix and of no recording. speaks: its protocols.
    """

    name: str
    variable: str | None = None
    origin: bool = False
    prefixes: tuple[str, ...] = ()
    speaks: tuple[Wire, ...] = (Wire.CHAT,)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupSpec:
    """A named environment: provider URLs, default models, the secrets it needs.

    description: one line, shown by `stackproof setups`; there unless it combines others. combines: setups whose
    content it takes over. env: variables for the stack and its tests. models: role -> `provider/model`.
    embedding_dimension: how many numbers its embedding model gives. providers: who is called, by name. secrets: names
    of environment variables. optional_secrets: those of another way to sign in, which nobody is asked
    for. needs: further variables that a real call needs from the caller, though they are no secret (a tenant's URL, a
    project id); the value in `env` serves in replay only. replay: variables that only replay needs, where nobody gave
    them; `{folder}` in one is the folder of the file that says so. service: the provider service that belongs to it,
    started for record and live runs. containers: what has to run beside a stack that runs in one. rules: rules on
    volatile request fields, as the recorder reads them.
    """

    name: str
    description: str
    env: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[ModelRole, str] = field(default_factory=dict)
    embedding_dimension: int | None = None
    secrets: tuple[str, ...] = ()
    optional_secrets: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    replay: Mapping[str, str] = field(default_factory=dict)
    providers: tuple[ProviderSpec, ...] = ()
    service: str | None = None
    containers: tuple[str, ...] = ()
    rules: tuple[Mapping[str, object], ...] = ()
    source: Path

    @property
    def all_secrets(self) -> tuple[str, ...]:
        """Every variable of it whose value must never be written or shown."""
        return tuple(dict.fromkeys((*self.secrets, *self.optional_secrets)))


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadinessSpec:
    """When a server counts as ready.

    path: what is asked for. status: what it has to answer with. timeout: seconds until then. command: run inside the
    container instead; ready when it exits with 0.
    """

    path: str = "/v1/health"
    status: int = 200
    timeout: float = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class DockerSpec:
    """How a stack runs in a container: either an image that is built from `dockerfile`, or one that is there, `image`.

    dockerfile: what the image is built from, in the stack's folder. image: one that is there, in its place. base: the
    build argument BASE, the image to start from; a run may name another. requirements: file for pip; wheels
    for it are prepared outside and lie in `wheels/` of the build's context. tests: the same for what tests need beside
    it where they run inside (docker-library). context: what else of the stack's folder the build may see. python: what
    {python} stands for in the command. folder: where the stack's folder is inside. port: where the command listens
    inside. shared: cells of one run may have one container, with a process for each, one after another.
    """

    dockerfile: Path | None = None
    image: str | None = None
    base: str = "python:3.11-slim"
    requirements: Path | None = None
    tests: Path | None = None
    context: tuple[Path, ...] = ()
    python: str = "python3"
    folder: str = "/stack"
    port: int = 8000
    shared: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PythonSpec:
    """The Python that a stack needs, where it is not the one that Stackproof runs in.

    version: `>=3.12`, or `>=3.12,<3.14`, in the file. at_least, below: the same as (3, 12); None: any. requirements:
    file for pip, installed into a virtual environment of the stack's own. tests: the same for what tests need beside
    it where they run in the stack's process.
    """

    at_least: tuple[int, int] | None = None
    below: tuple[int, int] | None = None
    requirements: Path | None = None
    tests: Path | None = None

    def fits(self, version: tuple[int, int]) -> bool:
        """Whether a Python of this version will do."""
        return (self.at_least is None or version >= self.at_least) and (self.below is None or version < self.below)

    @property
    def words(self) -> str:
        """What is needed: `Python 3.12 or newer`."""
        text = "Python" if self.at_least is None else f"Python {self.at_least[0]}.{self.at_least[1]} or newer"
        return text if self.below is None else f"{text}, below {self.below[0]}.{self.below[1]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StackSpec:
    """Software under test, from `stacks/<name>/stack.yaml`.

    description: one line, shown by `stackproof stack`. modes: how it can run. python_path: folders put in front of
    the import path. app: `module:name` of an ASGI application, or of a function without arguments that returns one
    (library mode); None there: a plain library, which tests import and call. command: argv with the templates
    {python}, {host}, {port}, {folder}, {project} and {run_dir}, and {prepared}, where `prepare` has made something
    (server mode). cwd: folder that the server runs in, relative to the file; default: that of the file. under_exec:
    the command is started through `stackproof exec`.
    recorder: where its calls are recorded; edge: what that needs where it is the edge. header: the request header
    that carries the test id. client_key: variable whose value the clients of the tests send as their key. id_hook:
    `module:function`, called with an override for the ids that the stack makes (`recorder.ids`). port: fixed port;
    without it the kernel assigns one. readiness: when its server counts as ready. env: variables for it; {host},
    {port}, {base_url}, {run_dir}, {recording_dir}, {project} and {folder} are filled in. url: where a stack runs
    already (remote mode only).
    prepare: what is made of its folder first. lacks: tests that it cannot pass, since it does not have what they
    ask for: file, folder or node id -> what that is. docker: how it runs in a container, where it can. containers:
    what has to run beside it there. variables: `STACKPROOF_…` name -> the stack's own name for it. python: the
    Python that it needs; None: the one of the run. models: what the stack calls the setup's model of a role, with
    the template {name}. warnings: filters as `python -W` takes them, for the process that the stack shares with its
    tests: its warnings are no errors of theirs. stop_timeout: seconds that its shutdown may take in the process of
    its tests. benchmark: what measures its turns.
    """

    name: str
    description: str
    folder: Path
    modes: tuple[StackMode, ...]
    python_path: tuple[Path, ...] = ()
    app: str | None = None
    command: tuple[str, ...] = ()
    cwd: Path | None = None
    under_exec: bool = True
    recorder: RecorderPlace = RecorderPlace.PROCESS
    edge: EdgeSpec = field(default_factory=EdgeSpec)
    readiness: ReadinessSpec = ReadinessSpec()
    env: Mapping[str, str] = field(default_factory=dict)
    header: str = "X-Provider-Data"
    client_key: str | None = None
    id_hook: str | None = None
    port: int | None = None
    url: str | None = None
    docker: DockerSpec | None = None
    prepare: PrepareSpec | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    python: PythonSpec | None = None
    models: Mapping[ModelRole, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    stop_timeout: float = 10.0
    benchmark: BenchmarkSpec | None = None
    source: Path


class Until(StrEnum):
    """What is waited for once a container beside a stack was started."""

    HEALTHY = "healthy"
    COMPLETED = "completed"


@dataclass(frozen=True, kw_only=True, slots=True)
class BesideSpec:
    """What runs in a container beside a stack, from `stacks/<name>/container.yaml`.

    description: one line on what it is. docker: its image, and the port that it listens at. command: argv with the
    templates {host} and {port}; without one the image's own. env: its variables, and nothing else; {NAME} in a value is
    the stack's variable of that name. memory: folders that are kept in memory. asked: a command that is run inside
    and exits with 0 when it is ready; without one its path is asked for over HTTP. readiness: when it is ready, for
    what does not end by itself. until: COMPLETED when it has to end with exit code 0 by itself. needs: containers that
    come before it. provides: variables of the stack, {host} and {port} in them filled in.
    """

    name: str
    description: str
    folder: Path
    docker: DockerSpec
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    memory: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    readiness: ReadinessSpec = ReadinessSpec()
    until: Until = Until.HEALTHY
    needs: tuple[str, ...] = ()
    provides: Mapping[str, str] = field(default_factory=dict)
    source: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceImage(DockerSpec):
    """How a provider service runs in a container: its image's own command, listening at `port` on all addresses.

    env: variables of it. cache: folder inside that outlives the container. pull: models that it is asked to fetch, as
    Ollama's API has it. unpacked: files for pip, of wheels that hold what is no Python (models, a library): they lie in
    `wheels/` of the build's context too, without what they ask for.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    cache: str | None = None
    pull: tuple[str, ...] = ()
    unpacked: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceSpec:
    """A model provider that runs on this machine, from `stacks/<name>/service.yaml`.

    description: one line, shown by `stackproof services`. requirements: file for pip, installed into a virtual
    environment of the service's own. command: argv with the templates {python}, {host}, {port} and {cache}. readiness:
    when it counts as ready. docker: how it runs in a container; asked for by `docker:NAME`, and without a command the
    only way. api_path: what follows the origin in the URL handed to a setup's provider variables; {provider} in it is
    the provider's name. for_each: what comes before that where a setup has several providers, whose calls would not be
    told apart at one URL. server: its name and version, for the provenance of recordings. models: facts for it, by
    alias. synthetic: no model answers, so each recording says that it is synthetic.
    """

    name: str
    description: str
    folder: Path
    requirements: Path | None = None
    command: tuple[str, ...] = ()
    docker: ServiceImage | None = None
    readiness: ReadinessSpec = ReadinessSpec()
    api_path: str = "/v1"
    for_each: str = ""
    server: str
    models: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    synthetic: bool = False
    source: Path

    @property
    def contained(self) -> ServiceImage | None:
        """How it runs in a container, where it does: nothing of it is started on this machine itself then."""
        return None if self.command else self.docker


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteSpec:
    """A named set of tests.

    description: one line, shown by `stackproof suites`. roots: directories, files or node ids, relative to the project.
    default_setup: the setup of a run that names none. rules: on request fields that differ from run to run. runner:
    what runs the tests where that is not pytest.
    together: which of its tests stay in one shard, as `--together`.
    """

    name: str
    description: str
    roots: tuple[str, ...]
    default_setup: str
    rules: tuple[Mapping[str, object], ...] = ()
    runner: RunnerSpec | None = None
    together: tuple[str, ...] = ()
    source: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """Everything that can be named on the command line. integration_root: the folder recordings mirror."""

    setups: Mapping[str, SetupSpec]
    stacks: Mapping[str, StackSpec]
    services: Mapping[str, ServiceSpec]
    suites: Mapping[str, SuiteSpec]
    containers: Mapping[str, BesideSpec] = field(default_factory=dict)
    integration_root: str = "tests/integration"

    def setup(self, name: str, *, where: str | None = None) -> SetupSpec:
        """The setup of that name; UsageError with the nearest name. `where` says who asked (`--setup`)."""
        return _look_up(self.setups, "setup", name, where)

    def stack(self, name: str, *, where: str | None = None) -> StackSpec:
        """The stack of that name; UsageError with the nearest name."""
        return _look_up(self.stacks, "stack", name, where)

    def service(self, name: str, *, where: str | None = None) -> ServiceSpec:
        """The provider service of that name, or of `docker:NAME` in a container; UsageError with the nearest name."""
        mode, colon, rest = name.rpartition(":")
        if colon and mode != StackMode.DOCKER:
            raise unknown("service mode", mode, [StackMode.DOCKER.value], where=where)
        found = _look_up(self.services, "service", rest, where)
        if not colon:
            return found
        if found.docker is None:
            able = [f"docker:{spec.name}" for spec in self.services.values() if spec.docker is not None]
            raise UsageError(
                f"{where or 'service'}: service {rest!r} does not run in a container",
                hint=f"those that do: {', '.join(able) or 'none'}; without one: {rest}",
            )
        return replace(found, command=(), requirements=None)

    def container(self, name: str, *, where: str | None = None) -> BesideSpec:
        """What runs beside a stack under that name; UsageError with the nearest name."""
        return _look_up(self.containers, "container", name, where)

    def suite(self, name: str, *, where: str | None = None) -> SuiteSpec:
        """The suite of that name; UsageError with the nearest name."""
        if not self.suites:
            asked = f" ({where})" if where else ""
            raise UsageError(
                f"suite {name!r}{asked} is not known: there is no tests/suites.yaml here that names suites",
                hint="run this in the project's folder, or have `stackproof init` write that file",
            )
        return _look_up(self.suites, "suite", name, where)


def _look_up(records: Mapping[str, Record], kind: str, name: str, where: str | None) -> Record:
    if name not in records:
        raise unknown(kind, name, records, where=where)
    return records[name]
