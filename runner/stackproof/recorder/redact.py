"""What must never reach a file: fields of known names, values of known secrets, and texts shaped like keys."""

from __future__ import annotations

import json
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote_plus

from .canonical import Pairs, reader, unique

MASK = "***"
_NESTED = (dict, list)
_SAYING = (str, dict, list)  # what a secret can be in
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
        "retry-after-ms", "www-authenticate", "x-amzn-errortype", "x-should-retry",
    }
)  # fmt: skip

_PLACEHOLDERS = frozenset({"changeme", "none", "empty", "dummy", "placeholder", "stackproof-replay"})
_MINIMUM = 8
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}")
_TO_STANDARD = str.maketrans("-_", "+/")
# A text that every key of a shape holds stands before its pattern: most texts hold none, and are done with at once.
# Each reads a text once, also one that was made against it: what a key must have further on is no look-ahead, which
# would read on from every "sk-" of "sk-sk-sk-…", but a group, and a match without it is passed over as a whole.
_SHAPES = tuple(
    (name, hint, re.compile(pattern))
    for name, hint, pattern in (
        # Every real key has a digit; class names and slugs ("sk-estimator-doc-link-fitted") mostly have none.
        ("an OpenAI or Anthropic key", "sk-", r"\bsk-(?=[A-Za-z0-9_-]{20})[A-Za-z_-]*+([0-9])?[A-Za-z0-9_-]*+"),
        ("a Google key", "AIza", r"\bAIza[0-9A-Za-z_-]{35}"),
        ("a Tavily key", "tvly-", r"\btvly-[A-Za-z0-9_-]{16,}+"),
        ("a Groq key", "gsk_", r"\bgsk_[A-Za-z0-9]{20,}+"),
        ("a Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}+"),
        ("an AWS key id", "A", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        # Here a look-ahead may stand: the space before it lets no two of them read the same.
        ("a bearer token", "earer ", r"\b[Bb]earer (?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}+"),
        ("a JSON web token", "eyJ", r"\beyJ[A-Za-z0-9_-]{10,}+(\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+)?"),
        ("a private key", "-----BEGIN ", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    )
)


def query(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The query with values of secret names masked."""
    return [(key, MASK if key.lower() in _QUERY_NAMES else value) for key, value in pairs]


def masked(pairs: Pairs) -> dict[str, Any]:
    """An object whose strings under secret names are masked, for a reader that masks while it reads."""
    value = dict(pairs)
    if len(value) != len(pairs):
        unique(pairs)  # says what is wrong; it is asked only then, as this is on the way of every call
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


def response(value: Any) -> Any:
    """A recorded JSON answer with strings under secret names masked; the caller got them, the file does not."""
    if isinstance(value, dict):
        return masked([(key, response(item) if isinstance(item, _NESTED) else item) for key, item in value.items()])
    # An array of numbers is walked without a call for each of them.
    return (
        [response(item) if isinstance(item, _NESTED) else item for item in value] if isinstance(value, list) else value
    )


def known_values(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Variable name → secret value, for those long enough and real enough to be searched for."""
    found = {name: environ.get(name, "").strip() for name in names}
    return {
        name: value for name, value in found.items() if len(value) >= _MINIMUM and value.lower() not in _PLACEHOLDERS
    }


def find(recording: Any, secrets: Mapping[str, str]) -> tuple[str, str] | None:
    """Search a finished recording; (what was found, JSON path) of the first hit, never the secret itself."""
    needles = _needles(secrets)
    texts: set[str] = set()
    _gather(recording, texts)
    # As one first: a line feed belongs to no shape and no base64, so the whole holds what one of them holds.
    if _in("\n".join(texts), needles) is None:
        return None
    for path, text in _strings(recording, ""):
        what = _in(text, needles)
        if what is not None:
            return what, path
    return None


def conceal(value: Any, secrets: Mapping[str, str]) -> Any:
    """The value with everything that `find` finds taken out, for texts about a call that was not recorded."""
    return _conceal(value, _needles(secrets))


def _conceal(value: Any, needles: Needles) -> Any:
    if isinstance(value, dict):
        return {_conceal(key, needles): _conceal(item, needles) for key, item in value.items()}
    if isinstance(value, list):
        return [_conceal(item, needles) for item in value]
    if not isinstance(value, str) or _in(value, needles) is None:
        return value
    for _, form in needles:
        value = value.replace(form, MASK)
    value = without_keys(value)
    return value if _in(value, needles) is None else MASK


def without_keys(text: str) -> str:
    """The text with what is shaped like a key masked, where it stands plain; nothing around it is touched."""
    for _, hint, shape in _SHAPES:
        if hint in text:
            text = shape.sub(lambda found: MASK if _is_key(found) else found[0], text)
    return text


Needles = list[tuple[str, str]]


def _needles(secrets: Mapping[str, str]) -> Needles:
    return [(f"the value of {name}", form) for name, value in secrets.items() for form in _forms(value)]


def _in(text: str, needles: Needles) -> str | None:
    found = _in_plain(text, needles)
    if found is None and "%" in text:
        found = _in_plain(unquote_plus(text), needles)
    if found is None and _in_plain("\n".join(_decoded(text)), needles):
        found = "an encoded secret"
    return found


def _in_plain(text: str, needles: Needles) -> str | None:
    whats = (what for what, form in needles if form in text)
    return next(whats, None) or next(
        (what for what, hint, shape in _SHAPES if hint in text and any(map(_is_key, shape.finditer(text)))), None
    )


def _is_key(found: re.Match[str]) -> bool:
    return not found.re.groups or found.lastindex is not None


def _forms(value: str) -> Iterator[str]:
    # As it is, in a URL, in a JSON text that is itself a string, and in base64.
    yield from dict.fromkeys((value, quote(value, safe=""), json.dumps(value)[1:-1], *_in_base64(value)))


def _in_base64(value: str) -> Iterator[str]:
    """Base64 of the value inside a longer text has one of three alignments; the ends are cut where they would vary."""
    data = value.encode("utf-8", "surrogateescape")
    for shift in range(3):
        encoded = b2a_base64(b"\0" * shift + data, newline=False).decode().rstrip("=")
        start = -(-shift * 8 // 6)
        core = encoded[start : len(encoded) - (1 if (len(data) + shift) % 3 else 0)]
        if len(core) >= _MINIMUM:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _decoded(text: str) -> Iterator[str]:
    """What each stretch of base64 in the text says: a body, a data URL, a token in an argument."""
    for run in _BASE64.findall(text):
        whole = run[:-1] if len(run) % 4 == 1 else run
        padded = whole.translate(_TO_STANDARD) + "=" * (-len(whole) % 4)
        yield a2b_base64(padded).decode("utf-8", "replace")


def _gather(value: Any, into: set[str]) -> None:
    if isinstance(value, str):
        into.add(value)
    elif isinstance(value, dict):
        into.update(value)
        for item in value.values():
            if isinstance(item, _SAYING):
                _gather(item, into)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, _SAYING):
                _gather(item, into)


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
