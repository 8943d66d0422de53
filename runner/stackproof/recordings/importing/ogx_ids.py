"""Ids that OGX's test runs give to what the stack makes, and the ones that a run of ours gives in their place.

OGX counts for each test and kind, from `int(sha256(test_id), 16) % 10**12` + 1 on, and writes the number behind the
kind's prefix (`file-`, `vs_`, `batch_`, `call_`). So which file of a test an id stands for can be told from the number.
Such ids travel into prompts, where a run under this project has those that `recorder.ids` makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256

from stackproof.recorder import ids
from stackproof.recorder.scope import Scope

_SPACE = 10**12
_MOST = 10_000  # ids of one kind in one test; beyond, a number is somebody else's
_UUID = "00000000-0000-4000-8000-000000000000"
# Prefix -> OGX's name for the kind, and an id as the stack makes it when nobody overrides it.
_KINDS: Mapping[str, tuple[str, str]] = {
    "file-": ("file", f"file-{'0' * 32}"),
    "vs_": ("vector_store", f"vs_{_UUID}"),
    "batch_": ("vector_store_file_batch", f"batch_{_UUID}"),
    "call_": ("tool_call", f"call_{_UUID}"),
}
_ID = re.compile(rf"(?<![\w-])({'|'.join(_KINDS)})([1-9]\d{{0,12}})(?![\w-])")


def translation(test_id: str, owner: Scope) -> Callable[[str], str]:
    """A function that writes our ids for OGX's into a text. test_id: as the file has it, which OGX counts from."""
    first = int(sha256(test_id.encode("utf-8", "surrogatepass")).hexdigest(), 16) % _SPACE

    def ours(found: re.Match[str]) -> str:
        number = int(found[2]) - first
        if not 0 < number <= _MOST:
            return found[0]
        kind, sample = _KINDS[found[1]]
        return ids.numbered(owner, kind, number, (sample,))

    return lambda text: _ID.sub(ours, text)
