"""Look at a repository: read its files, import and run none of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from stackproof.adopting import apps, around, asking, clients, project, routes, walking
from stackproof.adopting.found import App, Client, Found, Framework, Function
from stackproof.adopting.source import Source, read

_TOLD = 3


def look(root: Path) -> Found:
    """Everything that files tell about the project at `root`, absolute. Raises nothing about what it finds."""
    walked = walking.walk(root)
    python = project.read(root)
    notes = list(python.broken)
    sources, unread = _sources(root, walked.paths)
    tests = [source for source in sources if _is_test(source.path)]
    own = [source for source in sources if source not in tests]
    layout = apps.Layout.of(sources, [*around.started_with(root), *apps.started_in(own)])
    found_apps = apps.find(own, layout)
    asked = asking.asking(own)
    top = around.top_of_git(root)
    node = around.node(root)
    called = clients.find(own, _own_modules(walked.paths))
    if not own and node is not None:
        framework = Framework.NODE
        called = clients.of_node(node.packages)
    else:
        framework = found_apps[0].framework if found_apps else Framework.NONE
    pattern = python.options.get("python_files", "test_*.py *_test.py")
    return Found(
        name=_name(python.name or (node.name if node is not None else None) or root.name),
        description=python.description,
        framework=framework,
        apps=found_apps,
        routes=routes.find(own, asked) if found_apps else (),
        functions=tuple(_functions(own, asked, layout)) if not found_apps else (),
        clients=_with_models(called, own),
        variables=clients.variables(own),
        manager=python.manager,
        installable=python.installable,
        python=python.python,
        packages=python.packages,
        requirements=python.requirements,
        extras=python.extras,
        tests=_tests(root, tests),
        test_paths=tuple(source.path for source in tests if PurePosixPath(source.path).name != "conftest.py"),
        keyed_tests={source.path: names for source in tests if (names := _capitals(source))},
        pytest=python.pytest,
        file_pattern=tuple(
            pattern.split() if isinstance(pattern, str) else map(str, pattern if isinstance(pattern, list) else ())
        ),
        taken=walked.paths,
        stacks=tuple(sorted(path.parent.name for path in root.glob("stacks/*/stack.yaml"))),
        ci=around.ci(root, top),
        noxfile=(root / "noxfile.py").is_file(),
        runs_us=frozenset(_running_us(root, top)),
        nox_sessions=around.sessions_of_nox(root),
        dockerfiles=around.dockerfiles(root),
        node=node,
        subfolder=None if top is None else ("" if top == root else root.relative_to(top).as_posix()),
        ignores=around.ignores_bytecode(root, top),
        python_files=len(walked.paths),
        notes=(*notes, *_parts(root, found_apps), *_notes(unread, walked)),
    )


def _sources(root: Path, paths: Iterable[str]) -> tuple[list[Source], list[str]]:
    sources, unread = [], []
    for path in paths:
        found = read(root, path)
        if isinstance(found, Source):
            sources.append(found)
        else:
            unread.append(f"{path} {found}")
    return sources, unread


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    name = parts[-1]
    return (
        name == "conftest.py"
        or name.startswith("test_")
        or name.endswith("_test.py")
        or not {"test", "tests"}.isdisjoint(parts[:-1])
    )


def _tests(root: Path, tests: list[Source]) -> str | None:
    for name in ("tests", "test"):
        if (root / name).is_dir():
            return name
    folders = [PurePosixPath(source.path).parent.as_posix() for source in tests]
    return min(folders, key=len) if folders else None


def _functions(own: list[Source], asked: frozenset[str], layout: apps.Layout) -> Iterator[Function]:
    for source in own:
        root, module = apps.imported_from(source, layout, "")
        if module is not None:
            yield from asking.callable_ones(source, asked, module, root)


def _with_models(called: tuple[Client, ...], own: list[Source]) -> tuple[Client, ...]:
    """A call says which model; which client it is made with, only names would tell. Where there is one, it is that."""
    from dataclasses import replace  # noqa: PLC0415

    models = clients.models(own)
    if not models or len({client.provider for client in called}) != 1:
        return called
    first = models[0]
    return tuple(
        client if client.model else replace(client, model=first.text, model_variable=first.variable)
        for client in called
    )


def _notes(unread: list[str], walked: walking.Walked) -> Iterator[str]:
    yield from unread[:_TOLD]
    if len(unread) > _TOLD:
        yield f"{len(unread) - _TOLD} more Python files could not be read"
    for folder in walked.shut[:_TOLD]:
        yield f"{folder}/ may not be looked into"
    if walked.cut:
        yield f"the repository is large: only the first {walking.FILES} Python files were looked at"


def _parts(root: Path, found: tuple[App, ...]) -> Iterator[str]:
    """Of an application that is a project of its own, below this one."""
    for folder in PurePosixPath(found[0].path).parents[:-1] if found else ():
        for name in ("pyproject.toml", "requirements.txt", "setup.py"):
            if (root / folder / name).is_file():
                yield f"{folder}/ has a {name} of its own: `stackproof init` can be run there as well"
                return


def _capitals(source: Source) -> frozenset[str]:
    """Texts in it that look like the name of a variable: `skipif("OPENAI_API_KEY" not in os.environ)`."""
    texts = {
        node.value for node in ast.walk(source.tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return frozenset(text for text in texts if re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", text))


def _own_modules(paths: Iterable[str]) -> frozenset[str]:
    """First words of imports that mean the project itself."""
    tops = set()
    for path in paths:
        parts = PurePosixPath(path).parts
        parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
        tops.add(parts[0].removesuffix(".py"))
    return frozenset(tops)


def _running_us(root: Path, top: Path | None) -> Iterator[str]:
    for folder, name in ((root, "noxfile.py"), (top or root, ".gitlab-ci.yml")):
        if re.search(r"\bstackproof\b", around.text(folder / name)):
            yield name


def _name(text: str) -> str:
    """As a stack may be called: letters, digits, dots, dashes."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text.rpartition("/")[2]).strip("-._")[:40].strip("-._").lower()
    return name or "app"
