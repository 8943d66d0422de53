"""Keys of nobody: a certificate of this machine, and Google's credentials of a service account."""

from __future__ import annotations

import datetime
import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest


def _parts() -> tuple[Any, Any, Any]:
    reason = "cryptography is not installed"
    x509 = pytest.importorskip("cryptography.x509", reason=reason)
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa", reason=reason)
    primitives = pytest.importorskip("cryptography.hazmat.primitives", reason=reason)
    pytest.importorskip("cryptography.hazmat.primitives.serialization", reason=reason)
    return x509, rsa.generate_private_key(public_exponent=65537, key_size=2048), primitives


def _pem(key: Any, primitives: Any) -> str:
    words = primitives.serialization
    made: bytes = key.private_bytes(words.Encoding.PEM, words.PrivateFormat.PKCS8, words.NoEncryption())
    return made.decode()


def of_this_machine(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, and its key: `tls.pem` in the folder."""
    x509, key, primitives = _parts()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, primitives.hashes.SHA256())
    )
    path = folder / "tls.pem"
    pem = certificate.public_bytes(primitives.serialization.Encoding.PEM).decode()
    path.write_text(pem + _pem(key, primitives), encoding="utf-8")
    return path


def service_account(folder: Path, token_uri: str) -> str:
    """Google's credentials of nobody, whose tokens come from `token_uri`; the path of their file."""
    _, key, primitives = _parts()
    about = {
        "type": "service_account",
        "project_id": "p",
        "client_email": "nobody@example.com",
        "private_key_id": "k",
        "private_key": _pem(key, primitives),
        "token_uri": token_uri,
    }
    path = folder / "google.json"
    path.write_text(json.dumps(about), encoding="utf-8")
    return str(path)
