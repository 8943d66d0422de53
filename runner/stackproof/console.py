"""What goes to the terminal: colour and live views for people, plain lines with the same words for everything else."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from stackproof import painting
from stackproof.ci import kind
from stackproof.ci.kind import Kind
from stackproof.errors import ExitCode, StackproofError
from stackproof.folding import folded

if TYPE_CHECKING:
    from rich.console import Console


def open_streams() -> None:
    """Give a process that was started without standard streams (`>&-`) empty ones.

    Otherwise the first file that it opens would be in their place, and a child would write into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def is_plain(stream: IO[str], environ: Mapping[str, str]) -> bool:
    """Whether colour and live views are out of place: no terminal or a dumb one, NO_COLOR, or a CI system."""
    if not stream.isatty() or environ.get("TERM") in ("dumb", "unknown"):
        return True
    return bool(environ.get("NO_COLOR")) or kind.of(environ) is not Kind.NONE


def make(stream: IO[str], environ: Mapping[str, str]) -> Console:
    """A console that never wraps, guesses markup or highlights words; colour only where `is_plain` is false."""
    from rich.console import Console  # noqa: PLC0415 - a fifth of a second that --version need not pay

    class Lines(Console):
        def on_broken_pipe(self) -> None:
            # rich would end the process with 1, the code of failed tests.
            raise BrokenPipeError

    plain = is_plain(stream, environ)
    return Lines(
        file=stream,
        force_terminal=not plain,
        color_system=None if plain else "auto",
        no_color=plain,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        legacy_windows=False,
    )


def out(text: str) -> None:
    """A line on standard output; its mark is coloured on a terminal."""
    print(text if is_plain(sys.stdout, os.environ) else painting.painted(text), flush=True)


def told(text: str, *, hanging: int | None = None) -> None:
    """A line for a person on standard output, as `out`; on a terminal that is too narrow it goes on below, indented.

    hanging: by how many columns, None for two more than it begins with; 0 leaves the line whole.
    """
    width = columns(sys.stdout, os.environ)
    if hanging == 0 or not width:
        out(text)
        return
    for line in text.split("\n"):
        for part in folded(line, width=width, hanging=hanging):
            out(part)


def show_error(error: StackproofError, *, stream: IO[str] | None = None) -> None:
    """`✗ message` and, on the next line, what to do about it. Never a traceback."""
    target = sys.stderr if stream is None else stream
    message, *more = str(error.message).splitlines() or [""]
    rest = [*more, *(error.hint or "").splitlines()]
    lines = [f"✗ {message}", *(f"  {line}" for line in rest)]
    if width := columns(target, os.environ):
        lines = [part for line in lines for part in folded(line, width=width)]
    if not is_plain(target, os.environ):
        lines[0] = painting.painted(lines[0])
    for line in lines:
        print(line, file=target, flush=True)


def show_unexpected(error: BaseException, *, project: Path, debug: bool) -> ExitCode:
    """One line for a fault of our own; the traceback goes to a file, or to the terminal with STACKPROOF_DEBUG=1."""
    text = "".join(traceback.format_exception(error))
    kind = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    if debug:
        print(text, file=sys.stderr)
    path = _keep(text, project)
    hint = f"traceback: {path}" if path else "no place to write the traceback to; STACKPROOF_DEBUG=1 shows it"
    hint += "\nthis is a defect of Stackproof: report it with the traceback and what `stackproof --version` prints"
    show_error(StackproofError(f"stackproof itself failed: {kind}", hint=hint))
    return ExitCode.INTERNAL


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
    """Columns on standard output; ruled and bold on a terminal, aligned by spaces elsewhere."""
    values = os.environ if environ is None else environ
    content = [list(row) for row in rows]
    if is_plain(sys.stdout, values):
        widths = [max(len(row[i]) for row in [list(head), *content]) for i in range(len(head))]
        for row in [list(head), *content]:
            out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    view = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in head:
        # A word that is wider than its column goes on below: a name that is cut is of no use.
        view.add_column(name, overflow="fold")
    for row in content:
        view.add_row(*row)
    make(sys.stdout, values).print(view)


def columns(stream: IO[str], environ: Mapping[str, str]) -> int | None:
    """How wide the terminal of a person is, with colour or without; None where lines stay whole, as in a log."""
    if not stream.isatty() or kind.of(environ) is not Kind.NONE:
        return None
    return shutil.get_terminal_size().columns


def _keep(text: str, project: Path) -> str | None:
    name = f"internal-error-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt"
    for folder in (project / ".stackproof", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError:
            continue
        path = folder / name
        return str(path.relative_to(project) if path.is_relative_to(project) else path)
    return None
