"""Workflow commands: lines of a step's output that the runner obeys, wherever they come from.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ci.rehearsal.masks import Masks

_ANNOTATIONS = ("error", "warning", "notice")
_QUIET = ("debug", "group", "endgroup", "echo", "add-matcher", "remove-matcher")
# The runner took them from its output once. Now it refuses them, or only warns, and files are in their place.
_FORMER = {
    "set-output": "GITHUB_OUTPUT",
    "save-state": "GITHUB_STATE",
    "set-env": "GITHUB_ENV",
    "add-path": "GITHUB_PATH",
}
_NEW = re.compile(r"\s*::(?P<name>[a-z-]+)(?P<more>\s.*?)?::(?P<text>.*)")
_OLD = re.compile(r"##\[(?P<name>[a-z-]+)(?P<more>\s[^\]]*)?\](?P<text>.*)")
_TITLE = re.compile(r"(?:^|[\s,;])title=([^,;]*)")
CANARY = "rehearsal-canary"


@dataclass(kw_only=True, slots=True)
class Commands:
    """The commands of one step's output. annotations: (level, title and text).

    wrong: told what no runner should be told.
    """

    masks: Masks
    wrong: Callable[[str], None]
    annotations: list[tuple[str, str]] = field(default_factory=list)
    _stopped: str | None = None

    def line(self, line: str) -> str:
        """Obey a line; what is to be seen of it."""
        if self._stopped is not None:
            if line.strip() == f"::{self._stopped}::":
                self._stopped = None
            return self.masks.hide(line)
        found = _NEW.match(line) or _OLD.search(line)
        if found is not None:
            title = _TITLE.search(found["more"] or "")
            before = (
                f"{_unescaped(title[1], title=True)}: " if title is not None and found["name"] in _ANNOTATIONS else ""
            )
            self._obey(found["name"], before + _unescaped(found["text"]), line)
        return self.masks.hide(line)

    def end(self) -> None:
        """Say what is still open when the step ends."""
        if self._stopped is not None:
            self.wrong("::stop-commands:: was never taken back: nothing that came later was obeyed")

    def _obey(self, name: str, text: str, line: str) -> None:
        if name not in (*_ANNOTATIONS, *_QUIET, *_FORMER, "add-mask", "stop-commands"):
            return
        if CANARY in line:
            self.wrong(f"text that others may write was obeyed as a workflow command: ::{name}::")
        if name in _ANNOTATIONS:
            self.annotations.append((name, self.masks.hide(text)))
        elif name == "add-mask":
            if not text.strip():
                self.wrong("::add-mask:: was given nothing to hide")
            self.masks.add(text)
        elif name == "stop-commands":
            self._stopped = text.strip()
        elif name in _FORMER:
            self.wrong(f"::{name}:: is obeyed no longer; write to ${_FORMER[name]}")


def _unescaped(text: str, *, title: bool = False) -> str:
    """What was written; in a title two signs more are escaped."""
    more = (("%3A", ":"), ("%2C", ",")) if title else ()
    for written, meant in (("%0D", "\r"), ("%0A", "\n"), *more, ("%25", "%")):
        text = text.replace(written, meant)
    return text
