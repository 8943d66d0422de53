"""Ids of what the gateway keeps. Whoever needs them to be others sets an override."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from uuid import uuid4

Generate = Callable[[], str]
Override = Callable[[str, Generate], str]


class Kind(Enum):
    """What has an id, and how the ids of its kind begin."""

    FILE = "file-"
    VECTOR_STORE = "vs_"
    VECTOR_STORE_FILE_BATCH = "batch_"
    RESPONSE = "resp_"
    MESSAGE = "msg_"
    TOOL_CALL = "call_"
    FILE_SEARCH_CALL = "fs_"
    WEB_SEARCH_CALL = "ws_"
    COMPLETION = "chatcmpl-"
    TURN = "turn_"
    FUNCTION_CALL = "fc_"
    HOSTED_CALL = "mcp_"


_override: Override | None = None


def set_id_override(override: Override | None) -> Override | None:
    """From now on `override(kind, generate)` makes the ids, kind as `file` or `vector_store`; the one before it.

    `generate` makes the id that there would be without. None: no override.
    """
    global _override
    previous, _override = _override, override
    return previous


def new_id(kind: Kind) -> str:
    """An id that nothing has yet."""

    def generate() -> str:
        return f"{kind.value}{uuid4().hex}"

    return generate() if _override is None else _override(kind.name.lower(), generate)
