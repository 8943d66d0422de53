"""From what a person asks for to the order of a Job: what cannot run in a pod is refused, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from stackproof.catalog.records import StackMode
from stackproof.errors import UsageError
from stackproof.lanes.records import USUAL_PYTHON, Check, Lane
from stackproof.lanes.sound import undivided
from stackproof.option_kinds import Group, Kind
from stackproof.option_table import OPTIONS
from stackproof.options import RunOptions, Source
from stackproof.plaintext import number
from stackproof.plan import Cell, Plan, is_secret
from stackproof.recorder.mode import Mode
from stackproof.shards.kubernetes import MOST_SHARDS, OF_THE_POD, USUAL_MINUTES, JobOrder, Resources, SecretKey

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
_SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/, without signs and exponents.
_QUANTITY = re.compile(r"(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,3})?(?:m|k|[KMGTP]i|[MGTP])?")
# https://github.com/distribution/reference: a name, perhaps a tag, and the digest.
_IMAGE = re.compile(r"[a-zA-Z0-9][^\s@]*@sha256:[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What another machine is told otherwise, or not at all.
_OURS = frozenset({"shard", "shards", "engine", "env"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What stood on the command line. image, claim: None where they were not given. secrets: as `--secret` has them.

    minutes: that a shard may take, None for what the lane says.
    """

    shards: int
    image: str | None
    claim: str | None
    namespace: str | None = None
    secrets: Sequence[str] = ()
    parallelism: int | None = None
    minutes: int | None = None
    retries: int = 2
    resources: Resources = field(default_factory=Resources)


def of_lane(asked: Asked, lane: Lane, timings: Sequence[str] = ()) -> JobOrder:
    """The order for a lane, which replays. UsageError where a pod cannot run it, or where what is asked cannot be."""
    if why := undivided(lane):
        raise UsageError(f"lane {lane.name!r} {why}", hint="`stackproof lane run` does it on one machine")
    engine = [each.cell.title for each in lane.cells if StackMode(each.cell.stack.partition(":")[0]).in_containers]
    if engine or lane.docker:
        what = f", {engine[0]} for one" if engine else ""
        raise UsageError(
            f"lane {lane.name!r} needs a Docker engine{what}, and a pod has none",
            hint="run its stack as a process in the pod: server:NAME in place of docker:NAME",
        )
    needs = [
        *([f"Python {lane.python}"] if lane.python != USUAL_PYTHON else []),
        *(["Node.js"] if lane.node else []),
        *(["mypy"] if Check.TYPES in lane.checks else []),
    ]
    return _order(
        asked,
        title=f"lane {lane.name}",
        command=("lane", "run", lane.name, *_each("--timings", timings)),
        sealed=True,
        wanted={},
        environment=dict(lane.env),
        minutes=lane.timeout,
        needs=tuple(needs),
    )


def of_run(asked: Asked, plan: Plan) -> JobOrder:
    """The order for a run. UsageError where a pod cannot run it, or where what is asked cannot be."""
    options, cells = plan.options, plan.cells
    if options.mode.records:
        raise UsageError(
            f"{options.origin('inference_mode')}: recordings are made on one machine, and the pods of a Job are many",
            hint="record with `stackproof run`, and replay in the pods",
        )
    for cell in cells:
        if cell.mode.in_containers:
            raise UsageError(
                f"{options.origin('stack_config')}: {cell.stack_config} needs a Docker engine, and a pod has none",
                hint=f"run the stack as a process in the pod: {_as_process(cell)}",
            )
    sealed = options.mode is Mode.REPLAY
    hidden = _hidden(options, cells)
    if sealed and hidden:
        raise UsageError(
            f"--env: {hidden[0]} is called like a secret, and its value has no place in a manifest",
            hint="a replay needs no secret: leave it out",
        )
    required = {*hidden, *(name for cell in cells for name in cell.setup.secrets)}
    known = [*(name for cell in cells for name in cell.setup.all_secrets), *hidden]
    return _order(
        asked,
        title=" and ".join(cell.whole_id for cell in cells[:2]) + (f" and {len(cells) - 2} more" if cells[2:] else ""),
        command=("run", *_words(options), *(("--", *options.pytest_args) if options.pytest_args else ())),
        sealed=sealed,
        wanted={name: name in required for name in known},
        environment={name: value for name, _, value in (pair.partition("=") for pair in options.env)},
        minutes=None,
        needs=(),
    )


def _order(
    asked: Asked,
    *,
    title: str,
    command: tuple[str, ...],
    sealed: bool,
    wanted: dict[str, bool],
    environment: dict[str, str],
    minutes: int | None,
    needs: tuple[str, ...],
) -> JobOrder:
    resources = asked.resources
    for flag, quantity in (("--cpu", resources.cpu), ("--memory", resources.memory), ("--disk", resources.disk)):
        if not _QUANTITY.fullmatch(quantity):
            raise UsageError(f"{flag}: {quantity!r} is no quantity of Kubernetes", hint="for example 500m, 2 or 4Gi")
    if asked.shards > MOST_SHARDS:
        raise UsageError(
            f"--shards: a Job has at most {MOST_SHARDS} pods, not {asked.shards}", hint="take fewer shards"
        )
    if asked.namespace is not None and not _LABEL.fullmatch(asked.namespace):
        raise UsageError(f"--namespace: {asked.namespace!r} is no name of a namespace", hint="for example ci")
    found = _secrets(asked.secrets, wanted, sealed=sealed)
    for name in (*environment, *(secret.variable for secret in found)):
        if name in OF_THE_POD:
            raise UsageError(f"{name} is set for each pod by itself", hint=f"leave {name} out")
    return JobOrder(
        title=title,
        command=command,
        shards=asked.shards,
        image=_image(asked.image),
        claim=_claim(asked.claim),
        sealed=sealed,
        namespace=asked.namespace,
        secrets=found,
        # A value that is in a Secret is no other's.
        environment={
            name: value for name, value in environment.items() if all(name != each.variable for each in found)
        },
        parallelism=asked.parallelism,
        resources=resources,
        minutes=asked.minutes or minutes or USUAL_MINUTES,
        retries=asked.retries,
        needs=needs,
    )


def _image(text: str | None) -> str:
    if text is None:
        raise UsageError(
            "--format kubernetes needs --image, the image that runs in the pods",
            hint="`stackproof stack image NAME` builds it; push it, then give --image NAME@sha256:…",
        )
    if not _IMAGE.fullmatch(text):
        raise UsageError(
            f"--image: {text!r} is no image by its digest, and a name may mean another image tomorrow",
            hint="`docker push` prints the digest: --image NAME@sha256:…",
        )
    return text


def _claim(text: str | None) -> str:
    if text is None:
        raise UsageError(
            "--format kubernetes needs --claim, the volume that the evidence goes to",
            hint="--claim NAME, a PersistentVolumeClaim that many pods may write to (ReadWriteMany)",
        )
    if not _SUBDOMAIN.fullmatch(text):
        raise UsageError(f"--claim: {text!r} is no name of a PersistentVolumeClaim", hint="for example evidence")
    return text


def _secrets(given: Sequence[str], wanted: dict[str, bool], *, sealed: bool) -> tuple[SecretKey, ...]:
    """Where each variable comes from. given: `NAME` for a Secret whose keys are variables, or `VARIABLE=NAME/KEY`.

    wanted: variable -> whether a call needs it.
    """
    if sealed:
        if given:
            raise UsageError("--secret: a replay calls nobody, so its pods need no secret", hint="leave --secret out")
        return ()
    found: dict[str, SecretKey] = {}
    whole = [text for text in given if "=" not in text]
    if len(whole) > 1:
        raise UsageError(
            f"--secret: {whole[0]!r} and {whole[1]!r} are both given for all variables",
            hint="say which variable comes from where: --secret VARIABLE=NAME/KEY",
        )
    for text in given:
        variable, equals, place = text.partition("=")
        name, _, key = place.partition("/")
        if not equals:
            fits = _SUBDOMAIN.fullmatch(text)
        else:
            fits = _VARIABLE.fullmatch(variable) and _SUBDOMAIN.fullmatch(name) and _KEY.fullmatch(key)
            found[variable] = SecretKey(variable=variable, name=name, key=key)
        if not fits:
            raise UsageError(
                f"--secret: {_without_value(text)} is neither NAME nor VARIABLE=NAME/KEY",
                hint="a Secret of the cluster is named here; its values are nowhere in a manifest",
            )
    for variable, required in wanted.items():
        if variable in found:
            continue
        if whole:
            found[variable] = SecretKey(variable=variable, name=whole[0], key=variable, optional=not required)
        elif required:
            raise UsageError(
                f"real calls need {variable}, and no Secret of the cluster is named that has it",
                hint=f"--secret NAME for a Secret whose keys are variables, or --secret {variable}=NAME/KEY",
            )
    return tuple(found.values())


def _without_value(text: str) -> str:
    """What was given, unless it may be a secret itself."""
    variable, equals, _ = text.partition("=")
    return f"{variable}=…" if equals else "what was given"


def _hidden(options: RunOptions, cells: Sequence[Cell]) -> tuple[str, ...]:
    """Variables of `--env` whose values nobody may see."""
    names = (pair.partition("=")[0] for pair in options.env)
    return tuple(name for name in names if any(is_secret(name, cell.setup) for cell in cells))


def _words(options: RunOptions) -> Iterator[str]:
    """What was asked for on this machine and no file of the project says; suite, setup and stack in any case."""
    for option in OPTIONS:
        if option.group is Group.SHOW or option.name in _OURS:
            continue
        value = getattr(options, option.name)
        explicit = options.sources.get(option.name) in (Source.COMMAND_LINE, Source.ENVIRONMENT)
        if value is None or not (explicit or option.name in ("suite", "setup", "stack_config")):
            continue
        if option.kind is Kind.FLAG:
            yield option.flag if value else f"--no-{option.flag[2:]}"
        elif isinstance(value, tuple):
            yield from _each(option.flag, map(str, value))
        else:
            yield from (option.flag, number(value) if isinstance(value, float) else str(value))


def _each(flag: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (flag, value)


def _as_process(cell: Cell) -> str:
    word = {StackMode.DOCKER: StackMode.SERVER}.get(cell.mode, StackMode.LIBRARY)
    return f"--stack-config {word}:{cell.stack.name}"
