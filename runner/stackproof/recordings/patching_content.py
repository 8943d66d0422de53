"""What a patch would put into files: recordings as the recorder writes them, where it looks for them, no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from stackproof.recorder import recording, redact, sidefile
from stackproof.recordings import corpus, placing
from stackproof.recordings.patching_names import shown
from stackproof.recordings.wording import one_line, shortened


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What recordings are held against. secrets: setup → values by the name of their variable."""

    integration_root: str
    secrets: Mapping[str, Mapping[str, str]]

    def of(self, name: str) -> Mapping[str, str]:
        """The secrets of the setup that a name begins with."""
        return self.secrets.get(name.partition("/")[0], {})


def refusals(root: Path, names: list[str], known: Known) -> Iterator[str]:
    """Why recordings at `names` below `root` may not come in, a sentence for each that may not."""
    for name in names:
        try:
            why = _recording(root, name, known)
        except (RecursionError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            # Its author may have put anything anywhere: whatever cannot be looked at is no recording.
            why = f"cannot be looked at as a recording ({type(error).__name__})"
        if why is not None:
            yield f"{shown(name)} {why}"


def _recording(root: Path, name: str, known: Known) -> str | None:
    raw = (root / name).read_bytes()
    entry = corpus.read(root / name, root)
    if entry.content is None:
        return f"is no recording: {shortened(one_line(entry.damage or ''), 200)}"
    hit = redact.find(entry.content, known.of(name)) or redact.find(raw.decode("utf-8", "replace"), known.of(name))
    if hit is not None:
        where = f" in {shortened(one_line(hit[1]), 80)}" if hit[1] else ""
        return f"holds a secret: {hit[0]}{where}"
    # Two values under one key, or letters written as numbers, are a file that says one thing and shows another.
    if recording.dumps(json.loads(raw)).encode("utf-8", "backslashreplace") != raw:
        return "is not written as the recorder writes it; stackproof recordings normalize does that"
    wrong = placing.misplaced(entry, known.integration_root)
    return None if wrong is None else f"is not where it is looked up: {wrong.what}"


def body_refusal(name: str, content: bytes, owner: bytes | None, known: Known) -> str | None:
    """Why a body beside a recording may not come in. owner: the file that should name it; None where there is none."""
    file = name.rpartition("/")[2]
    if owner is None or _named_by(owner) != file:
        why = f"is the body of no recording: {sidefile.belongs_to(file)} does not name it"
    elif sha256(content).hexdigest()[:20] != file.split(".")[-2]:
        why = "has another content than its name says"
    elif (hit := redact.find(content.decode("latin-1"), known.of(name))) is not None:
        why = f"holds a secret: {hit[0]}"
    else:
        return None
    return f"{shown(name)} {why}"


def lost_refusal(name: str, owner: bytes | None) -> str | None:
    """Why a body may not go: its recording stays and names it."""
    file = name.rpartition("/")[2]
    if owner is None or _named_by(owner) != file:
        return None
    return f"{shown(name)} is the body of a recording that stays, and may not go"


def _named_by(owner: bytes) -> str | None:
    try:
        found = json.loads(owner)["response"]["body"]["file"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) else None
