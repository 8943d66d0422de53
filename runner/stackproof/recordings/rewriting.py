"""Writes recordings as they would be written today, each file atomically and only where it differs."""

from __future__ import annotations

import json
from pathlib import Path

from stackproof.recorder import recording, sidefile
from stackproof.recorder.recording import Recording
from stackproof.recordings.corpus import Entry
from stackproof.recordings.normalising import LAYOUT, Change, changes, normalized


def rewrite(entry: Entry, *, dry_run: bool = False) -> tuple[Change, ...]:
    """Normalise the file of an undamaged entry; what changed in it, or would with `dry_run`; nothing where it fits.

    What changes neither an answer nor a header is `layout`: the order of keys, indentation, a large body that lies in
    the file itself.
    """
    if entry.content is None:
        return ()
    after = normalized(entry.content)
    found = () if after == entry.content else changes(entry.content, after)
    if not found and _is_laid_out(entry.path, after):
        return ()
    if not dry_run:
        recording.put(str(entry.path), after, entry.content)
    return found or (Change(rule=LAYOUT, path=""),)


def _is_laid_out(path: Path, content: Recording) -> bool:
    raw = path.read_bytes()
    if sidefile.large(content["response"].get("body")) is not None:
        body = json.loads(raw)["response"]["body"]
        if "file" not in body:
            return False
        content = {**content, "response": {**content["response"], "body": body}}
    return raw == recording.dumps(content).encode("utf-8", "backslashreplace")
