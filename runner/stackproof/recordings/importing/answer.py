"""The `response` part of a recording, out of an answer as it was on the wire.

Unlike what the recorder does, nothing in it is normalised, and there are no marks of where the network cut it: no
source tells.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from stackproof.recorder import encodings, events, recording, redact
from stackproof.recorder.take import Response
from stackproof.recordings.importing.imported import ImportedAnswer, RefusedSource


def response_of(answer: ImportedAnswer) -> Response:
    """RefusedSource when the body is not in the encoding that its headers name."""
    headers = {key.lower(): value for key, value in answer.headers.items()}
    kept = {key: value for key, value in headers.items() if key in redact.RESPONSE_HEADERS}
    encoding, content_type = headers.get("content-encoding", "").strip().lower(), headers.get("content-type", "")
    body = answer.body
    if encoding not in ("", "identity"):
        undone = _undone(encoding, body)
        if undone is None:
            content_type = ""  # nothing can be read of it: it is kept as the bytes that it is
        else:
            body = undone
            if encodings.needs_a_package(encoding):
                kept.pop("content-encoding", None)  # with this name in a file, its body is as it came
    framing = events.framing_of(content_type)
    return {
        "status": answer.status,
        "headers": kept,
        "is_streaming": framing is not None,
        **_content(framing, content_type, body),
        "complete": answer.complete and answer.exception is None,
        "is_exception": answer.exception is not None,
        "exception": None if answer.exception is None else dict(answer.exception),
    }


def _content(framing: events.Framing | None, content_type: str, body: bytes) -> Mapping[str, object]:
    if framing is None:
        return {"body": recording.encode_body(content_type, body)}
    splitter = events.Splitter(framing)
    pieces = [*splitter.feed(body), splitter.end()]
    return {"framing": framing, "events": [events.decode(framing, piece) for piece in pieces if piece]}


def _undone(encoding: str, body: bytes) -> bytes | None:
    undo = encodings.undo(encoding)
    if undo is None:
        return None
    try:
        return undo(body)
    except zlib.error:
        raise RefusedSource(f"its body is not in the content-encoding {encoding} that its headers name") from None
