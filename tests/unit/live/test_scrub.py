"""Secrets are taken out of what a run has written and printed, and nothing else is."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from stackproof.live import scrub

KEY = "sk-proj-ab/cd+ef<gh>12345678"
SECRETS = {"OPENAI_API_KEY": KEY}


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        KEY.replace("<", "&lt;").replace(">", "&gt;"),
    ],
)
def test_a_secret_goes_in_every_form_and_the_rest_stays(form: str) -> None:
    told = scrub.text(f'<failure message="a {form} b">c</failure>', SECRETS)
    assert form not in told
    assert KEY not in told
    assert told.startswith('<failure message="a ')
    assert told.endswith(' b">c</failure>')


def test_a_line_without_secrets_is_the_same_object() -> None:
    text = "nothing to see"
    assert scrub.text(text, SECRETS) is text


def test_files_below_a_folder_are_rewritten_and_stay_what_they_are(tmp_path: Path) -> None:
    deep = tmp_path / "cells" / "one"
    deep.mkdir(parents=True)
    line = json.dumps({"text": f"got {KEY} twice {KEY}", "n": 3})
    (deep / "tests.jsonl").write_text(f"{line}\n{{}}\n")
    (deep / "stack.log").write_bytes(b"\xff\xfe before " + KEY.encode() + b" after\r\nnext\n")
    (deep / "clean.txt").write_text("clean\n")
    assert scrub.folder(tmp_path, SECRETS) == ["cells/one/stack.log", "cells/one/tests.jsonl"]
    first, second = (deep / "tests.jsonl").read_text().splitlines()
    assert json.loads(first) == {"text": "got *** twice ***", "n": 3}
    assert second == "{}"
    assert (deep / "stack.log").read_bytes() == b"\xff\xfe before *** after\r\nnext\n"


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(KEY)
    inside = tmp_path / "run"
    inside.mkdir()
    (inside / "link.txt").symlink_to(outside)
    assert scrub.folder(inside, SECRETS) == []
    assert outside.read_text() == KEY


def test_a_stream_lets_none_through() -> None:
    stream = io.StringIO()
    assert scrub.Concealing(stream, SECRETS).write(f"key {KEY}\n") == len(f"key {KEY}\n")
    assert stream.getvalue() == "key ***\n"


def test_what_has_a_space_in_its_shape_goes_too() -> None:
    told = scrub.text('{"a": "Authorization: Bearer 0123456789abcdefghij", "b": "-----BEGIN PRIVATE KEY-----"}', {})
    assert told == '{"a": "Authorization: ***", "b": "***"}'
