"""Completion in a shell: the script that it loads, and the answer to what the script asks.

click finds out which parameter a word belongs to. The scripts are ours: click's for bash takes words apart at colons
and equals signs, which `library:NAME`, node ids and `--option=value` are full of, and its one for fish at commas.
What they ask is the line up to the cursor, in COMP_LINE; the answer has one offer a line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from importlib import resources

import click
from click.shell_completion import CompletionItem, ShellComplete

from stackproof.cli.completing import VARIABLE

_END = "\ue000"  # marks the cursor: of private use, so that nobody has typed it
_SPECIAL = re.compile(r"""([\s"'\\$`&;|()<>*?\[\]{}!#~])""")


class Completion(ShellComplete):
    """What the shells have in common."""

    def __init__(self, cli: click.Command, ctx_args: dict[str, object], environ: Mapping[str, str]) -> None:
        super().__init__(cli, ctx_args, "stackproof", VARIABLE)
        self.line = environ.get("COMP_LINE", "")
        self.breaks = environ.get("COMP_WORDBREAKS", "")

    def source(self) -> str:
        """The script as it lies beside this module."""
        return script(self.name)

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, without the command and variables set for it, and the one at it."""
        words = [word.replace(_END, "") for word in _split(self.line + _END)]
        while len(words) > 1 and re.match(r"[A-Za-z_]\w*=", words[0]):
            words.pop(0)
        return words[1:-1], words[-1] if len(words) > 1 else ""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """As click's, with `--option=` before each value that is offered behind it."""
        option, equals, _ = incomplete.partition("=")
        found = super().get_completions(list(args), incomplete)
        if not (found or incomplete or (args and args[-1].startswith("-"))):
            # Nothing else can stand here.
            found = super().get_completions(args, "--")
        if not (equals and option.startswith("--")):
            return found
        return [CompletionItem(f"{option}={item.value}", type=item.type, help=item.help) for item in found]


class Bash(Completion):
    """Values are written as bash takes them, from where it begins to replace: behind the last colon or equals sign."""

    name = "bash"

    def complete(self) -> str:
        """`type,value` in each line."""
        args, incomplete = self.get_completion_args()
        quoted = _is_quoted(self.line)
        ends = [] if quoted else [incomplete.rfind(mark) for mark in ":=" if mark in self.breaks]
        cut = max(ends, default=-1) + 1
        found = [(item.type, item.value[cut:]) for item in self.get_completions(args, incomplete)]
        return "\n".join(f"{kind},{value if quoted else _escaped(value)}" for kind, value in found)


class Zsh(Completion):
    """Values go to zsh's own functions, which write them as zsh takes them."""

    name = "zsh"

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Three lines: type, value, description; `_describe` takes a value up to the first plain colon."""
        value = item.value.replace("\\", "\\\\").replace(":", "\\:") if item.help else item.value
        return f"{item.type}\n{value}\n{_line(item.help) or '_'}"


class Fish(Completion):
    """Values go to fish as they are, with their description behind a tab."""

    name = "fish"

    def format_completion(self, item: CompletionItem[str]) -> str:
        """`type,value` and, behind a tab, the description."""
        return f"{item.type},{item.value}" + (f"\t{_line(item.help)}" if item.help else "")


SHELLS: Mapping[str, type[Completion]] = {shell.name: shell for shell in (Bash, Zsh, Fish)}


def script(shell: str) -> str:
    """What a shell loads."""
    return resources.files(__package__).joinpath(f"completion.{shell}").read_text(encoding="utf-8").rstrip("\n")


def answer(cli: click.Command, around: object, environ: Mapping[str, str]) -> str | None:
    """What a shell is told that has set VARIABLE, `bash_complete` or `bash_source`; None where it is neither.

    Never raises: a person who types can do nothing about an error, and the command will tell it.
    """
    name, _, wanted = environ[VARIABLE].partition("_")
    if name not in SHELLS or wanted not in ("source", "complete"):
        return None
    shell = SHELLS[name](cli, {"obj": around}, environ)
    if wanted == "source":
        return shell.source()
    try:
        return shell.complete()
    except Exception:  # noqa: BLE001 - whatever it is, it is not for a command line that is being typed
        return ""


def _split(line: str) -> list[str]:
    """The words of a line that is not complete: a quote may be open. Each version of click has this somewhere else."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def _is_quoted(line: str) -> bool:
    """Whether the cursor stands inside quotes."""
    quote = ""
    escaped = False
    for char in line:
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
    return bool(quote)


def _escaped(value: str) -> str:
    return _SPECIAL.sub(r"\\\1", value)


def _line(text: str | None) -> str:
    return " ".join((text or "").split())
