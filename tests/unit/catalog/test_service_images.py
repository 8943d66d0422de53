"""A provider service is a command, or somebody's image; a description that means neither is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.catalog.records import Catalog, ServiceImage
from stackproof.errors import UsageError


def load(project: Path, more: str) -> Catalog:
    path = project / "stacks/tiny/service.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"description: tiny\nserver: tiny 1.0\n{more}\n")
    return catalog.load(project)


def test_an_image_has_a_port_variables_models_and_a_folder_that_stays(tmp_path: Path) -> None:
    text = "docker: {image: 'tiny/tiny:1', port: 1234, env: {A: b}, cache: /models, pull: [one, two]}"
    service = load(tmp_path, text).service("tiny")
    assert service.command == ()
    assert service.docker == ServiceImage(
        image="tiny/tiny:1", port=1234, env={"A": "b"}, cache="/models", pull=("one", "two")
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("docker: {image: 'tiny/tiny:1'}", "'docker' of service 'tiny' lacks 'port'"),
        ("docker: {port: 80}", "'docker' of service 'tiny' needs either 'dockerfile' or 'image'"),
        ("docker: {dockerfile: Dockerfile, port: 80}", "'dockerfile' of 'docker' of service 'tiny' names 'Dockerfile'"),
        ("docker: {image: t, port: 80, unpacked: [w.txt]}", "'unpacked' of 'docker' of service 'tiny' names 'w.txt'"),
        ("docker: {image: t, port: 80}\nrequirements: r.txt", "service 'tiny' has 'requirements' and no 'command'"),
        ("docker: {image: t, port: 80, volume: x}", "unknown key 'volume'"),
        ("api_path: /v1", "service 'tiny' lacks 'command'"),
    ],
)
def test_what_is_neither_is_told(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        load(tmp_path, text)


def test_ollama_is_there_by_name(tmp_path: Path) -> None:
    service = catalog.load(tmp_path).service("ollama")
    assert service.docker is not None
    assert service.docker.pull == ("smollm2:135m",)
    assert not service.synthetic
