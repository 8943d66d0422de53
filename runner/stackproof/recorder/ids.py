"""Ids that the stack makes, the same in every run: a function of whose id it is and of its number there.

A stack that makes ids at one place can let somebody else make them: a function that is called once with an override
`(kind, generate) -> id` (the shape of OGX's `ogx.core.id_generation.set_id_override`) and returns the override that it
had before. Its import path is `id_hook` in stack.yaml.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from types import ModuleType
from typing import Any

from . import hooks, scope
from .brain import Brain
from .ledger import Ledger
from .scope import Scope

Generate = Callable[[], str]
Override = Callable[[str, Generate], str]

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*[-_]")
_UUID = re.compile(r"(?P<prefix>.*?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class IdHookError(AttributeError):
    """The module that `id_hook` names has no such function."""


def new_id(ledger: Ledger, owner: Scope, kind: str, generate: Generate) -> str:
    """The next id of this kind in the scope.

    Its prefix and its form (a UUID, or 32 hexadecimal digits) are those of what `generate` makes; the last 12 digits
    are the number in the scope, from 1. The attempt counts anew and is no part of the id. The worker is a part, for
    scopes that several workers set up: they may share one server, where an id cannot stand for two things.
    """
    # The kind is no request: digested, it cannot be one of them by accident.
    number = ledger.claim(owner, sha256(f"id {kind}".encode("utf-8", "backslashreplace")).hexdigest())
    return numbered(owner, kind, number, (generate(), generate()))


def numbered(owner: Scope, kind: str, number: int, samples: Sequence[str]) -> str:
    """The id with this number, of the form that `samples`, one or more ids that the stack has made by itself, have."""
    whose = json.dumps([owner.name, owner.worker, kind])
    digits = sha256(whose.encode()).hexdigest()
    uuid = _UUID.match(samples[0])
    if uuid is not None:
        # Version 4 and its variant, as far as anybody who checks can tell.
        return f"{uuid['prefix']}{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{number:012}"
    prefixes = {found[0] if (found := _PREFIX.match(sample)) else "" for sample in samples}
    # Where they differ, what looks like a prefix is random too.
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    return f"{prefix}{digits[:20]}{number:012}"


def hand_over(path: str, active: Callable[[], Brain | None]) -> Callable[[], None]:
    """Give the override to the function at `path` (`module:function`) when its module is imported; returns the undo.

    Ids that belong to no scope, and those made while no recorder is in force, are the stack's own.
    """
    module_name, _, attribute = path.partition(":")
    given: list[tuple[Callable[[Any], Any], Any]] = []

    def override(kind: str, generate: Generate) -> str:
        brain, owner = active(), scope.current()
        if brain is None or owner is None or owner is scope.UNKNOWN:
            return generate()
        return new_id(brain.ledger, owner, kind, generate)

    def give(module: ModuleType) -> None:
        function = getattr(module, attribute, None)
        if not callable(function):
            raise IdHookError(f"id_hook of the stack is {path}, and {module_name} has no function {attribute}")
        given.append((function, function(override)))

    stop = hooks.on_import({module_name: give})

    def undo() -> None:
        stop()
        while given:
            function, previous = given.pop()
            function(previous)

    return undo
