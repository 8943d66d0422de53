"""What is said where times are asked for that are not there."""

from __future__ import annotations

from stackproof.errors import UsageError


def missing(path: object, *, where: str = "--timings") -> UsageError:
    """Of a path that is not there."""
    return UsageError(
        f"{where}: there is no {path}",
        hint="write it with `stackproof timings --output ci/timings.json`, or leave it out: shards are then equal by "
        "number of tests",
    )
