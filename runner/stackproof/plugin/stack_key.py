"""Where the pytest plugin keeps a way to the stack; apart from the handle, which processes without pytest have too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stackproof.stack.handle import StackHandle

# Calling it starts the stack at the first need, and gives the same handle ever after.
STACK_KEY: pytest.StashKey[Callable[[], StackHandle]] = pytest.StashKey()
