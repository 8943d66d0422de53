"""Reading /proc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackproof.stack import proctable

pytestmark = pytest.mark.skipif(not proctable.available(), reason="reads /proc")

# A command may hold spaces and parentheses; fields are counted from the last one.
STAT = "41 (a (b) c) Z 7 40 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0\n"


def test_a_command_with_parentheses_does_not_shift_the_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "41").mkdir()
    (tmp_path / "41" / "stat").write_text(STAT)
    monkeypatch.setattr(proctable, "PROC", tmp_path)
    found = proctable.entry(41)
    assert found == proctable.Entry(pid=41, state="Z", parent=7, group=40, started=98765)
    assert not found.running
    assert proctable.entry(42) is None


def test_this_process_is_there_with_its_parent() -> None:
    own = proctable.entry(os.getpid())
    assert own is not None
    assert own.parent == os.getppid()
    assert own.running
    assert os.getpid() in proctable.family(own.group)


def test_the_tables_of_the_kernel_are_read_by_address_and_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net").mkdir()
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    row = "   0: {} 00000000:0000 {} 00000000:00000000 00:00000000 00000000     0        0 {} 1 0 100\n"
    (tmp_path / "net" / "tcp").write_text(
        head
        + row.format("0100007F:1F90", "0A", 11)  # 127.0.0.1:8080, listening
        + row.format("0100007F:1F90", "01", 12)  # the same, an established connection
        + row.format("0200007F:1F90", "0A", 13)  # 127.0.0.2
        + row.format("00000000:1F90", "0A", 14)  # every address
        + row.format("0100007F:1F91", "0A", 15)  # another port
    )
    mapped = "0000000000000000FFFF00000100007F"
    (tmp_path / "net" / "tcp6").write_text(
        head + row.format(f"{'0' * 32}:1F90", "0A", 16) + row.format(f"{mapped}:1F90", "0A", 17)
    )
    monkeypatch.setattr(proctable, "PROC", tmp_path)
    assert proctable.listening(8080) == frozenset({11, 14, 16, 17})


def test_without_tables_the_answer_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proctable, "PROC", tmp_path)
    assert proctable.listening(8080) is None
    assert list(proctable.entries()) == []
