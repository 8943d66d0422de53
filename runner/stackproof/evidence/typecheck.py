"""What mypy said, as facts: its JSON lines, its exit code and the files it names as its sources."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile

SCHEMA = 1
# mypy --verbose names each source it was asked to check (mypy/build.py, "Found source:"); their number is the one in
# "no issues found in N source files", which --output=json leaves out.
_SOURCE = re.compile(
    r"^LOG:\s+Found source:\s+BuildSource\(path=(None|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"), module=(.*)$"
)
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


class TypecheckState(StrEnum):
    """Whether the types hold, do not hold, or nobody knows."""

    SUCCESS = "success"
    ERRORS = "errors"
    TOOL_FAILURE = "tool-failure"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One line of mypy's JSON output. `line` counts from 1."""

    file: str
    line: int
    severity: str
    message: str
    code: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TypecheckFacts:
    """files: the source files that mypy checked. roots: the paths that it was given. unchecked: Python files below
    the roots that it did not check.

    reason: why this is a tool failure, None when it is none.
    """

    state: TypecheckState
    exit_code: int
    files: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    reason: str | None = None
    commit: str | None = None
    dirty: bool = False
    policy: str | None = None

    @property
    def errors(self) -> tuple[Message, ...]:
        """Messages that are no notes."""
        return tuple(message for message in self.messages if message.severity != "note")


def interpret(*, exit_code: int, stdout: str, stderr: str, project: Path, roots: Sequence[str] = ()) -> TypecheckFacts:
    """Make facts of one run of `mypy --output=json --verbose`.

    Exit 0 is success and 1 means messages; with JSON output, notes alone give 1 as well, and are a success. Anything
    that does not fit together (prose on stdout, exit 1 without a message, exit 0 with an error, exit 2) is a failure of
    the tool, and so is a run that checked no file.
    """
    messages, prose = _messages(stdout)
    files = tuple(sorted(_sources(stderr)))
    errors = [message for message in messages if message.severity != "note"]
    state, reason = TypecheckState.SUCCESS, None
    if exit_code not in (0, 1):
        tail = prose or [line for line in stderr.splitlines() if line.strip() and not line.startswith("LOG:")]
        said = (
            f": {tail[-1]}" if tail else f": {errors[0].file}:{errors[0].line}: {errors[0].message}" if errors else ""
        )
        state, reason = TypecheckState.TOOL_FAILURE, f"mypy ended with exit code {exit_code}{said}"
    elif prose:
        state, reason = TypecheckState.TOOL_FAILURE, f"mypy printed what is no JSON: {prose[0]}"
    elif exit_code == 1 and not messages:
        absent = "No module named mypy" in stderr
        said = "is not installed beside Stackproof" if absent else "ended with exit code 1 and named no error"
        state, reason = TypecheckState.TOOL_FAILURE, f"mypy {said}"
    elif exit_code == 0 and errors:
        state, reason = TypecheckState.TOOL_FAILURE, "mypy ended with exit code 0 and named errors"
    elif not files:
        state, reason = TypecheckState.TOOL_FAILURE, "mypy checked no file"
    elif errors:
        state = TypecheckState.ERRORS
    return TypecheckFacts(
        state=state,
        exit_code=exit_code,
        files=files,
        unchecked=tuple(sorted(_present(project, roots) - set(files))),
        roots=tuple(roots),
        messages=tuple(messages),
        reason=reason,
    )


def to_json(facts: TypecheckFacts, **more: object) -> dict[str, Any]:
    """What `checks/typecheck.json` holds."""
    return {"schema": SCHEMA, "kind": "typecheck", **asdict(facts), **more}


def read(path: Path) -> TypecheckFacts | None:
    """Read `checks/typecheck.json`; None when it is missing or is something else."""
    data = jsonfile.read(path)
    if data is None or data.get("schema") != SCHEMA or data.get("kind") != "typecheck":
        return None
    try:
        state = TypecheckState(data["state"])
        messages = tuple(_message(item) for item in data["messages"])
        exit_code = int(data["exit_code"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return TypecheckFacts(
        state=state,
        exit_code=exit_code,
        files=jsonfile.strings(data, "files"),
        unchecked=jsonfile.strings(data, "unchecked"),
        roots=jsonfile.strings(data, "roots"),
        messages=messages,
        reason=jsonfile.text(data, "reason"),
        commit=jsonfile.text(data, "commit"),
        dirty=data.get("dirty") is True,
        policy=jsonfile.text(data, "policy"),
    )


def _messages(stdout: str) -> tuple[list[Message], list[str]]:
    messages: list[Message] = []
    prose: list[str] = []
    for line in stdout.splitlines():
        if not line.strip():
            continue
        try:
            messages.append(_message(json.loads(line)))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            prose.append(line.strip())
    return messages, prose


def _message(data: Mapping[str, Any]) -> Message:
    return Message(
        file=str(data["file"]),
        line=int(data["line"]),
        severity=str(data["severity"]),
        message=str(data["message"]),
        code=None if data.get("code") is None else str(data["code"]),
    )


def _sources(stderr: str) -> Iterable[str]:
    for line in stderr.splitlines():
        if found := _SOURCE.match(line):
            try:
                path = ast.literal_eval(found[1])
            except (ValueError, SyntaxError):  # an escape that Python does not know: the name as it is written
                path = found[1].strip("'\"")
            yield Path(path).as_posix() if path is not None else found[2].partition(",")[0].strip("'\"")


def _present(project: Path, roots: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for root in roots:
        path = project / root
        for each in [path] if path.suffix == ".py" else path.rglob("*.py"):
            parts = each.relative_to(project).parts if each.is_relative_to(project) else each.parts
            if not any(part.startswith(".") or part in _SKIPPED_FOLDERS for part in parts):
                found.add(Path(*parts).as_posix())
    return found
