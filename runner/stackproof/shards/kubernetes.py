"""Shards as an Indexed Job of Kubernetes, in YAML: one pod for each, and its evidence on a claim.

The objects are those of https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/ and
https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/network-policy-v1/
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import jinja2
import yaml

_TEMPLATE = Path(__file__).with_name("kubernetes_job.yaml.j2")
_SCRIPT = Path(__file__).with_name("kubernetes_pod.sh")
USER = 10001
"""Who runs in the pod, user and group: nobody that a node has."""
PROJECT, RESULTS = "/project", "/results"
"""Where the project is in the image, and the claim in the pod."""
OF_THE_POD = ("EVIDENCE", "JOB_COMPLETION_INDEX", "POD_NAME", "STACKPROOF_SHARDS")
"""Variables that say which pod this is, and where it stores what it has done."""
MOST_SHARDS = 100_000
"""More indexes than this Kubernetes takes only with further limits."""

USUAL_MINUTES = 30

_HOME = "/tmp"  # noqa: S108 - the pod's own
_PYTEST = "PYTEST_ADDOPTS"
# A DNS-1123 label has 63 characters; a pod's name goes on with an index of up to 5 digits and 5 random characters.
_LONGEST = 50
_LABEL = 63
_IMAGES = 600
# What of the indexes may fail for good before the rest is given up.
_FAILED_SHARE = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretKey:
    """Where a variable's value is kept. optional: the pod starts without it, too."""

    variable: str
    name: str
    key: str
    optional: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Resources:
    """What each pod asks for and may use at most, as Kubernetes writes quantities."""

    cpu: str = "1"
    memory: str = "2Gi"
    disk: str = "2Gi"


@dataclass(frozen=True, kw_only=True, slots=True)
class JobOrder:
    """What the manifest is made of; nothing in it is secret.

    title: one line for people. command: words of `stackproof`, without `--shard`. image: by digest. claim: the
    PersistentVolumeClaim that evidence goes to. parallelism: pods at a time, None for all. minutes: that a shard may
    take. retries: of each shard, after failures that say nothing about its tests. sealed: no call has to go out. needs:
    what has to be in the image.
    """

    title: str
    command: tuple[str, ...]
    shards: int
    image: str
    claim: str
    sealed: bool
    namespace: str | None = None
    secrets: tuple[SecretKey, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    parallelism: int | None = None
    resources: Resources = field(default_factory=Resources)
    minutes: int = USUAL_MINUTES
    retries: int = 2
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the Job, fit for DNS, and another one for whatever is ordered otherwise or written otherwise."""
        state = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode())
        state.update(_TEMPLATE.read_bytes() + _SCRIPT.read_bytes())
        digest = state.hexdigest()[:8]
        words = re.sub(r"[^a-z0-9]+", "-", f"stackproof-{self.title}".lower())
        return f"{words[: _LONGEST - 9].strip('-')}-{digest}"

    @property
    def at_once(self) -> int:
        """Pods at a time."""
        return min(self.shards, self.parallelism or self.shards)

    @property
    def evidence(self) -> str:
        """The folder on the claim, as a pod sees it: `<folder>/<index>/<run>` is a run folder."""
        return f"{RESULTS}/{self.name}"


def manifest(order: JobOrder) -> str:
    """The YAML documents, for `kubectl apply -f -`; the same text for the same order."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATE.parent),
        autoescape=False,  # noqa: S701 - YAML: every value goes through `quoted`
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = _quoted
    seconds = order.minutes * 60
    waves = -(-order.shards // order.at_once)
    return environment.get_template(_TEMPLATE.name).render(
        title=" ".join(order.title.split()),
        name=order.name,
        namespace=order.namespace,
        labels=_labels(order),
        shown=shlex.join(("stackproof", *order.command)),
        command=[_literal(word) for word in ("python", "-m", "stackproof", *_sharded(order.command))],
        script=_SCRIPT.read_text(encoding="utf-8").rstrip(),
        shards=order.shards,
        parallelism=order.at_once,
        retries=order.retries,
        most_failed=max(1, order.shards // _FAILED_SHARE),
        shard_seconds=seconds,
        job_seconds=waves * (order.retries + 1) * seconds + _IMAGES,
        user=USER,
        image=order.image,
        environment=[(name, _literal(value)) for name, value in sorted(_environment(order).items())],
        secrets=sorted(order.secrets, key=lambda secret: secret.variable),
        cpu=order.resources.cpu,
        memory=order.resources.memory,
        disk=order.resources.disk,
        claim=order.claim,
        evidence=order.evidence,
        project=PROJECT,
        results=RESULTS,
        sealed=order.sealed,
        needs=order.needs,
    )


def _sharded(command: tuple[str, ...]) -> tuple[str, ...]:
    """With the words that choose the shard, in front of what is pytest's."""
    here = command.index("--") if "--" in command else len(command)
    return (*command[:here], "--shard", "auto", *command[here:])


def _environment(order: JobOrder) -> dict[str, str]:
    """What is asked for, and what programs need that may write to a few folders only."""
    words = f"-o cache_dir={_HOME}/pytest-cache {order.environment.get(_PYTEST, '')}".rstrip()
    return {"HOME": _HOME, **order.environment, _PYTEST: words}


def _labels(order: JobOrder) -> list[tuple[str, str]]:
    what = re.sub(r"[^A-Za-z0-9_.-]+", "-", order.title)[:_LABEL].strip("-_.")
    return [
        ("app.kubernetes.io/name", "stackproof"),
        ("app.kubernetes.io/component", "shards"),
        ("stackproof-job", order.name),
        ("stackproof-what", what),
    ]


def _literal(text: str) -> str:
    # Kubernetes replaces $(NAME) in arguments and values, and takes $$ for one $.
    return text.replace("$", "$$")


def _quoted(text: str) -> str:
    """A scalar of one line that is that text, whatever is in it."""
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf")).rstrip("\n")
