"""The end of a stack that was ready and was not told to end."""

from __future__ import annotations

from stackproof.errors import ExitCode, StackStartError


class StackDiedError(StackStartError):
    """The stack was ready, and ended before it was told to; `code` as `subprocess` gives it."""

    exit_code = ExitCode.TESTS

    def __init__(self, message: str, *, code: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code
