"""The note on a server that no id comes through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackproof.stack import unknown_server


@pytest.mark.parametrize(
    ("servers", "noted"),
    [
        ((), False),
        ((None,), True),
        (("gunicorn",), False),
        ((None, "gunicorn"), False),
        ((None, None), True),
    ],
)
def test_it_is_said_where_marks_are_and_none_of_a_known_server(
    tmp_path: Path, servers: tuple[str | None, ...], noted: bool
) -> None:
    for pid, server in enumerate(servers):
        facts = {"pid": pid} if server is None else {"pid": pid, "server": server}
        (tmp_path / f"{pid}.json").write_text(json.dumps(facts))
    said = unknown_server.note(tmp_path)
    assert (said is not None) == noted
    assert said is None or "stackproof docs servers" in said


def test_a_mark_that_is_being_written_is_no_reason_to_say_anything(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text("{")
    assert unknown_server.note(tmp_path) is None
    assert unknown_server.note(tmp_path / "none") is None
