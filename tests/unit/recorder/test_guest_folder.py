"""The folder that brings the recorder into a server: whole for each of several that start at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stackproof.recorder.serve import exec_


def test_servers_that_start_at_once_find_all_of_it(tmp_path: Path) -> None:
    folder, many = tmp_path / "guest", 8
    together = threading.Barrier(many, timeout=60)

    def start(_: int) -> set[str]:
        together.wait()
        exec_.guest_folder(str(folder))
        return {path.name for path in (folder / exec_.GUEST_NAME).iterdir()}

    # Of one process, as those of two containers that share the folder may have the same id.
    with ThreadPoolExecutor(many) as servers:
        found = list(servers.map(start, range(many)))
    assert all("brain.py" in names for names in found)
    assert len({frozenset(names) for names in found}) == 1
    assert {path.name for path in folder.iterdir()} == {exec_.GUEST_NAME, "sitecustomize.py"}


def test_what_is_being_compiled_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "recorder"
    (package / "serve").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    for name in ("brain.py", "__pycache__/brain.cpython-311.pyc", "__pycache__/ids.cpython-311.pyc.140234"):
        (package / name).write_text("")
    monkeypatch.setattr(exec_, "__file__", str(package / "serve" / "exec_.py"))
    guest = Path(exec_.guest_folder(str(tmp_path / "guest"))) / exec_.GUEST_NAME
    assert [path.name for path in (guest / "__pycache__").iterdir()] == ["brain.cpython-311.pyc"]
