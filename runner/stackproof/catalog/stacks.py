"""Reads `stacks/<name>/stack.yaml`: software under test."""

from __future__ import annotations

import re
from pathlib import Path

from stackproof.catalog import templates
from stackproof.catalog.benchmarking import benchmark
from stackproof.catalog.edge import RecorderPlace, edge_spec, recorder_place
from stackproof.catalog.preparing import preparing
from stackproof.catalog.records import DockerSpec, ModelRole, PythonSpec, ReadinessSpec, StackMode, StackSpec
from stackproof.catalog.yaml_source import Section, read
from stackproof.suggest import did_you_mean

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_BOUND = re.compile(r"(>=|<)\s*3\.(\d+)")
# A stack that is running already is named by its URL, not by a file.
_MODES = tuple(mode.value for mode in StackMode if mode is not StackMode.REMOTE)


def load_stack(path: Path, *, shown: str) -> StackSpec:
    """The stack that `path` (`<folder>/stack.yaml`) describes, named after its folder."""
    name = path.parent.name
    section = read(path, what=f"stack {name!r}", shown=shown)
    section.only(
        "description",
        "modes",
        "python_path",
        "app",
        "command",
        "cwd",
        "under_exec",
        "recorder",
        "edge",
        "readiness",
        "env",
        "header",
        "client_key",
        "id_hook",
        "port",
        "docker",
        "containers",
        "variables",
        "prepare",
        "lacks",
        "python",
        "models",
        "warnings",
        "stop_timeout",
        "benchmark",
    )
    place = recorder_place(section)
    spec = StackSpec(
        name=name,
        description=section.required_text("description"),
        folder=path.parent,
        modes=_modes(section),
        python_path=tuple(existing(section, "python_path", item, path.parent) for item in section.texts("python_path")),
        app=section.text("app"),
        command=section.texts("command"),
        cwd=_cwd(section, path.parent),
        under_exec=section.boolean("under_exec", default=place is RecorderPlace.PROCESS),
        recorder=place,
        edge=edge_spec(section, place),
        readiness=readiness(section),
        env=section.text_map("env"),
        header=section.text("header") or "X-Provider-Data",
        client_key=section.text("client_key"),
        id_hook=section.text("id_hook"),
        port=section.integer("port", minimum=1),
        docker=docker(section, path.parent, more=("shared",)),
        containers=section.texts("containers"),
        variables=section.text_map("variables"),
        prepare=preparing(section, path.parent),
        lacks=section.text_map("lacks"),
        python=_python(section, path.parent),
        models=_models(section),
        warnings=section.texts("warnings"),
        stop_timeout=section.seconds("stop_timeout") or 10.0,
        benchmark=benchmark(section),
        source=path,
    )
    if spec.app is not None and not _PLACE.fullmatch(spec.app):
        section.fail(f"'app' of {section.what} must be written module:name, not {spec.app!r}", key="app")
    if spec.id_hook is not None and not _PLACE.fullmatch(spec.id_hook):
        text = f"'id_hook' of {section.what} must be written module:function, not {spec.id_hook!r}"
        section.fail(text, key="id_hook")
    if spec.id_hook is not None and not spec.under_exec and StackMode.SERVER in spec.modes:
        text = f"'id_hook' of {section.what} needs the recorder in the server, and 'under_exec' is false"
        section.fail(text, key="id_hook")
    if StackMode.SERVER in spec.modes and not spec.command:
        section.fail(f"{section.what} supports server mode and lacks 'command'", key="modes")
    if spec.docker is not None and spec.docker.shared and StackMode.DOCKER not in spec.modes:
        section.fail(f"'shared' in 'docker' of {section.what} is for mode docker, which it has not", key="docker")
    if spec.docker is not None and spec.docker.shared and spec.recorder is RecorderPlace.EDGE:
        text = f"'shared' in 'docker' of {section.what} needs the recorder in the stack, and 'recorder' says edge"
        section.fail(text, key="docker")
    for mode in (StackMode.DOCKER, StackMode.DOCKER_LIBRARY):
        if mode in spec.modes and spec.docker is None:
            section.fail(f"{section.what} supports {mode.value} mode and lacks 'docker'", key="modes")
    for variable in spec.variables:
        if not variable.startswith("STACKPROOF_"):
            section.fail(
                f"'variables' of {section.what} renames STACKPROOF_… variables, not {variable!r}", key="variables"
            )
    _check_templates(section)
    return spec


def _check_templates(section: Section) -> None:
    """Refuse what is nearly a template, and one where nothing is filled in."""
    prepared = ("prepared",) if section.data.get("prepare") is not None else ()
    templates.check(section, "command", (*templates.COMMAND, *prepared), elsewhere=(*templates.OF_A_STACK, "prepared"))
    templates.check(section, "env", templates.ENV, elsewhere=templates.OF_A_STACK)
    templates.check(section, "models", ("name",))
    models = [f"{role.value}_model" for role in ModelRole]
    templates.check(section, "edge", models, elsewhere=templates.OF_A_STACK)


def _cwd(section: Section, folder: Path) -> Path | None:
    relative = section.text("cwd")
    if relative is None:
        return None
    if section.data.get("prepare") is not None:
        section.fail(f"{section.what} has 'cwd' and 'prepare', which runs it in a copy of its folder", key="cwd")
    found = existing(section, "cwd", relative, folder)
    if not found.is_dir():
        section.fail(f"'cwd' of {section.what} names {relative!r}, which is no folder", key="cwd")
    return found


def readiness(section: Section, key: str = "readiness", *, inside: bool = False) -> ReadinessSpec:
    """The `readiness:` mapping of a stack, service or container, with defaults for what it leaves out.

    inside: whether it may be a command that is run inside.
    """
    inner = section.section(key, f"{key!r} of {section.what}")
    default = ReadinessSpec()
    if inner is None:
        return default
    inner.only("path", "status", "timeout", *(("command",) if inside else ()))
    path = inner.text("path") or default.path
    if not path.startswith("/"):
        inner.fail(f"'path' in {inner.what} must start with '/'", key="path")
    templates.check(inner, "path", (), elsewhere=templates.OF_A_STACK)
    return ReadinessSpec(
        path=path,
        status=inner.integer("status", minimum=100) or default.status,
        timeout=inner.seconds("timeout") or default.timeout,
    )


def docker(section: Section, folder: Path, *, more: tuple[str, ...] = ()) -> DockerSpec | None:
    """The `docker:` mapping of a stack, container or service; None where there is none. more: keys beside the usual."""
    inner = section.section("docker", f"'docker' of {section.what}")
    if inner is None:
        return None
    inner.only("dockerfile", "image", "base", "requirements", "tests", "context", "python", "folder", "port", *more)
    dockerfile, image = inner.text("dockerfile"), inner.text("image")
    requirements, tests = inner.text("requirements"), inner.text("tests")
    if (dockerfile is None) == (image is None):
        inner.fail(f"{inner.what} needs either 'dockerfile' or 'image'")
    default = DockerSpec()
    return DockerSpec(
        dockerfile=existing(inner, "dockerfile", dockerfile, folder) if dockerfile else None,
        image=image,
        base=inner.text("base") or default.base,
        requirements=existing(inner, "requirements", requirements, folder) if requirements else None,
        tests=existing(inner, "tests", tests, folder) if tests else None,
        context=tuple(existing(inner, "context", item, folder) for item in inner.texts("context")),
        python=inner.text("python") or default.python,
        folder=inner.text("folder") or default.folder,
        port=inner.integer("port", minimum=1) or default.port,
        shared=inner.boolean("shared", default=default.shared),
    )


def _python(section: Section, folder: Path) -> PythonSpec | None:
    inner = section.section("python", f"'python' of {section.what}")
    if inner is None:
        return None
    inner.only("version", "requirements", "tests")
    bounds: dict[str, tuple[int, int]] = {}
    for part in filter(None, (part.strip() for part in (inner.text("version") or "").split(","))):
        found = _BOUND.fullmatch(part)
        if found is None:
            inner.fail(
                f"'version' of {inner.what} says {part!r}",
                key="version",
                hint='write it like ">=3.12" or ">=3.12,<3.14"',
            )
        bounds[found[1]] = (3, int(found[2]))
    requirements, tests = inner.text("requirements"), inner.text("tests")
    return PythonSpec(
        at_least=bounds.get(">="),
        below=bounds.get("<"),
        requirements=existing(inner, "requirements", requirements, folder) if requirements else None,
        tests=existing(inner, "tests", tests, folder) if tests else None,
    )


def _models(section: Section) -> dict[ModelRole, str]:
    roles = [role.value for role in ModelRole]
    models = {}
    for word, text in section.text_map("models").items():
        if word not in roles:
            section.fail(
                f"unknown role {word!r} in 'models' of {section.what}{did_you_mean(word, roles)}",
                key="models",
                hint=f"known roles: {', '.join(roles)}",
            )
        models[ModelRole(word)] = text
    return models


def existing(section: Section, key: str, relative: str, folder: Path) -> Path:
    """The path `relative` below `folder`; UsageError when nothing is there."""
    path = folder / relative
    if not path.exists():
        section.fail(f"{key!r} of {section.what} names {relative!r}, which does not exist in {folder.name}/", key=key)
    return path


def _modes(section: Section) -> tuple[StackMode, ...]:
    words = section.texts("modes")
    if not words:
        section.fail(f"{section.what} lacks 'modes'", key="modes", hint=f"known modes: {', '.join(_MODES)}")
    for word in words:
        if word not in _MODES:
            section.fail(
                f"unknown mode {word!r} in {section.what}{did_you_mean(word, _MODES)}",
                key="modes",
                hint=f"known modes: {', '.join(_MODES)}",
            )
    return tuple(StackMode(word) for word in words)
