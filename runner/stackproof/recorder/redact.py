"""What must never reach a file: fields of known names, values of known secrets, and texts shaped like keys."""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from .canonical import Pairs, reader, unique

MASK = "***"
# Settled: a name added here re-keys the recordings that contain it.
_FIELD_NAMES = frozenset(
    {
        "access_token", "api-key", "api_key", "apikey", "api_token", "auth_token", "authorization", "client_secret",
        "id_token", "password", "refresh_token", "secret", "secret_access_key", "secret_key", "session_token",
        "subscription-key", "x-api-key", "x-amz-credential", "x-amz-security-token", "x-amz-signature",
    }
)  # fmt: skip
_QUERY_NAMES = _FIELD_NAMES | {"key", "sig", "signature", "token"}

# Kept from a response: what a client acts on, and nothing that differs from call to call.
RESPONSE_HEADERS = frozenset(
    {
        "allow", "content-disposition", "content-encoding", "content-type", "location", "retry-after",
        "retry-after-ms", "www-authenticate", "x-should-retry",
    }
)  # fmt: skip

_PLACEHOLDERS = frozenset({"changeme", "none", "empty", "dummy", "placeholder", "stackproof-replay"})
_MINIMUM = 8
_SHAPES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("an OpenAI or Anthropic key", r"\bsk-[A-Za-z0-9_-]{20,}"),
        ("a Google key", r"\bAIza[0-9A-Za-z_-]{35}"),
        ("a Tavily key", r"\btvly-[A-Za-z0-9_-]{16,}"),
        ("a Groq key", r"\bgsk_[A-Za-z0-9]{20,}"),
        ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
        ("an AWS key id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("a bearer token", r"\b[Bb]earer [A-Za-z0-9._~+/-]{20,}"),
        ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
        ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    )
)


def query(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The query with values of secret names masked."""
    return [(key, MASK if key.lower() in _QUERY_NAMES else value) for key, value in pairs]


def masked(pairs: Pairs) -> dict[str, Any]:
    """An object whose strings under secret names are masked, for a reader that masks while it reads."""
    value = unique(pairs)
    if not _FIELD_NAMES.isdisjoint(map(str.lower, value)):
        for key, item in value.items():
            if isinstance(item, str) and key.lower() in _FIELD_NAMES:
                value[key] = MASK
    return value


read_masked = reader(masked)


def pairs(items: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Form fields with values of secret names masked."""
    return [(key, MASK if key.lower() in _FIELD_NAMES else value) for key, value in items]


def is_secret_field(name: str) -> bool:
    """Whether a field of this name is masked."""
    return name.lower() in _FIELD_NAMES


def known_values(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Variable name → secret value, for those long enough and real enough to be searched for."""
    found = {name: environ.get(name, "") for name in names}
    return {
        name: value for name, value in found.items() if len(value) >= _MINIMUM and value.lower() not in _PLACEHOLDERS
    }


def find(recording: Any, secrets: Mapping[str, str]) -> tuple[str, str] | None:
    """Search a finished recording; (what was found, JSON path) of the first hit, never the secret itself."""
    needles = [(f"the value of {name}", form) for name, value in secrets.items() for form in _forms(value)]
    for path, text in _strings(recording, ""):
        for what, needle in needles:
            if needle in text:
                return what, path
        for what, shape in _SHAPES:
            if shape.search(text):
                return what, path
        decoded = _decoded(text)
        if decoded and any(needle in decoded for _, needle in needles):
            return "an encoded secret", path
    return None


def _forms(value: str) -> Iterator[str]:
    yield value
    if quote(value, safe="") != value:
        yield quote(value, safe="")
    # Base64 of a secret inside a longer text has one of three alignments; the ends are cut where they would vary.
    data = value.encode()
    for shift in range(3):
        encoded = b2a_base64(b"\0" * shift + data, newline=False).decode().rstrip("=")
        start = -(-shift * 8 // 6)
        core = encoded[start : len(encoded) - (1 if (len(data) + shift) % 3 else 0)]
        if len(core) >= _MINIMUM:
            yield core


def _decoded(text: str) -> str | None:
    if len(text) < _MINIMUM or len(text) % 4 or not text.isascii():
        return None
    try:
        return a2b_base64(text, strict_mode=True).decode("utf-8", "replace")
    except Base64Error:
        return None


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _strings(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, f"{path}[{index}]")
