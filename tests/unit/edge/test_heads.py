"""What of a request's and a response's head passes through the edge."""

from __future__ import annotations

from stackproof.edge import heads


def test_what_belongs_to_one_connection_stays_with_it() -> None:
    asked = [
        ("Host", "edge:1"), ("Authorization", "Bearer k"), ("Connection", "keep-alive"), ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"), ("Accept-Encoding", "br, zstd"), ("X-Twice", "1"), ("X-Twice", "2"),
    ]  # fmt: skip
    assert heads.outgoing(asked) == [
        ("Authorization", "Bearer k"), ("X-Twice", "1"), ("X-Twice", "2"), ("Accept-Encoding", "gzip, deflate"),
    ]  # fmt: skip


def test_encodings_under_a_signature_stay() -> None:
    signed = [
        ("authorization", "AWS4-HMAC-SHA256 SignedHeaders=accept-encoding;host, Signature=1"),
        ("Accept-Encoding", "br"),
    ]
    assert heads.outgoing(signed) == signed


def test_a_response_names_no_way_past_the_edge() -> None:
    answered = {
        "content-type": "a/b",
        "alt-svc": 'h3=":443"',
        "strict-transport-security": "max-age=1",
        "upgrade": "h2c",
    }
    assert heads.incoming(answered) == {"content-type": "a/b"}
