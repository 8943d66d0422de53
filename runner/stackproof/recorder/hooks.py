"""Act on a module when it is imported, and never import it ourselves: what a program does not use stays untouched."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Hook = Callable[[ModuleType], None]


class _Loader:
    """Runs the real loader, then the hook."""

    def __init__(self, loader: Any, hook: Hook) -> None:
        self._loader = loader
        self._hook = hook

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        # The module sees its own loader again: code that asks for resources through it must not meet ours.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._hook(module)


class Finder:
    """First on `sys.meta_path`; finds nothing itself and wraps what the others find for the named modules."""

    def __init__(self, hooks: dict[str, Hook]) -> None:
        self._hooks = hooks
        self._busy: set[str] = set()

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if name not in self._hooks or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, self._hooks[name])  # type: ignore[assignment]
        return spec


def on_import(hooks: dict[str, Hook]) -> Callable[[], None]:
    """Call each hook now if its module is loaded, else when it will be; returns the undo for those still waiting."""
    finder = Finder(hooks)
    sys.meta_path.insert(0, finder)

    def undo() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    try:
        for name, hook in hooks.items():
            module = sys.modules.get(name)
            # A module in the middle of its import is called back by its loader, if that is ours, or is not there yet.
            if module is not None and not getattr(module.__spec__, "_initializing", False):
                hook(module)
    except BaseException:
        undo()
        raise
    return undo
