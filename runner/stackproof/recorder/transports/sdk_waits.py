"""SDKs that wait between attempts by themselves. They are recorded below, where they send; this leaves their waits out.

Each calls `sleep` of a module it has imported, so that name, in that SDK's module alone, is replaced by one whose
`sleep` returns at once after an answer of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from .backoff import is_needless

# The module that waits, and under which names it knows the modules that can.
WAITING: dict[str, tuple[str, ...]] = {
    "anthropic._base_client": ("time", "anyio"),
    "botocore.endpoint": ("time",),
    "cerebras.cloud.sdk._base_client": ("time", "anyio"),
    "cohere.core.http_client": ("time", "asyncio"),
    "fireworks._base_client": ("time", "anyio"),
    "google.genai._api_client": ("time", "asyncio"),
    "groq._base_client": ("time", "anyio"),
    "llama_api_client._base_client": ("time", "anyio"),
    "mistralai.client.utils.retries": ("time", "asyncio"),
    "openai._base_client": ("time", "anyio"),
    "tenacity.nap": ("time",),
    "together._base_client": ("time", "anyio"),
}


class _Clock:
    """A module, with a `sleep` of ours."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _Sync(_Clock):
    def sleep(self, seconds: float) -> None:
        """Wait, where there is something to wait for."""
        if not is_needless():
            self._module.sleep(seconds)


class _Async(_Clock):
    async def sleep(self, seconds: float) -> None:
        """Wait, where there is something to wait for; other tasks get their turn either way."""
        await self._module.sleep(0 if is_needless() else seconds)


def install(module: ModuleType, _active: Any) -> Callable[[], None]:
    """Replace what `module` waits with; returns the undo."""
    put_in: list[tuple[str, Any, _Clock]] = []
    for name in WAITING[module.__name__]:
        original = getattr(module, name, None)
        if isinstance(original, ModuleType):  # of another version, or ours
            clock = _Sync(original) if name == "time" else _Async(original)
            setattr(module, name, clock)
            put_in.append((name, original, clock))

    def undo() -> None:
        for name, original, clock in put_in:
            if getattr(module, name) is clock:
                setattr(module, name, original)

    return undo
