"""Reads `stacks/<name>/service.yaml`: model providers that run on this machine."""

from __future__ import annotations

from pathlib import Path

from stackproof.catalog.records import ServiceImage, ServiceSpec
from stackproof.catalog.stacks import existing, readiness
from stackproof.catalog.yaml_source import Section, plain, read


def load_service(path: Path, *, shown: str) -> ServiceSpec:
    """The service that `path` (`<folder>/service.yaml`) describes, named after its folder."""
    name = path.parent.name
    section = read(path, what=f"service {name!r}", shown=shown)
    section.only(
        "description", "requirements", "command", "docker", "readiness", "api_path", "server", "models", "synthetic"
    )
    requirements = section.text("requirements")
    command = section.texts("command")
    image = _image(section)
    if not command and image is None:
        section.fail(f"{section.what} lacks 'command'", key="command")
    if image is not None and (command or requirements):
        section.fail(f"{section.what} has an image: 'command' and 'requirements' are not for it", key="docker")
    return ServiceSpec(
        name=name,
        description=section.required_text("description"),
        folder=path.parent,
        requirements=existing(section, "requirements", requirements, path.parent) if requirements else None,
        command=command,
        docker=image,
        readiness=readiness(section),
        api_path=_api_path(section),
        server=section.required_text("server"),
        models=_models(section),
        synthetic=section.boolean("synthetic", default=False),
        source=path,
    )


def _image(section: Section) -> ServiceImage | None:
    inner = section.section("docker", f"'docker' of {section.what}")
    if inner is None:
        return None
    inner.only("image", "port", "env", "cache", "pull")
    port = inner.integer("port", minimum=1)
    if port is None:
        inner.fail(f"{inner.what} lacks 'port', where it listens inside", key="docker")
    return ServiceImage(
        image=inner.required_text("image"),
        port=port,
        env=inner.text_map("env"),
        cache=inner.text("cache"),
        pull=inner.texts("pull"),
    )


def _api_path(section: Section) -> str:
    path = section.text("api_path")
    if path is None:
        return "/v1"
    if path and not path.startswith("/"):
        section.fail(f"'api_path' of {section.what} must start with '/'", key="api_path")
    return path.rstrip("/")


def _models(section: Section) -> dict[str, dict[str, object]]:
    inner = section.section("models", f"'models' of {section.what}")
    return {} if inner is None else {alias: plain(facts.data) for alias, facts in inner.sections("model")}
