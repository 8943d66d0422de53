"""Finds out, before any test, how the run's ids come from the tests through the stack to the edge."""

from __future__ import annotations

import http.client
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from stackproof.catalog.templates import filled
from stackproof.edge import probes
from stackproof.edge.announced import announcer
from stackproof.edge.ownership import PROBE, How
from stackproof.evidence import jsonfile
from stackproof.recorder import scope as scopes
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from stackproof.catalog.edge import ProbeSpec

_TIMEOUT = 15.0


class Ids(StrEnum):
    """How it becomes known whose call a provider call is."""

    FORWARDED = "forwarded"
    ANNOUNCED = "announced"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a probe found. why: in words, for the person who waits."""

    ids: Ids
    why: str

    @property
    def serial(self) -> bool:
        """Whether two tests at once could not be told apart."""
        return self.ids is Ids.ANNOUNCED

    def __str__(self) -> str:
        """As the run prints it."""
        if self.ids is Ids.FORWARDED:
            return f"ids: forwarded by the stack ({self.why})"
        return f"ids: announced, so tests run one after the other ({self.why})"


def find(
    *,
    base_url: str,
    spec: ProbeSpec | None,
    header: str,
    cell_dir: Path,
    values: Mapping[str, str],
    check: Callable[[], None],
    key: str | None = None,
) -> Found:
    """Send the probe of a stack.yaml to the stack. values: what its templates stand for. check: raises to end it. key:
    the one that the stack wants of its callers.
    """
    if spec is None:
        return Found(ids=Ids.ANNOUNCED, why="its stack.yaml has no probe")
    check()
    name = PROBE + secrets.token_hex(6)
    owner = Scope(name=name, test_id=name)
    announce = announcer(str(cell_dir))
    announce(owner)
    try:
        more = {} if key is None else {"Authorization": f"Bearer {key}"}
        answer = _send(base_url, spec, owner, header=header, cell_dir=cell_dir, values=values, more=more)
    finally:
        announce(None)
    met = [
        str(line["how"])
        for line in jsonfile.lines(cell_dir / probes.NAME)
        if line is not None and line["scope"] == name
    ]
    if not met:
        return Found(ids=Ids.ANNOUNCED, why=f"{spec.method} {spec.path} called no provider and {answer}")
    if all(how == How.HEADER for how in met):
        return Found(ids=Ids.FORWARDED, why=header)
    if all(how in (How.HEADER, How.BAGGAGE) for how in met):
        return Found(ids=Ids.FORWARDED, why="baggage")
    if any(how != How.ANNOUNCED for how in met):
        return Found(ids=Ids.ANNOUNCED, why="only some of its calls carry the id")
    return Found(ids=Ids.ANNOUNCED, why=f"its calls carry neither {header} nor baggage")


def _send(
    base_url: str,
    spec: ProbeSpec,
    owner: Scope,
    *,
    header: str,
    cell_dir: Path,
    values: Mapping[str, str],
    more: Mapping[str, str],
) -> str:
    parts = urlsplit(base_url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
    headers = {
        header: scopes.to_header(owner, None, str(cell_dir)),
        "baggage": f"stackproof.scope={quote(owner.name, safe='')}",
        "Content-Type": "application/json",
        "Connection": "close",
        **more,
    }
    body = None if spec.body is None else json.dumps(_filled_in(spec.body, values)).encode()
    try:
        connection.request(spec.method, parts.path.rstrip("/") + spec.path, body=body, headers=headers)
        response = connection.getresponse()
        response.read()
    except TimeoutError:
        return f"was not answered within {_TIMEOUT:g} s"
    except (http.client.HTTPException, OSError) as error:
        return f"was not answered ({type(error).__name__})"
    else:
        return f"was answered {response.status}"
    finally:
        connection.close()


def _filled_in(value: Any, values: Mapping[str, str]) -> Any:
    match value:
        case str():
            return filled(value, values)
        case dict():
            return {key: _filled_in(item, values) for key, item in value.items()}
        case list():
            return [_filled_in(item, values) for item in value]
        case _:
            return value
