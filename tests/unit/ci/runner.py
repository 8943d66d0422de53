"""What CI systems take out of an output, as their sources have it."""

from __future__ import annotations

import re

_LINES = re.compile(r"\r\n|\r|\n")
_SECTION = re.compile(r"section_(start|end):(\d+):([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\r\x1b\[0K")


def obeyed_by_github(output: str) -> list[str]:
    """The commands that a runner carries out, `stop-commands` and the words that end it among them.

    actions/runner: src/Runner.Worker/ActionCommandManager.cs (TryProcessCommand), src/Runner.Common/ActionCommand.cs.
    """
    found: list[str] = []
    token: str | None = None
    for line in _LINES.split(output):
        shown = line.lstrip()
        if token is not None:
            if shown.startswith(f"::{token}::"):
                found.append("resumed")
                token = None
            continue
        if shown.startswith("::") and "::" in shown[2:]:
            name, _, data = shown[2:].partition("::")
            found.append(shown)
            if name == "stop-commands":
                token = data
                found[-1] = name
        elif "##[" in line and "]" in line.partition("##[")[2]:
            found.append(line[line.index("##[") :])
    assert token is None, "nothing is obeyed in the rest of the step"
    return found


def rendered_by_github(output: str) -> list[str]:
    """Marks that its page shows as more than text, whether the runner obeys or not."""
    return re.findall(r"##\[[a-z]+\]", output)


def folded_by_gitlab(output: str) -> list[tuple[str, str]]:
    """What begins and ends, in order (gitlab-org/gitlab: lib/gitlab/ci/ansi2json/converter.rb)."""
    return [(found[1], found[3]) for found in _SECTION.finditer(output)]
