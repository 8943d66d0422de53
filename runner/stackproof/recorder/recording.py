"""The file format: one provider request and its answer, as JSON data that reads well in a diff.

`format` 1:
    format, test_id, scope,
    request  {provider, method, url, path, query, endpoint, model, headers, body}
    response {status, headers, is_streaming, framing?, body + cut? | events, waits?, complete, is_exception,
              exception}
    rules, provenance {recorded_at, server, sdk, recorded_with, stack?, model?, synthetic?, synthetic_weights?},
    id_normalization_mapping
A body is null or an object with one key that says how it is kept: `json`, `text`, `base64`, `file` (beside the
recording, see `sidefile`), and for requests `form`, `multipart`, `sha256`. An event is `{end?, event?, data | text |
raw | base64, cut?, joined?}`: `end` is how its lines end where that is no line feed, `cut` are byte offsets at which
the network cut it, `joined` says that it began in the chunk that its predecessor ended in. `waits` are the
milliseconds before each chunk, the first one from the request on.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from . import arrays, events, sidefile
from .canonical import NotPlainJson, compact, parse

FORMAT = 1
Recording = dict[str, Any]
# What may differ between two recordings of an equal answer.
_VOLATILE = ("provenance", "id_normalization_mapping", "test_id")
# Bytes asked for at once: what nearly every recording is shorter than, and what the rest of a longer one is read in.
_MOST, _LARGE = 1 << 15, 1 << 20


class DamagedRecordingError(Exception):
    """A file that is no recording: unreadable, cut short, or of an unknown format. The message names the file."""


def read(path: str) -> Recording | None:
    """The recording at `path`; None when there is no such file; DamagedRecordingError when it is something else."""
    return _read(path, to_replay=False)


def read_to_replay(path: str) -> Recording | None:
    """As `read`, for who wants the bytes of the answer: where there are long arrays, its body is bytes already.

    What else has such arrays, the request, is not for looking at then.
    """
    return _read(path, to_replay=True)


def is_of_another(path: str, stack: str | None) -> bool:
    """Whether the file at `path` says that a stack other than `stack` recorded it: that one's to use or leave.

    False where nobody is named, and for a damaged file: whose that is cannot be told.
    """
    try:
        content = read(path)
    except DamagedRecordingError:
        return False
    recorded_by = ((content or {}).get("provenance") or {}).get("stack")
    return stack is not None and recorded_by is not None and recorded_by != stack


def _read(path: str, *, to_replay: bool, again: int = 2) -> Recording | None:
    """again: how often to look anew where its side file is gone: another process may just have replaced both."""
    try:
        text = _content(path).decode("utf-8")
        data, has_arrays = arrays.read(text) if to_replay else (arrays.read_plain(text), False)
        if isinstance(data, dict):
            sidefile.take_in(path, data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        if again and isinstance(error, sidefile.SideFileError):
            return _read(path, to_replay=to_replay, again=again - 1)
        raise DamagedRecordingError(f"{path} cannot be read as a recording: {error}") from None
    if isinstance(data, dict) and data.get("format", FORMAT) != FORMAT:
        raise DamagedRecordingError(f"{path} has format {data['format']!r}; this version reads format {FORMAT}")
    lacking = _lacking(data)
    if lacking is not None:
        raise DamagedRecordingError(f"{path} is not a recording: it has no {lacking}")
    found: Recording = data
    body = found["response"].get("body") if has_arrays else None
    if isinstance(body, dict) and "json" in body:
        found["response"]["body"] = {"bytes": arrays.compact(body["json"])}
    return found


def _content(path: str) -> bytes:
    # On the way of every replayed call: a file object would cost as much again as the reading, its size a fifth.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = os.read(handle, _MOST)
        if rest := os.read(handle, _LARGE):
            pieces = [content, rest]
            while pieces[-1]:
                pieces.append(os.read(handle, _LARGE))
            content = b"".join(pieces)
    finally:
        os.close(handle)
    return content


def _lacking(data: Any) -> str | None:  # noqa: PLR0911 - a list of things to look at
    """What a file needs to be replayed and has not, or has in another shape."""
    if not isinstance(data, dict) or "format" not in data:
        return "format"
    request, response = data.get("request"), data.get("response")
    if not isinstance(request, dict):
        return "request"
    if not isinstance(response, dict):
        return "response"
    if not isinstance(response.get("status", ""), int | None) or not isinstance(response.get("headers"), dict):
        return "response head"
    if not isinstance(response.get("complete"), bool) or not isinstance(response.get("is_exception"), bool):
        return "word on how the response ended"
    if response["is_exception"] and not isinstance(response.get("exception"), dict):
        return "exception"
    return None if _has_body(response) else "readable body"


def _has_body(response: dict[str, Any]) -> bool:
    framing = response.get("framing")
    if framing is None:
        body = response.get("body", ...)
        return body is None or (isinstance(body, dict) and _is_kept(body, ("json", "text", "base64", "bytes")))
    kept, found = ("data", "text", "raw", "base64"), response.get("events")
    return framing in events.FRAMINGS and isinstance(found, list) and all(_is_kept(event, kept) for event in found)


def _is_kept(value: Any, ways: tuple[str, ...]) -> bool:
    if not isinstance(value, dict) or value.keys().isdisjoint(ways):
        return False
    if "base64" in value:
        try:
            a2b_base64(value["base64"], strict_mode=True)
        except (ValueError, TypeError):
            return False
    return True


def write(path: str, recording: Recording) -> bool:
    """Write atomically; False when the file there already holds an equal answer and was left untouched."""
    try:
        present = read(path)
    except DamagedRecordingError:
        present = None
    if present is not None and is_equal(present, recording):
        if _is_large(present):
            with sidefile.held(path), contextlib.suppress(DamagedRecordingError):
                sidefile.remove_stale(path, read(path) or present)  # by now it may be another's
        return False
    put(path, recording, present)
    return True


def put(path: str, recording: Recording, before: Recording | None = None) -> None:
    """Write atomically, an equal answer too: for what changes a file without changing its answer.

    before: the recording that the file held, where it held one, so that its side files go.
    """
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    if not _is_large(recording) and (before is None or not _is_large(before)):
        _put(folder, path, recording)
        return
    with sidefile.held(path):
        _put(folder, path, recording)
        sidefile.remove_stale(path, recording)


def _put(folder: str, path: str, recording: Recording) -> None:
    # Random, as process ids repeat: every container has its process 1, and a killed one leaves its file behind.
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.urandom(6).hex()}.tmp")
    try:
        # A lone surrogate has no UTF-8; written as \udXXX it is JSON, and the file stays readable for every tool.
        with open(temporary, "x", encoding="utf-8", newline="\n", errors="backslashreplace") as file:
            file.write(dumps(sidefile.put_out(path, recording)))
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (None, temporary):
            error.filename = path  # a full disk is told of at a write, without a name
        raise


def is_equal(one: Recording, other: Recording) -> bool:
    """Whether two recordings give the same answer to the same request of the same scope, whoever recorded them."""
    return _essence(one) == _essence(other)


def _is_large(recording: Recording) -> bool:
    """Whether its body lies beside it; where none did there is none to look for."""
    return sidefile.large(recording["response"].get("body")) is not None


def remove(path: str) -> None:
    """Remove a recording and what lies beside it; nothing happens where there is none."""
    present = None
    with contextlib.suppress(DamagedRecordingError):
        present = read(path)
    if present is not None and not _is_large(present):
        with contextlib.suppress(FileNotFoundError):  # another process removed it at the same time
            os.unlink(path)
        return
    with sidefile.held(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        sidefile.remove(path)


def _essence(recording: Recording) -> str:
    """What makes two recordings equal: not who recorded it and when, nor where the network cut it this time."""
    essence = {key: value for key, value in recording.items() if key not in _VOLATILE}
    response = {key: value for key, value in essence["response"].items() if key not in ("cut", "waits")}
    content = sidefile.large(response.get("body"))
    if content is not None:
        response["body"] = {"sha256": sha256(content).hexdigest()}
    if "events" in response:
        response["events"] = [
            {key: value for key, value in event.items() if key not in ("cut", "joined")} for event in response["events"]
        ]
    if str(essence["request"].get("path")).endswith("/models"):
        response["body"] = _without_created(response.get("body"))
    return json.dumps({**essence, "response": response}, sort_keys=True)


def _without_created(body: Any) -> Any:
    """A model list without its dates: some servers give the time of their own start, which is no change of the list."""
    listed = body.get("json") if isinstance(body, dict) else None
    models = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(listed, dict) or not isinstance(models, list):
        return body
    dateless = [{**model, "created": 0} if isinstance(model, dict) else model for model in models]
    return {"json": {**listed, "data": dateless}}


_shown = json.JSONEncoder(ensure_ascii=False).encode


def dumps(value: Any) -> str:
    """Indented JSON in which an array of plain numbers, and an event of a stream, are one line of a diff each."""
    return "".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    inner = indent + "  "
    if isinstance(value, dict) and value:
        opening = "{"
        for key, item in value.items():
            yield f"{opening}\n{inner}{_shown(key)}: "
            if key == "events" and isinstance(item, list) and item:
                rows = f",\n{inner}  ".join(_shown(event) for event in item)
                yield f"[\n{inner}  {rows}\n{inner}]"
            else:
                yield from _lines(item, inner)
            opening = ","
        yield f"\n{indent}}}"
    elif isinstance(value, list) and value and not all(isinstance(item, int | float) for item in value):
        opening = "["
        for item in value:
            yield f"{opening}\n{inner}"
            yield from _lines(item, inner)
            opening = ","
        yield f"\n{indent}]"
    else:
        yield _shown(value)


def encode_body(content_type: str, raw: bytes) -> dict[str, Any] | None:
    """How a body is kept: JSON where nothing is lost by it, else text, else base64."""
    if not raw:
        return None
    if "json" in content_type.lower():
        with contextlib.suppress(NotPlainJson):
            return {"json": parse(raw)}
    with contextlib.suppress(UnicodeDecodeError):
        return {"text": raw.decode("utf-8")}
    return {"base64": b2a_base64(raw, newline=False).decode("ascii")}


def decode_body(body: dict[str, Any] | None) -> bytes:
    """The bytes of a kept body."""
    if body is None:
        return b""
    if "json" in body:
        return compact(body["json"])
    if "text" in body:
        return str(body["text"]).encode("utf-8")
    if "bytes" in body:
        return bytes(body["bytes"])
    return a2b_base64(body["base64"])


def chunks_of(response: dict[str, Any]) -> Iterator[bytes]:
    """The answer's body in the chunks that the network made of it."""
    framing = response.get("framing")
    if framing is not None:
        return _chunks_of_events(framing, response["events"])
    body = decode_body(response["body"])
    cut = response.get("cut")
    return iter((cut_at(body, cut) if cut else (body,)) if body else ())


def _chunks_of_events(framing: events.Framing, kept: list[dict[str, Any]]) -> Iterator[bytes]:
    pending = b""
    for event in kept:
        if pending and not event.get("joined"):
            yield pending
            pending = b""
        raw = events.encode(framing, event)
        if "cut" in event:
            *cut_off, raw = cut_at(raw, event["cut"])
            for piece in cut_off:
                yield pending + piece
                pending = b""
        pending = pending + raw if pending else raw
    if pending:
        yield pending


def cut_at(raw: bytes, offsets: Any) -> list[bytes]:
    """Cut `raw` at the offsets that lie inside it; always at least one piece."""
    edges = [0, *sorted(min(max(int(offset), 0), len(raw)) for offset in offsets), len(raw)]
    pieces = [raw[start:end] for start, end in itertools.pairwise(edges)]
    return [piece for piece in pieces[:-1] if piece] + [pieces[-1]]
