"""The shape of one recorded answer: status, content type, model, and what its body or its events look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stackproof.drift import nature, streamshape
from stackproof.drift.jsonshape import Shape
from stackproof.drift.streamshape import StreamShape
from stackproof.recorder.recording import Recording
from stackproof.recordings.meaning import meaning

EVENTS, JSON, TEXT, BINARY, NOTHING = "events", "JSON", "text", "binary", "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """status: None where the transport raised before there was one. media: the content type without its parameters.

    form: how the body is cut: events, JSON, text, binary, nothing. model: as the answer names it, "" where it does not.
    complete: False where somebody left, or the connection broke, before the end. raised: what the transport raised.
    """

    status: int | None
    media: str
    form: str
    model: str
    complete: bool
    raised: str = ""
    error: str = ""
    body: Shape | None = None
    stream: StreamShape | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether the provider refused or failed, which says nothing about how it answers."""
        return nature.is_refusal(self.status)


def shape_of(content: Recording) -> Answer:
    """The shape of a recording's answer."""
    response = content["response"]
    said = meaning(content)
    headers = {str(key).lower(): str(item) for key, item in response["headers"].items()}
    body: dict[str, Any] = response.get("body") or {}
    shape, stream = None, None
    if response.get("framing") is not None:
        form, stream = EVENTS, streamshape.shape_of(response["events"], response["framing"])
    elif "json" in body:
        form, shape = JSON, Shape()
        shape.take(body["json"])
    else:
        form = TEXT if "text" in body else BINARY if body else NOTHING
    return Answer(
        status=response.get("status"),
        media=headers.get("content-type", "").partition(";")[0].strip().lower(),
        form=form,
        model=said.model,
        complete=bool(response.get("complete")),
        raised=said.exception,
        error=said.error,
        body=shape,
        stream=stream,
    )
