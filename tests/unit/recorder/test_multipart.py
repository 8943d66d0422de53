"""Multipart bodies are their parts; the boundary is nobody's business."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder.multipart import read_parts


def _body(boundary: str, *parts: tuple[str, bytes]) -> bytes:
    line = f"--{boundary}".encode()
    return b"".join(line + b"\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n" for head, content in parts) + (
        line + b"--\r\n"
    )


FIELD = 'Content-Disposition: form-data; name="prompt"'
FILE = 'content-disposition: form-data; name="file"; filename="a b.mp3"\r\nContent-Type: audio/mpeg'


def test_fields_and_files() -> None:
    parts = read_parts(" boundary=AAA", _body("AAA", (FIELD, "é".encode()), (FILE, b"\xff\xfb\r\n--AA\r\n")))
    assert parts is not None
    assert [(part.name, part.filename, part.content_type, part.content) for part in parts] == [
        ("prompt", None, None, "é".encode()),
        ("file", "a b.mp3", "audio/mpeg", b"\xff\xfb\r\n--AA\r\n"),
    ]


@given(st.binary().filter(lambda raw: b"--AAA" not in raw))
def test_the_content_of_a_part_is_exact(content: bytes) -> None:
    parts = read_parts("boundary=AAA", _body("AAA", (FILE, content), (FIELD, b"")))
    assert parts is not None
    assert [part.content for part in parts] == [content, b""]


@pytest.mark.parametrize(
    "parameters", ["boundary=A:B", ' boundary="A:B"', 'charset=utf-8; boundary="A:B"', "Boundary=A:B"]
)
def test_a_boundary_may_be_quoted(parameters: str) -> None:
    assert read_parts(parameters, _body("A:B", (FIELD, b"x"))) is not None


def test_a_multipart_inside_a_part_may_have_a_longer_boundary() -> None:
    inner = _body("AAAinner", (FIELD, b"x"))
    parts = read_parts("boundary=AAA", b"preamble\r\n" + _body("AAA", (FILE, inner)) + b"epilogue")
    assert parts is not None
    assert [part.content for part in parts] == [inner]


@pytest.mark.parametrize(
    ("disposition", "filename"),
    [
        ('form-data; name="f"; filename="日本.png"', "日本.png"),
        ("form-data; name=\"f\"; filename*=utf-8''na%C3%AFve.png", "naïve.png"),
        ('form-data; name="f"; filename="a\\"b.png"', 'a"b.png'),
        ('form-data; name="f"', None),
    ],
)
def test_names_of_files_in_every_spelling(disposition: str, filename: str | None) -> None:
    parts = read_parts("boundary=A", _body("A", (f"Content-Disposition: {disposition}", b"x")))
    assert parts is not None
    assert parts[0].filename == filename
    assert parts[0].name == "f"


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("", _body("A", (FIELD, b"x"))),
        ("boundary=", _body("A", (FIELD, b"x"))),
        ("boundary=B", _body("A", (FIELD, b"x"))),
        ("boundary=A", b""),
        ("boundary=A", b"--A\r\n" + FIELD.encode() + b"\r\n\r\nnever closed"),
        ("boundary=A", b"--A\r\nno blank line\r\n--A--\r\n"),
    ],
)
def test_what_is_no_multipart_is_said_to_be_none(parameters: str, body: bytes) -> None:
    assert read_parts(parameters, body) is None
