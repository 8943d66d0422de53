"""What makes two requests the same: the form that is compared, and its digest.

No host and no headers enter, so that a gateway's prefix, a port or an SDK's version change nothing. The form is what a
recording shows as its request, so a key can be recomputed from the file alone. Settled: a change here re-keys files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl

from . import redact, rules
from .canonical import NotPlainJson, canonical, parse

Form = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The two digests of a call: of its scope and of its request (64 hexadecimal digits each)."""

    scope: str
    request: str

    def file_name(self, ordinal: int = 1) -> str:
        """`<scope[:12]>-<request[:20]>[-n].json`; the first of equal requests has no number."""
        suffix = "" if ordinal == 1 else f"-{ordinal}"
        return f"{self.scope[:12]}-{self.request[:20]}{suffix}.json"


def describe(
    *,
    provider: str,
    method: str,
    path: str,
    query: str,
    content_type: str,
    body: bytes,
    active: Sequence[Mapping[str, Any]] = (),
) -> Form:
    """The form of a request. `path` is below the provider's prefix, `query` as in the URL, `active` the rules."""
    pairs = sorted(redact.query(_fields_of(query))) if query else ()
    form: Form = {
        "provider": provider,
        "method": method.upper(),
        "path": path,
        "query": [list(pair) for pair in pairs],
        "body": _body(content_type, body),
    }
    return rules.apply(form, active) if active else form


def digest(form: Form) -> str:
    """SHA-256 of the canonical JSON of a form, in hexadecimal."""
    return sha256(canonical(form).encode("ascii")).hexdigest()


def model_of(form: Form) -> str | None:
    """The model that a request names in its body or its path, where it does."""
    body = form["body"]
    value = body.get("json") if isinstance(body, dict) else None
    if isinstance(value, dict) and isinstance(value.get("model"), str):
        return str(value["model"])
    named = re.search(r"/(?:models?|deployments)/([^/:?]+)", form["path"])
    return named.group(1) if named else None


def _fields_of(text: str) -> list[tuple[str, str]]:
    # Bytes that are no UTF-8 stay apart from each other, where "replace" would make them one.
    return parse_qsl(text, keep_blank_values=True, errors="surrogateescape")


def _body(content_type: str, body: bytes) -> dict[str, Any] | None:
    if not body:
        return None
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    if "json" in kind or (not kind and body[:1] in b"{["):
        try:
            return {"json": parse(body, redact.read_masked)}
        except NotPlainJson:
            return {"sha256": sha256(body).hexdigest(), "bytes": len(body), "because": "not plain JSON"}
    if kind == "application/x-www-form-urlencoded":
        return {"form": [list(pair) for pair in redact.pairs(_fields_of(body.decode("utf-8", "surrogateescape")))]}
    if kind.startswith("multipart/"):
        from .multipart import read_parts  # the e-mail parser below it costs more than all the rest of this package

        parts = read_parts(parameters, body)
        if parts is not None:
            return {"multipart": [_part(part) for part in parts]}
    return {"sha256": sha256(body).hexdigest(), "bytes": len(body)}


def _part(part: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": part.name, "filename": part.filename, "content_type": part.content_type}
    if part.filename is None and len(part.content) <= 4096:
        try:
            text = part.content.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return {**shown, "text": redact.MASK if redact.is_secret_field(part.name or "") else text}
    return {**shown, "sha256": sha256(part.content).hexdigest(), "bytes": len(part.content)}
