"""The files that a step writes for the runner: outputs, variables, folders of commands, a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

SUMMARY_LIMIT = 1024 * 1024
_FILES = {"output": "GITHUB_OUTPUT", "env": "GITHUB_ENV", "path": "GITHUB_PATH", "state": "GITHUB_STATE"}


class FileError(Exception):
    """A step wrote a file that the runner refuses; the step fails with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a step left for later ones."""

    outputs: Mapping[str, str]
    env: Mapping[str, str]
    paths: tuple[str, ...]


def make(folder: Path) -> Mapping[str, str]:
    """Empty files in a new folder, as variables for the step."""
    folder.mkdir(parents=True)
    variables = {variable: str(folder / name) for name, variable in _FILES.items()}
    variables["GITHUB_STEP_SUMMARY"] = str(folder / "summary")
    for path in variables.values():
        Path(path).touch()
    return variables


def read(folder: Path, wrong: Callable[[str], None]) -> Written:
    """What a step wrote. wrong: told of what the runner would leave out. Raises FileError."""
    env = {}
    for name, value in pairs(_text(folder / "env"), "GITHUB_ENV").items():
        if name.upper() == "NODE_OPTIONS":
            raise FileError("GITHUB_ENV: the runner lets no step set NODE_OPTIONS")
        if name.startswith(("GITHUB_", "RUNNER_")):
            wrong(f"GITHUB_ENV: {name} belongs to the runner and keeps its value")
        else:
            env[name] = value
    summary = (folder / "summary").read_bytes() if (folder / "summary").is_file() else b""
    if len(summary) > SUMMARY_LIMIT:
        wrong(f"the summary of this step has {len(summary)} bytes; GitHub drops all of it above {SUMMARY_LIMIT}")
    return Written(
        outputs=pairs(_text(folder / "output"), "GITHUB_OUTPUT"),
        env=env,
        paths=tuple(line.strip() for line in _text(folder / "path").splitlines() if line.strip()),
    )


def pairs(text: str, what: str) -> dict[str, str]:
    """`name=value` and `name<<WORD` … `WORD`. Raises FileError."""
    made: dict[str, str] = {}
    # On Linux nothing else ends a line for the runner: no carriage return, no separator of Unicode's.
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = line[:equals], line[equals + 1 :]
        elif heredoc >= 0:
            name, word = line[:heredoc], line[heredoc + 2 :]
            if not name or not word:
                raise FileError(f"{what}: this line has no name or no closing word: {line!r}")
            held = []
            for inner in lines:
                if inner == word:
                    break
                held.append(inner)
            else:
                raise FileError(f"{what}: {name} is opened with {word!r}, which never comes again")
            value = "\n".join(held)
        else:
            raise FileError(f"{what}: this line is no name=value: {line!r}")
        if not name:
            raise FileError(f"{what}: this line has no name: {line!r}")
        made[name] = value
    return made


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", "replace") if path.is_file() else ""
