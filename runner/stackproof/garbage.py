"""Python's search for garbage, kept away from what cannot be any."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search() -> Iterator[None]:
    """Import within this: nothing is searched for garbage meanwhile, and what is there at its end never again.

    Modules stay for as long as their process. The SDKs of a few providers are a million objects, and to look through
    all of them each time that there are a quarter more takes a third as long as to import them. Whatever else the code
    within chooses for the collector is left as it is.
    """
    before = gc.get_threshold()
    off = (0, *before[1:])
    gc.set_threshold(*off)
    try:
        yield
    finally:
        if gc.get_threshold() == off:
            gc.set_threshold(*before)
            gc.freeze()
