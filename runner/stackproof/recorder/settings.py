"""What the recorder must know, handed to every process as one JSON environment variable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .budget import Limits
from .mode import Mode

VARIABLE = "STACKPROOF_RECORDER"


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """Who is called: every URL below one of `prefixes` is a call to `name`.

    `variable` names the environment variable that the URL came from; a recording is written with it in place of the
    host, so that no port and no tenant's host gets into a file. The longest matching prefix wins.
    """

    name: str
    variable: str | None = None
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that the recorder is told. Secrets appear by the *name* of their variable only.

    beside: host names and addresses of what the run itself has started, which are nobody else's. faults: what is put
    into the answers of every test (`inject.fault`). max_requests, max_tokens, max_seconds: what real calls may spend.
    """

    mode: Mode
    recordings: str
    setup: str
    run_dir: str
    run_id: str
    project: str = ""
    suite: str | None = None
    integration_root: str = "tests/integration"
    providers: tuple[Provider, ...] = ()
    secrets: tuple[str, ...] = ()
    rules: tuple[Mapping[str, Any], ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    header: str = "X-Provider-Data"
    stack_url: str | None = None
    stack_type: str = "library_client"
    id_hook: str | None = None
    record_errors: bool = False
    pace: float = 0.0
    chunk_fuzz: str | None = None
    strict: bool = False
    command: str = ""
    debug: bool = False
    beside: tuple[str, ...] = ()
    faults: tuple[Mapping[str, Any], ...] = ()
    max_requests: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None

    @property
    def limits(self) -> Limits:
        """What real calls may spend."""
        return Limits(requests=self.max_requests, tokens=self.max_tokens, seconds=self.max_seconds)

    def to_json(self) -> str:
        """One line of JSON for the environment of a child."""
        return json.dumps({**asdict(self), "mode": self.mode.value}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read what `to_json` wrote; ValueError or TypeError when it is something else."""
        data = json.loads(text)
        data["mode"] = Mode(data["mode"])
        data["providers"] = tuple(
            Provider(name=item["name"], variable=item["variable"], prefixes=tuple(item["prefixes"]))
            for item in data["providers"]
        )
        data["secrets"] = tuple(data["secrets"])
        data["beside"] = tuple(data.get("beside", ()))
        data["rules"] = tuple(data["rules"])
        data["faults"] = tuple(data.get("faults", ()))
        return cls(**data)
