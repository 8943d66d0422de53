"""Which contexts and functions each key of a workflow may name.

https://docs.github.com/en/actions/reference/workflows-and-actions/contexts#context-availability
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A kind of place for expressions. functions: beside those that are known everywhere; all in lower case."""

    contexts: frozenset[str]
    functions: frozenset[str] = frozenset()


_STATUS = frozenset({"always", "cancelled", "success", "failure"})
_HASH = frozenset({"hashfiles"})
_FIRST = frozenset({"github", "inputs", "vars"})
_NEEDS = _FIRST | {"needs"}
_LEG = _NEEDS | {"strategy", "matrix"}
_STEP = _LEG | {"job", "runner", "env", "steps"}

NAME = Key(contexts=_FIRST)
ENV = Key(contexts=_FIRST | {"secrets"})
JOB_IF = Key(contexts=_NEEDS, functions=_STATUS)
JOB_STRATEGY = Key(contexts=_NEEDS)
JOB = Key(contexts=_LEG)
JOB_ENV = Key(contexts=_LEG | {"secrets"})
JOB_DEFAULTS = Key(contexts=_LEG | {"env"})
JOB_OUTPUT = Key(contexts=_STEP | {"secrets"})
STEP = Key(contexts=_STEP | {"secrets"}, functions=_HASH)
STEP_IF = Key(contexts=_STEP, functions=_STATUS | _HASH)
CALL_OUTPUT = Key(contexts=_FIRST | {"jobs"})
# A composite action sees no secret.
ACTION = Key(contexts=_STEP, functions=_HASH)
