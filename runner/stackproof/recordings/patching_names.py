"""Which names a patch of recordings may touch: those that the recorder gives, spelled in one way only. Does no I/O."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

from stackproof.recordings.wording import one_line, shortened

_RECORDING = r"[0-9a-f]{12}-[0-9a-f]{20}(?:-[1-9][0-9]*)?|models-[0-9a-f]{20}-[0-9a-f]+"
_FILE = re.compile(rf"(?:{_RECORDING})(?:\.json|\.[0-9a-f]{{20}}\.bin)")
_SETUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST = 1000  # characters of a path
# Control, format, surrogate, private, unassigned; separators but the plain space; what other systems read as one.
_STRANGE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_RESERVED = frozenset('\\:*?"<>|~')


def shown(path: str) -> str:
    """A path of somebody else's as a message may have it."""
    return shortened(one_line(path), 120)


def refusal(path: str, place: str, setups: Collection[str]) -> str | None:
    """Why a file of this name may not be touched, as a sentence; None where it may.

    path: from the top of the repository, with slashes. place: the recording directory, `.` for all of it. setups: those
    that there are.
    """
    inside = path if place == "." else path.removeprefix(f"{place}/")
    if path.startswith("/"):
        why = "is an absolute path"
    elif ".." in path.split("/"):
        why = "leads out of its folder"
    elif inside == path and place != ".":
        why = f"lies outside of {place}/"
    elif len(path) > _LONGEST:
        why = "is too long for a name"
    else:
        why = _inside(inside.split("/"), setups)
    return f"{shown(path)} {why}" if why else None


def _inside(steps: list[str], setups: Collection[str]) -> str:
    """What is wrong with the steps below the recording directory; nothing where all is well."""
    strange = next((character for step in steps for character in step if _is_strange(character)), None)
    looked_at = {
        "lies in a folder of git's own": any(step.lower() == ".git" for step in steps),
        "is hidden, or has a part that some systems read as another": any(
            not step or step[0] in ". " or step[-1] in ". " for step in steps
        ),
        f"has a character in its name that is not what it seems, U+{ord(strange or ' '):04X}": strange is not None,
        "has a name that can be written in two ways": any(unicodedata.normalize("NFC", step) != step for step in steps),
        "has no name that the recorder gives": len(steps) < 2 or not _FILE.fullmatch(steps[-1]),
        "belongs to a setup that there is not": not _SETUP.fullmatch(steps[0]) or steps[0] not in setups,
    }
    return next((why for why, is_so in looked_at.items() if is_so), "")


def _is_strange(character: str) -> bool:
    if character == " ":
        return False
    return character in _RESERVED or unicodedata.category(character) in _STRANGE


def collisions(paths: Iterable[str], present: Iterable[str]) -> list[str]:
    """Paths that differ from another one, or from a folder of it, by case or by spelling alone, as sentences.

    Where a system takes both for one, the one would be written in the place of the other.
    """
    spelled: dict[str, str] = {}
    for path in present:
        for part in _parts(path):
            spelled.setdefault(_folded(part), part)
    found = []
    for path in paths:
        for part in _parts(path):
            other = spelled.setdefault(_folded(part), part)
            if other != part:
                found.append(f"{shown(path)} differs from {shown(other)} by its spelling alone")
                break
    return found


def _parts(path: str) -> Iterable[str]:
    """The path and all folders above it."""
    steps = path.split("/")
    return ("/".join(steps[:number]) for number in range(1, len(steps) + 1))


def _folded(part: str) -> str:
    return unicodedata.normalize("NFKC", part).casefold()
