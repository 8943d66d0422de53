"""What a cell prints by itself is handed on in whole lines, also when it writes more than a pipe holds."""

from __future__ import annotations

import os

from stackproof.run.told_by_child import Handed


def test_lines_come_whole_and_the_last_one_at_the_end() -> None:
    reading, writing = os.pipe()
    said: list[str] = []
    told = Handed(reading, said.append)
    told.look()
    os.write(writing, b"one\r\ntw")
    told.look()
    assert said == ["one"]
    os.write(writing, b"o\nthree \xff")
    told.look()
    assert said == ["one", "two"]
    # Somebody who was left behind may hold the other end.
    told.close()
    os.close(writing)
    assert said == ["one", "two", "three \ufffd"]


def test_a_line_without_an_end_takes_no_more_memory_than_a_mebibyte() -> None:
    reading, writing = os.pipe()
    said: list[str] = []
    told = Handed(reading, said.append)
    for _ in range(40):
        os.write(writing, b"x" * 60000)
        told.look()
    os.close(writing)
    told.close()
    assert sum(map(len, said)) == 40 * 60000
    assert max(map(len, said)) < 1_200_000
