"""The checks, in the order in which they are told. Each is a module: `look` reads, and `judge` does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from stackproof.doctor.finding import Finding
from stackproof.doctor.place import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check. asks: what it is about, for a person. deadline: seconds that it may take. in_project: only there."""

    name: str
    asks: str
    deadline: float = 10.0
    in_project: bool = False

    def run(self, place: Place) -> tuple[Finding, ...]:
        """What it finds."""
        module = import_module(f"stackproof.doctor.of_{self.name}")
        look: Callable[[Place], Any] = module.look
        judge: Callable[[Any], Iterable[Finding]] = module.judge
        return tuple(judge(look(place)))


CHECKS = (
    Check(name="python", asks="the Python that runs this, and its environment"),
    Check(name="install", asks="where Stackproof is installed, and how often"),
    Check(name="machine", asks="system, disk, temporary folder, clock"),
    Check(name="variables", asks="variables of Stackproof and of Python that are set"),
    Check(name="proxies", asks="proxies, certificates and package indexes that are set"),
    Check(name="sealing", asks="whether a replay gets a network of its own"),
    Check(name="docker", asks="the Docker engine, base images, what runs left on it", deadline=8.0),
    Check(name="project", asks="stacks, setups, suites, and what a plain run would do"),
    Check(name="pytest", asks="pytest, its plugins, and what its configuration adds", in_project=True),
    Check(name="conflicts", asks="other tools that answer HTTP calls in tests", in_project=True),
    Check(name="libraries", asks="HTTP libraries that are recorded, and their versions"),
    Check(name="bypass", asks="clients that the recorder cannot see", in_project=True),
    Check(name="keys", asks="keys of the project's setups, by name only", in_project=True),
    Check(name="recordings", asks="recordings: damaged, ignored by Git, not committed", in_project=True),
    Check(name="runs", asks="runs that were killed, and what they left", in_project=True),
    Check(name="release", asks="policy, expected tests, and whether CI runs anything", in_project=True),
)
BY_NAME = {check.name: check for check in CHECKS}
