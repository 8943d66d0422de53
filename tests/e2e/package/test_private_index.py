"""Packages from a company's own index and registry, through its proxy, with its authority and a password."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.package.company import PASSWORD, Answer, Authority, Company, Headers
from tests.e2e.package.conftest import AUTHORITIES, plain

from stackproof.catalog.preparing import PrepareSpec
from stackproof.stack import prepared, wheelhouse

USER, SECRET = "reader", "1ndex-s3cret"
WHEEL = "toy_goods-1.0-py3-none-any.whl"
TARGET = wheelhouse.Target(version="3.11", platforms=("manylinux2014_x86_64",), markers={})


def wheel() -> bytes:
    """The smallest there is."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("toy_goods.py", "")
        about = "toy_goods-1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: toy-goods\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return held.getvalue()


def module() -> bytes:
    """A package of Node."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        text = json.dumps({"name": "toy-goods", "version": "1.0.0"}).encode()
        info = tarfile.TarInfo("package/package.json")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
    return held.getvalue()


MODULE = module()


def goods(host: str, path: str, headers: Headers, _: bytes) -> Answer:
    """The index of Python packages, for whoever knows the password, and the registry of Node's."""
    if host == "npm.models.test":
        return 200, "application/octet-stream", MODULE
    if headers.get("authorization") != f"Basic {base64.b64encode(f'{USER}:{SECRET}'.encode()).decode()}":
        return 401, "text/plain", b"who?"
    if path.endswith(".whl"):
        return 200, "application/octet-stream", wheel()
    return 200, "text/html", f'<!DOCTYPE html><html><body><a href="/files/{WHEEL}">{WHEEL}</a></body></html>'.encode()


@pytest.fixture
def index(authority: Authority) -> Iterator[Company]:
    with Company(authority, answer=goods).listening() as found:
        yield found


@pytest.fixture
def machine(index: Company, tmp_path: Path) -> dict[str, str]:
    """The variables of a machine that reaches it; whatever this one has of indexes of its own stays out."""
    environ = {name: value for name, value in plain(os.environ).items() if name not in AUTHORITIES}
    (tmp_path / "home").mkdir()
    return {
        **environ,
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config"),
        "PIP_CONFIG_FILE": os.devnull,
        "npm_config_globalconfig": os.devnull,
        "npm_config_update_notifier": "false",
        "npm_config_fetch_retries": "0",
        "HTTPS_PROXY": index.url,
        "SSL_CERT_FILE": str(index.authority.file),
    }


NAMED, NAMELESS = f"https://{USER}:{SECRET}@pypi.models.test/simple", "https://pypi.models.test/simple"


@pytest.mark.parametrize(
    ("variables", "files"),
    [
        ({"PIP_INDEX_URL": NAMED}, {}),
        ({"PIP_CONFIG_FILE": "{home}/pip.conf"}, {"pip.conf": f"[global]\nindex-url = {NAMED}\n"}),
        ({"PIP_INDEX_URL": NAMELESS}, {".netrc": f"machine pypi.models.test login {USER} password {SECRET}\n"}),
        ({"UV_DEFAULT_INDEX": NAMED}, {}),
    ],
    ids=["variable", "pip.conf", "netrc", "uv's variable"],
)
def test_wheels_for_images_come_from_it_and_no_password_stays(
    index: Company,
    machine: dict[str, str],
    tmp_path: Path,
    variables: dict[str, str],
    files: dict[str, str],
) -> None:
    for name, text in files.items():
        (tmp_path / "home" / name).write_text(text)
        (tmp_path / "home" / name).chmod(0o600)
    given = machine | {name: value.format(home=tmp_path / "home") for name, value in variables.items()}
    said: list[str] = []
    found = wheelhouse.prepare(b"toy-goods==1.0\n", TARGET, environment=given, say=said.append, check=lambda: None)
    assert [path.name for path in found.iterdir()] == [WHEEL]
    assert set(index.asked) == {("CONNECT", "pypi.models.test")}
    for path in (tmp_path / "cache" / "stackproof").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
            assert PASSWORD.encode() not in path.read_bytes(), path
    assert not any(secret in line for line in said for secret in (SECRET, PASSWORD))


def test_node_gets_its_packages_with_the_authority_that_openssl_was_told_of(
    index: Company, machine: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("Node.js is not installed")
    folder = tmp_path / "gateway"
    folder.mkdir()
    package = {"name": "gateway", "version": "1.0.0", "dependencies": {"toy-goods": "1.0.0"}}
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(MODULE).digest()).decode()}"
    locked = {"version": "1.0.0", "resolved": "https://npm.models.test/toy-goods-1.0.0.tgz", "integrity": integrity}
    lock = {**package, "lockfileVersion": 3, "packages": {"": package, "node_modules/toy-goods": locked}}
    (folder / "package.json").write_text(json.dumps(package))
    (folder / "package-lock.json").write_text(json.dumps(lock))
    spec = PrepareSpec(
        command=("npm", "ci", "--no-audit", "--no-fund"), files=("package.json", "package-lock.json"), needs={"npm": ()}
    )
    home = prepared.make("gateway", spec, folder, environment=machine)
    assert (home / "node_modules" / "toy-goods" / "package.json").is_file()
    assert ("CONNECT", "npm.models.test") in index.asked
    assert PASSWORD not in (home / "prepare.log").read_text()
