"""Reads `stacks/<name>/service.yaml`: model providers that run on this machine."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from stackproof.catalog import templates
from stackproof.catalog.records import ServiceImage, ServiceSpec
from stackproof.catalog.stacks import docker, existing, readiness
from stackproof.catalog.yaml_source import Section, plain, read


def load_service(path: Path, *, shown: str) -> ServiceSpec:
    """The service that `path` (`<folder>/service.yaml`) describes, named after its folder."""
    name = path.parent.name
    section = read(path, what=f"service {name!r}", shown=shown)
    section.only(
        "description",
        "requirements",
        "command",
        "docker",
        "readiness",
        "api_path",
        "for_each",
        "server",
        "models",
        "synthetic",
    )
    requirements = section.text("requirements")
    command = section.texts("command")
    templates.check(section, "command", templates.OF_A_SERVICE)
    image = _image(section, path.parent)
    if not command and image is None:
        section.fail(f"{section.what} lacks 'command'", key="command")
    if requirements and not command:
        section.fail(
            f"{section.what} has 'requirements' and no 'command' that needs them; those of its image are in 'docker'",
            key="requirements",
        )
    return ServiceSpec(
        name=name,
        description=section.required_text("description"),
        folder=path.parent,
        requirements=existing(section, "requirements", requirements, path.parent) if requirements else None,
        command=command,
        docker=image,
        readiness=readiness(section),
        api_path=_url_path(section, "api_path", "/v1"),
        for_each=_url_path(section, "for_each", ""),
        server=section.required_text("server"),
        models=_models(section),
        synthetic=section.boolean("synthetic", default=False),
        source=path,
    )


def _image(section: Section, folder: Path) -> ServiceImage | None:
    inner = section.section("docker", f"'docker' of {section.what}")
    spec = docker(section, folder, more=("env", "cache", "pull", "unpacked"))
    if inner is None or spec is None:
        return None
    if inner.integer("port", minimum=1) is None:
        inner.fail(f"{inner.what} lacks 'port', where it listens inside", key="docker")
    return ServiceImage(
        **{item.name: getattr(spec, item.name) for item in fields(spec)},
        env=_env(inner),
        cache=inner.text("cache"),
        pull=inner.texts("pull"),
        unpacked=tuple(existing(inner, "unpacked", item, folder) for item in inner.texts("unpacked")),
    )


def _env(section: Section) -> dict[str, str]:
    found = section.text_map("env")
    templates.check(section, "env", (), elsewhere=templates.OF_A_SERVICE)
    return found


def _url_path(section: Section, key: str, default: str) -> str:
    path = section.text(key)
    if path is None:
        return default
    if path and not path.startswith("/"):
        section.fail(f"{key!r} of {section.what} must start with '/'", key=key)
    templates.check(section, key, ("provider",))
    return path.rstrip("/")


def _models(section: Section) -> dict[str, dict[str, object]]:
    inner = section.section("models", f"'models' of {section.what}")
    return {} if inner is None else {alias: plain(facts.data) for alias, facts in inner.sections("model")}
