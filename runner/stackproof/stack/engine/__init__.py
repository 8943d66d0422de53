"""The Docker engine: the only package that imports `docker`. Every call has a deadline, every failure is one sentence.

What it gives back is data of our own: nobody else has to know the SDK, and another engine's API could stand behind it.
"""

from stackproof.stack.engine.connection import MINIMUM_API, Engine, connect
from stackproof.stack.engine.images import BuildFailedError

__all__ = ["MINIMUM_API", "BuildFailedError", "Engine", "connect"]
