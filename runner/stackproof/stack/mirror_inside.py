"""Runs beside a stack in a container that sees no folder of the run: tells what the stack's processes wrote there.

`mirror_inside.py RUN_DIR [journals]`. A line of JSON on standard input asks, {"put": {NAME: TEXT}}: files that the
tests' side made. The answer is a line {"busy": {"serving": {SCOPE: n}, "inflight": {SCOPE: n}}, "files": [[NAME,
OFFSET, SIZE]]}, then the bytes of these files, in this order. OFFSET is null for a file that is told whole; with
`journals` that is but one, `RUNNING`. Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

JOURNALS = "journals"
_BUSY = ("serving", "inflight")
_WHOLE = ("staged", "observed", "marks")
_GROWING = (".jsonl", ".log")
RUNNING = "running"
"""What tests in here are being run (`evidence.running`, which this program cannot import): it is overwritten."""


class Teller:
    """Remembers what it has told, and tells the rest."""

    def __init__(self, run_dir: str, *, journals: bool = False) -> None:
        self._run_dir = Path(run_dir)
        self._folders = () if journals else _WHOLE
        self._told: dict[str, int] = {}
        self._whole: dict[Path, tuple[int, int]] = {}

    def put(self, files: dict[str, str]) -> None:
        """Write what the tests' side has made, each file at once."""
        for name, text in files.items():
            path = self._run_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f"{path.name}.put")
            partial.write_text(text, encoding="utf-8")
            partial.replace(path)

    def busy(self) -> dict[str, dict[str, int]]:
        """What is being served and called now. Looked at first: what has ended by then is among the files."""
        return {kind: dict(self._counts(self._run_dir / kind)) for kind in _BUSY}

    def news(self) -> Iterator[tuple[str, int | None, bytes]]:
        """What nobody was told yet: name, offset and bytes; recordings come before the journals that name them."""
        for folder in self._folders:
            for base, _, names in os.walk(self._run_dir / folder):
                for name in sorted(names):
                    if not name.startswith(".") and not name.endswith(".tmp"):
                        yield from self._file(Path(base, name))
        for path in sorted(self._run_dir.iterdir()):
            if path.suffix in _GROWING:
                yield from self._growth(path)
        yield from self._file(self._run_dir / RUNNING)

    def _file(self, path: Path) -> Iterator[tuple[str, int | None, bytes]]:
        try:
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                state = (found.st_mtime_ns, found.st_size)
                if self._whole.get(path) == state:
                    return
                data = file.read()
        except FileNotFoundError:
            return
        self._whole[path] = state
        yield str(path.relative_to(self._run_dir)), None, data

    def _growth(self, path: Path) -> Iterator[tuple[str, int | None, bytes]]:
        start = self._told.get(path.name, 0)
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
        # Others append to the same file outside: half a line would be lost among theirs.
        data = data[: data.rfind(b"\n") + 1]
        if data:
            self._told[path.name] = start + len(data)
            yield path.name, start, data

    @staticmethod
    def _counts(folder: Path) -> Iterator[tuple[str, int]]:
        for scope in folder.iterdir() if folder.is_dir() else ():
            if count := sum(1 for _ in scope.iterdir()):
                yield scope.name, count


def serve(run_dir: str, asked: BinaryIO, told: BinaryIO, *, journals: bool = False) -> None:
    """Answer every line until there are no more."""
    teller = Teller(run_dir, journals=journals)
    for line in asked:
        teller.put(json.loads(line)["put"])
        busy = teller.busy()
        news = list(teller.news())
        files = [[name, offset, len(data)] for name, offset, data in news]
        told.write(json.dumps({"busy": busy, "files": files}).encode() + b"\n")
        told.writelines(data for _, _, data in news)
        told.flush()


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer, journals=JOURNALS in sys.argv[2:])
