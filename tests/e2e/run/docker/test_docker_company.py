"""Containers behind a company's proxy on this machine, which wants a password and looks into TLS."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("cryptography", reason="cryptography is not installed")
from tests.e2e.package.company import PASSWORD, Authority, Company

from stackproof.stack import engine as engines
from stackproof.stack import labels
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

TESTS = """
def test_chat(openai_client, text_model):
    answer = openai_client.chat.completions.create(model=text_model, messages=[{"role": "user", "content": "hello"}])
    assert answer.choices[0].message.content == "heard hello"
"""
RUN = ("--stack-config", "docker:reference", "--setup", "gpt")


def test_a_stack_in_one_records_through_it_and_replays_without_it(project: Project, tmp_path: Path) -> None:
    project.environ["STACKPROOF_DOCKER_BASE"] = os.environ["STACKPROOF_DOCKER_BASE"]
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_DIR", "HTTP_PROXY", "ALL_PROXY"):
        project.environ.pop(name, None)
    project.tests(TESTS)
    with Company(Authority(tmp_path)).listening() as company:
        project.environ.update(
            HTTPS_PROXY=company.url,
            SSL_CERT_FILE=str(company.authority.file),
            OPENAI_API_KEY="sk-0123456789-of-nobody",
        )
        done = project.run(*RUN, "--inference-mode", "record")
        assert done.code == 0, done.output
        assert "provider calls: 0 replayed, 1 recorded" in done.output
        assert company.asked == [("CONNECT", "api.openai.com")]
    kept = [path for path in project.root.rglob("*") if path.is_file()]
    assert not [path for path in kept if PASSWORD.encode() in path.read_bytes()]
    # The proxy is gone, and its address still stands in the variables.
    done = project.run(*RUN)
    assert done.code == 0, done.output
    assert "provider calls: 1 replayed, 0 recorded, 0 missed, 0 unused; sealed" in done.output


@pytest.mark.parametrize("wanted", [False, True])
def test_proxies_in_the_file_of_dockers_command_line_are_told_to_none_but_who_fetches_by_itself(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    proxy = f"http://desk:{PASSWORD}@proxy.example:3128"
    (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": {"httpsProxy": proxy}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    given = {**os.environ, "DOCKER_HOST": engine.endpoint.url}
    spec = ContainerSpec(
        name=f"stackproof-proxies-{os.getpid()}-{time.time_ns()}",
        image=os.environ["STACKPROOF_DOCKER_BASE"],
        command=("true",),
        labels=labels.of("proxies", "toy", labels.owner(os.getpid())),
        network="none",
        config_proxies=wanted,
    )
    with contextlib.closing(engines.connect(given)) as connected:
        try:
            made = connected.create(spec)
            variables = connected.inspected(made)["Config"]["Env"] or []
        finally:
            connected.remove(spec.name)
    assert (f"HTTPS_PROXY={proxy}" in variables) is wanted
    assert (PASSWORD in json.dumps(variables)) is wanted


def test_a_build_is_told_of_none_of_them(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"http://desk:{PASSWORD}@proxy.example:3128"
    (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": {"httpsProxy": proxy}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    dockerfile = b"ARG BASE\nFROM ${BASE}\nRUN env\n"
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
    context.seek(0)
    tag = f"stackproof/proxies:{os.getpid()}"
    with contextlib.closing(engines.connect({**os.environ, "DOCKER_HOST": engine.endpoint.url})) as connected:
        try:
            arguments = {"BASE": os.environ["STACKPROOF_DOCKER_BASE"]}
            said = "\n".join(connected.build(context, tag=tag, arguments=arguments, labels={}))
            client: Any = connected._client
            kept = json.dumps([client.history(tag), client.inspect_image(tag)])
        finally:
            connected.remove_image(tag)
    assert "PATH=" in said
    assert "PROXY" not in said.upper().replace("STACKPROOF/PROXIES", "")
    assert PASSWORD not in kept
