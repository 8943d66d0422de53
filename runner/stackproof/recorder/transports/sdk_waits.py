"""SDKs that wait by themselves, between attempts or polls. They are recorded below, where they send; this leaves the
waits out.

Each calls `sleep` of a module it has imported, so that name, in that SDK's module alone, is replaced by one whose
`sleep` returns at once after an answer of ours. Where a function that waits is handed on and kept (tenacity's, as the
default of an argument), it is given another body instead.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .backoff import is_needless

# SDKs made by Stainless: they retry in one module, and their polls (`create_and_poll`, `poll`) wait in the other.
_ALIKE = ("anthropic", "cerebras.cloud.sdk", "fireworks", "groq", "llama_api_client", "openai", "together")
# The module that waits, and under which names it knows the modules that can, or its own function that does.
WAITING: dict[str, tuple[str, ...]] = {
    **{f"{sdk}.{module}": ("time", "anyio") for sdk in _ALIKE for module in ("_base_client", "_resource")},
    "botocore.endpoint": ("time",),
    "cohere.core.http_client": ("time", "asyncio"),
    "cohere.utils": ("time", "asyncio"),
    "google.genai._api_client": ("time", "asyncio"),
    "mistralai.azure.client.utils.retries": ("time", "asyncio"),
    "mistralai.client.utils.retries": ("time", "asyncio"),
    "mistralai.extra.batch.client": ("time", "asyncio"),
    "mistralai.gcp.client.utils.retries": ("time", "asyncio"),
    "tenacity.asyncio": ("_portable_async_sleep",),
    "tenacity.nap": ("time",),
}
# What a function that was given another body calls, in the names of its own module.
_OURS = "__stackproof_sleep__"


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
    undo: list[Callable[[], None]] = []
    for name in WAITING[module.__name__]:
        original = getattr(module, name, None)
        if isinstance(original, ModuleType):  # of another version, or ours
            undo.append(_replace(module, name, original))
        elif isinstance(original, FunctionType) and not hasattr(module, _OURS):
            undo.append(_refill(module, original))

    def take_back() -> None:
        for step in undo:
            step()

    return take_back


def _replace(module: ModuleType, name: str, original: ModuleType) -> Callable[[], None]:
    clock = _Sync(original) if name == "time" else _Async(original)
    setattr(module, name, clock)

    def undo() -> None:
        if getattr(module, name) is clock:
            setattr(module, name, original)

    return undo


def _refill(module: ModuleType, function: FunctionType) -> Callable[[], None]:
    code = function.__code__
    real = FunctionType(code, function.__globals__, function.__name__)

    def sleep(seconds: float) -> Any:
        return real(0 if is_needless() else seconds)  # other tasks get their turn either way

    setattr(module, _OURS, sleep)
    function.__code__ = _call_ours.__code__

    def undo() -> None:
        function.__code__ = code
        delattr(module, _OURS)

    return undo


def _call_ours(seconds: float) -> Any:
    return __stackproof_sleep__(seconds)  # type: ignore[name-defined]  # noqa: F821 - of the module it is put into
