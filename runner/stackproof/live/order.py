"""What a live smoke is asked to do, as the command and a lane of CI put it."""

from __future__ import annotations

from dataclasses import dataclass, field

from stackproof.evidence import live

SUITE = live.SUITE


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a smoke may cost at most, over all its setups and with what is asked beforehand: each at least 1.

    max_requests: requests to providers, repetitions among them. max_tokens: tokens in and out, as the answers tell.
    max_seconds: from the first test of a setup on.
    """

    max_requests: int = 60
    max_tokens: int = 60_000
    max_seconds: float = 900.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SmokeOrder:
    """A live smoke. setups: by name; none: those of the providers that STACKPROOF_LIVE_MODEL names.

    budget: what it may cost at most. suite: whose tests make the calls. stack_config: as of a run; None: what the
    project has set, else `library:reference`. require: a call that could not be made fails it. strict: drift fails
    it. provider_service: is started in the place of the providers, and counts as their variable. timeout: seconds for
    a single test. pytest_args: what follows `--`.
    """

    setups: tuple[str, ...] = ()
    suite: str = SUITE
    stack_config: str | None = None
    require: bool = False
    budget: Limits = field(default_factory=Limits)
    strict: bool = False
    provider_service: str | None = None
    timeout: float | None = None
    as_json: bool = False
    pytest_args: tuple[str, ...] = ()
