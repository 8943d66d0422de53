"""Encodings that the standard library cannot undo: read where a package is there, kept as they are where none is."""

from __future__ import annotations

import gzip
import importlib
import itertools
import sys
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import encodings, recording
from stackproof.recorder.normalise import Ids
from stackproof.recorder.take import Take

PACKED: dict[str, Callable[[bytes], bytes]] = {"br": brotli.compress, "zstd": zstandard.compress}
PACKAGES = {
    "br": ("brotli", "brotlicffi"),
    "zstd": ("compression.zstd", "backports.zstd", "zstandard"),
}


class Heard:
    """A take of an answer, what of it the caller got, and what is kept."""

    def __init__(self, encoding: str, content_type: str = "text/plain") -> None:
        self.kept: dict[str, Any] = {}
        self.take = Take(Ids("ab" * 32, 1), self.kept.update)
        head = {"content-type": content_type, "content-encoding": encoding}
        self.headers = self.take.start(200, {**head, "content-length": "9"}, head)

    def body(self, *chunks: bytes) -> bytes:
        given_out = [piece for chunk in chunks for piece in self.take.feed(chunk)]
        return b"".join(given_out + self.take.end())


def _cuts(raw: bytes, offsets: list[int]) -> list[bytes]:
    edges = [0, *sorted(offset % (len(raw) + 1) for offset in offsets), len(raw)]
    return [raw[start:end] for start, end in itertools.pairwise(edges)]


def _without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("encoding", PACKED)
@given(offsets=st.lists(st.integers(0), max_size=6), raw=st.binary(max_size=60))
def test_bodies_are_read_under_any_cuts(encoding: str, offsets: list[int], raw: bytes) -> None:
    heard = Heard(encoding.upper())
    assert heard.body(*_cuts(PACKED[encoding](raw), offsets)) == raw
    assert heard.headers == {"content-type": "text/plain"}
    assert recording.decode_body(heard.kept["body"]) == raw
    # With that name in a file, its body would be as it came, and whoever replays it would decode once more.
    assert heard.kept["headers"] == {"content-type": "text/plain"}


@pytest.mark.parametrize(
    ("encoding", "package"), [(encoding, package) for encoding, names in PACKAGES.items() for package in names]
)
def test_each_package_will_do(monkeypatch: pytest.MonkeyPatch, encoding: str, package: str) -> None:
    # One of them is enough: which ones there are depends on the version of Python and on what is beside it.
    pytest.importorskip(package, reason=f"there is no {package} here")
    _without(monkeypatch, *(name for name in PACKAGES[encoding] if name != package))
    raw = b"some text, " * 9000
    packed = PACKED[encoding](raw)
    assert Heard(encoding).body(packed[:7], packed[7:]) == raw
    with pytest.raises(zlib.error):
        Heard(encoding).body(b"\xff\xff\xff\xff is nothing of the kind")


def test_a_stream_is_cut_into_events_as_it_comes() -> None:
    packer = brotli.Compressor()
    heard = Heard("br", "text/event-stream")
    for number in range(3):
        event = b'data: {"n":%d}\n\n' % number
        assert heard.take.feed(packer.process(event) + packer.flush()) == [event]
    frames = zstandard.ZstdCompressor().compressobj()
    heard = Heard("zstd", "text/event-stream")
    for number in range(3):
        event = b'data: {"n":%d}\n\n' % number
        chunk = frames.compress(event) + frames.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        assert heard.take.feed(chunk) == [event]


def test_an_answer_in_several_compressed_parts_is_read_to_its_end() -> None:
    pack: Callable[[bytes], bytes]
    for encoding, pack in (("gzip", gzip.compress), ("zstd", zstandard.compress)):
        packed = pack(b"one, ") + pack(b"two")
        assert Heard(encoding).body(packed) == b"one, two"
        assert Heard(encoding).body(*(packed[at : at + 1] for at in range(len(packed)))) == b"one, two"
        assert Heard(encoding).body(packed + b"\0\0\0\0", b"\0") == b"one, two", "padding is no part"


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("encoding", [*PACKED, "compress", "gzip, br"])
def test_what_nothing_here_undoes_is_kept_as_the_bytes_that_it_is(
    monkeypatch: pytest.MonkeyPatch, encoding: str, content_type: str
) -> None:
    _without(monkeypatch, *PACKAGES["br"], *PACKAGES["zstd"])
    packed = b"\x8b\x02\x80\n\n\x00\xff"
    heard = Heard(encoding, content_type)
    assert heard.body(packed[:3], packed[3:]) == packed
    assert heard.headers == {"content-type": content_type, "content-encoding": encoding}
    assert heard.kept["headers"] == heard.headers
    assert b"".join(recording.chunks_of(heard.kept)) == packed


def test_a_broken_package_is_no_reason_to_fail_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise RuntimeError(name)

    monkeypatch.setattr(importlib, "import_module", broken)
    assert Heard("br").body(b"\x00\xff") == b"\x00\xff"


def test_no_package_is_loaded_before_such_an_answer_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    load = importlib.import_module

    def noted(name: str) -> Any:
        loaded.append(name)
        return load(name)

    monkeypatch.setattr(importlib, "import_module", noted)
    Heard("gzip").body(gzip.compress(b"plain"))
    Heard("identity").body(b"plain")
    assert loaded == []
    Heard("br").body(brotli.compress(b"plain"))
    assert loaded == ["brotli"]


def test_the_name_stands_in_a_file_for_what_its_body_was() -> None:
    assert encodings.is_undone("content-encoding", " GZIP ")
    assert not encodings.is_undone("content-encoding", "br")
    assert not encodings.is_undone("content-type", "gzip")


@pytest.mark.parametrize(
    ("authorization", "signed"),
    [
        (None, False),
        ("Bearer accept-encoding", False),
        ("AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host;x-amz-date, Signature=ab", False),
        ("AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=accept;Accept-Encoding;host, Signature=ab", True),
    ],
)
def test_a_signature_over_what_is_asked_for_is_seen(authorization: str | None, signed: bool) -> None:
    assert encodings.is_signed(authorization) is signed
