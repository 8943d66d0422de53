"""Where a stack's provider calls are recorded, as its stack.yaml says: `recorder:` and `edge:`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stackproof.catalog.yaml_source import Section, plain
from stackproof.suggest import did_you_mean

_METHODS = ("GET", "POST", "PUT")


class RecorderPlace(StrEnum):
    """process: inside the stack's own, which has to be Python. edge: at a server that stands in for the providers."""

    PROCESS = "process"
    EDGE = "edge"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeSpec:
    """A request to the stack that makes it call a provider, any.

    path: where it goes. method: GET, POST or PUT. body: JSON; {text_model} in a text is the setup's.
    """

    path: str
    method: str = "POST"
    body: object = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeSpec:
    """What a stack at the edge needs beside the setup's variables.

    variables: names of variables that get a provider's URL at the edge -> the provider's name; a text behind the name
    is appended (`OPENAI_BASE_URL: openai/v1`). probe: how to find out whether the stack hands test ids on.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    probe: ProbeSpec | None = None


def recorder_place(section: Section) -> RecorderPlace:
    """`recorder:` of a stack.yaml."""
    word = section.text("recorder") or RecorderPlace.PROCESS.value
    known = [place.value for place in RecorderPlace]
    if word not in known:
        section.fail(
            f"unknown recorder {word!r} in {section.what}{did_you_mean(word, known)}",
            key="recorder",
            hint=f"known: {', '.join(known)}",
        )
    return RecorderPlace(word)


def edge_spec(section: Section, place: RecorderPlace) -> EdgeSpec:
    """`edge:` of a stack.yaml; UsageError where the rest of the file does not go with an edge."""
    inner = section.section("edge", f"'edge' of {section.what}")
    if place is RecorderPlace.PROCESS:
        if inner is not None:
            section.fail(f"{section.what} has 'edge' and no 'recorder: edge'", key="edge")
        return EdgeSpec()
    for mode in section.texts("modes"):
        if mode not in ("server", "docker"):
            section.fail(f"{section.what} is recorded at the edge, which mode {mode!r} has no use for", key="modes")
    for key in ("under_exec", "id_hook"):
        if section.data.get(key):
            section.fail(f"{key!r} of {section.what} needs the recorder inside, and 'recorder' is edge", key=key)
    if inner is None:
        return EdgeSpec()
    inner.only("variables", "probe")
    return EdgeSpec(variables=inner.text_map("variables"), probe=_probe(inner))


def _probe(section: Section) -> ProbeSpec | None:
    inner = section.section("probe", f"'probe' in {section.what}")
    if inner is None:
        return None
    inner.only("path", "method", "body")
    path, method = inner.required_text("path"), inner.text("method") or "POST"
    if not path.startswith("/"):
        inner.fail(f"'path' in {inner.what} must start with '/'", key="path")
    if method not in _METHODS:
        inner.fail(f"'method' in {inner.what} must be one of {', '.join(_METHODS)}", key="method")
    return ProbeSpec(path=path, method=method, body=plain(inner.data.get("body")))
