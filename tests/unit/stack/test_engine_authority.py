"""An engine reached over TLS is believed by its own authority, whatever the environment has for other servers."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine.client import client_of


@pytest.mark.parametrize("verify", [True, False])
def test_the_environments_bundle_does_not_replace_the_engines_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify: bool
) -> None:
    for name in ("cert.pem", "key.pem", "ca.pem", "bundle.pem"):
        (tmp_path / name).write_text("")
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(variable, str(tmp_path / "bundle.pem"))
    where = Endpoint(url="tcp://build.example:2376", source="test", tls=tmp_path, verify=verify)
    with contextlib.closing(client_of(where, "1.41", 5)) as client:
        settings = client.merge_environment_settings(f"{client.base_url}/version", {}, None, None, None)
    assert settings["verify"] == (str(tmp_path / "ca.pem") if verify else False)
