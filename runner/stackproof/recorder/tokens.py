"""What a token endpoint answers in replay: a token that SDKs accept and no provider would."""

from __future__ import annotations

import json
from binascii import b2a_base64

_WORD = "stackproof-replay"
_NEVER = 4102444800  # seconds since the epoch: the year 2100


def _part(value: dict[str, object]) -> str:
    encoded = b2a_base64(json.dumps(value).encode(), newline=False).decode()
    return encoded.rstrip("=").replace("+", "-").replace("/", "_")


def _token() -> str:
    # IBM's SDKs read the expiry out of the token itself, so it has the form of a JSON web token (RFC 7519), unsigned.
    return ".".join((_part({"alg": "none", "typ": "JWT"}), _part({"iss": _WORD, "iat": 0, "exp": _NEVER}), _WORD))


# Fields of OAuth 2.0 (RFC 6749, 5.1), and IBM's `expiration`.
PLACEHOLDER = json.dumps(
    {
        "access_token": _token(),
        "refresh_token": _WORD,
        "token_type": "Bearer",
        "expires_in": 3600,
        "expiration": _NEVER,
    },
    separators=(",", ":"),
).encode()
