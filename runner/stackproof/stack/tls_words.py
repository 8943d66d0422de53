"""Why an engine was not reached over TLS: what is the matter with whose certificate, and what to do about it."""

from __future__ import annotations

import ssl
from pathlib import Path

_ELSEWHERE = "DOCKER_CERT_PATH or the context names the folder"
# OpenSSL's numbers of what it found wrong with a certificate, X509_V_ERR_….
_NOT_YET, _EXPIRED, _OTHER_NAME, _OTHER_ADDRESS = 9, 10, 62, 64
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")
_REFUSED = ("BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED", "UNSUPPORTED_CERTIFICATE")
PLAIN_TO_TLS = "HTTP request to an HTTPS server"
"""What Docker's engine answers to whoever does not speak TLS with it."""


def told(error: ssl.SSLError, folder: Path) -> tuple[str, str]:
    """What is wrong and what to do next. folder: that of this machine's certificates."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _unverified(error, folder)
    reason = (error.reason or "").upper()
    own = folder / "cert.pem"
    if "CERTIFICATE_REQUIRED" in reason or (_is_refusal(reason) and not own.is_file()):
        return "it wants a certificate of this machine", f"put cert.pem and key.pem into {folder}; {_ELSEWHERE}"
    if _is_refusal(reason):
        why = "it may have expired, or be of an authority that the engine does not know"
        return f"it refuses this machine's certificate, {own}", f"{why}; {_ELSEWHERE}"
    known = {
        _NO_TLS: ("it speaks no TLS", "leave DOCKER_TLS_VERIFY out, or the certificates of the context"),
        ("KEY_VALUES_MISMATCH",): (
            f"key.pem in {folder} is not the key of cert.pem there",
            "have the two that were made together",
        ),
        ("PEM", "NO_CERTIFICATE"): (f"a file in {folder} is no certificate or key in PEM form", _ELSEWHERE),
    }
    other = (
        f"TLS failed: {(error.reason or str(error)).lower().replace('_', ' ')}",
        "the engine's own log may say more",
    )
    return next((told for words, told in known.items() if any(word in reason for word in words)), other)


def _is_refusal(reason: str) -> bool:
    return any(reason.endswith(f"ALERT_{word}") for word in _REFUSED)


def _unverified(error: ssl.SSLCertVerificationError, folder: Path) -> tuple[str, str]:
    renew = "have a new one made for the engine, unless the clock of this machine is wrong"
    match error.verify_code:
        case code if code == _EXPIRED:
            return "its certificate has expired", renew
        case code if code == _NOT_YET:
            return "its certificate is not valid yet", renew
        case code if code in (_OTHER_NAME, _OTHER_ADDRESS):
            return (
                f"its certificate is for another name: {error.verify_message.rstrip('.')}",
                "name the engine as its certificate does, or have one made for this name (subjectAltName)",
            )
        case _:
            return (
                f"its certificate is of no authority in {folder / 'ca.pem'} ({error.verify_message})",
                f"have the certificate of the engine's authority there; {_ELSEWHERE}",
            )


def incomplete(folder: Path, *, verify: bool) -> tuple[str, str] | None:
    """What a folder of certificates lacks, before anything is sent; None where it will do."""
    needed = ["ca.pem"] if verify else []
    there = [name for name in ("cert.pem", "key.pem") if (folder / name).exists()]
    needed += ["cert.pem", "key.pem"] if there else []
    for name in needed:
        try:
            (folder / name).read_bytes()
        except FileNotFoundError:
            return f"there is no {folder / name}", _ELSEWHERE
        except OSError as error:
            return f"{folder / name} cannot be read: {error.strerror}", _ELSEWHERE
    return None
