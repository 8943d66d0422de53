"""What is measured, where it is in a container, and which paths are one file. Only looks which folders there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from stackproof.errors import UsageError
from stackproof.option_table import BY_NAME

CONFIGURED = BY_NAME["coverage"].bare
"""What `--coverage` means without a value: what the project's own configuration of coverage says."""

_PATTERN = ("*", "?")
_NOT_TESTED = ("noxfile.py", "setup.py", "conftest.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """What coverage measures, in its own terms: folders, absolute; packages, by name; patterns of files."""

    folders: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    omit: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        """Whether something was named; coverage measures everything otherwise."""
        return bool(self.folders or self.packages or self.include)


def configured(options: Mapping[str, Sequence[str]], project: Path) -> Sources:
    """Of a project's configuration, whose relative paths belong to the project: the stack may run somewhere else.

    options: `source`, `source_pkgs`, `source_dirs`, `include`, `omit` of the section `run`.
    """
    named = options.get("source", ())
    folders = [name for name in named if (project / name).is_dir()]
    return Sources(
        folders=tuple(_absolute(name, project) for name in (*folders, *options.get("source_dirs", ()))),
        packages=(*(name for name in named if name not in folders), *options.get("source_pkgs", ())),
        include=tuple(_pattern(text, project) for text in options.get("include", ())),
        omit=tuple(_pattern(text, project) for text in options.get("omit", ())),
    )


def named(text: str, project: Path, origin: str) -> Sources:
    """Of `--coverage PATHS`. UsageError for what is neither a folder or file of the project nor a package's name."""
    folders, packages, include = [], [], []
    for name in filter(None, (part.strip() for part in text.split(","))):
        path = project / name
        if path.is_dir():
            folders.append(_absolute(name, project))
        elif path.is_file():
            include.append(_absolute(name, project))
        elif all(part.isidentifier() for part in name.split(".")):
            packages.append(name)
        else:
            raise UsageError(
                f"{origin}: {name!r} is neither a folder or a file of the project nor the name of a package",
                hint="for example --coverage src,stacks/mine; without a value the project's configuration decides",
            )
    if include and (folders or packages):
        # Of the two, coverage would leave one out.
        folders, include = [*folders, *(str(Path(path).parent) for path in include)], []
    return Sources(folders=tuple(folders), packages=tuple(packages), include=tuple(include))


def everything(project: Path, stack: Sequence[Path], tests: str) -> Sources:
    """Where nobody says anything: the project and the stack's folders, without the tests in folder `tests`."""
    folders = dict.fromkeys(str(path.absolute()) for path in (project, *stack))
    root = project.absolute()
    # Neither tests nor what runs them is what is tested.
    omit = (f"{root}/{PurePosixPath(tests).parts[0]}/*", *(f"{root}/{name}" for name in _NOT_TESTED))
    return Sources(folders=tuple(folders), omit=omit)


def inside(sources: Sources, *, here: Path, there: str, seen: bool) -> Sources:
    """The same in a container, where the stack's folder `here` is `there`. seen: the project can be seen there too.

    What is installed there was built from the project: its packages are measured by their names.
    """
    outside = [Path(folder) for folder in sources.folders]
    moved = dict.fromkeys(filter(None, (_moved(folder, here, there) for folder in outside)))
    stays = [str(folder) for folder in outside if seen]
    named = (name for folder in outside for name in packages(folder))
    before, after = f"{here.absolute()}/", f"{there.rstrip('/')}/"
    return replace(
        sources,
        folders=(*moved, *stays),
        packages=tuple(dict.fromkeys((*sources.packages, *named))),
        include=tuple(_inside(text, before, after) for text in sources.include),
        omit=tuple(_inside(text, before, after) for text in sources.omit),
    )


def packages(folder: Path) -> Mapping[str, Path]:
    """The packages that a folder is, or holds: name -> folder; those in its `src` too."""
    if (folder / "__init__.py").is_file():
        return {folder.name: folder}
    found: dict[str, Path] = {}
    for base in (folder, folder / "src"):
        if base.is_dir():
            found |= {path.name: path for path in sorted(base.iterdir()) if (path / "__init__.py").is_file()}
    return found


def aliases(sources: Sources, *, here: Path | None, there: str | None) -> dict[str, list[str]]:
    """Which paths are the same, as coverage's section `paths` has it: the first is the one of this machine.

    sources: as they are here. there: where the stack's folder `here` is in a container.
    """
    same = {} if here is None or there is None else {"stack": [str(here.absolute()), there]}
    for folder in sources.folders:
        for name, path in packages(Path(folder)).items():
            same.setdefault(f"package {path}", [str(path), f"*/site-packages/{name}", f"*/dist-packages/{name}"])
    return same


def _moved(folder: Path, here: Path, there: str) -> str | None:
    here = here.absolute()
    if folder.is_relative_to(here):
        return str(PurePosixPath(there, folder.relative_to(here).as_posix()))
    return there if here.is_relative_to(folder) else None


def _inside(pattern: str, before: str, after: str) -> str:
    return after + pattern.removeprefix(before) if pattern.startswith(before) else pattern


def _pattern(text: str, project: Path) -> str:
    """coverage takes a pattern that does not begin with a wildcard for a path below the current folder."""
    return text if text.startswith(_PATTERN) else _absolute(text, project)


def _absolute(name: str, project: Path) -> str:
    return str(project.absolute() / Path(name).expanduser())
