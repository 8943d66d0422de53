"""What a container wrote before it ended is why its stack cannot run there, and each reason has a remedy of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from stackproof.errors import StackStartError
from stackproof.stack import unfit
from stackproof.stack.readiness import Watched


class Ended:
    """A container that has ended; it wrote one line of its own, and one of ours."""

    name = "shop"

    def __init__(self, line: str) -> None:
        self.line = line

    def tail(self) -> list[str]:
        return ["starting", self.line]


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        (
            "stackproof: litellm cannot be started: No such file or directory",
            "shop: litellm cannot be started: No such file or directory",
            "`command` in stack.yaml is run inside the image: have it there on PATH, or in the environment of",
        ),
        (
            "stackproof: the recorder needs Python 3.11 or newer; /usr/bin/python3 is Python 3.9",
            "shop: the recorder needs Python 3.11 or newer; /usr/bin/python3 is Python 3.9",
            "the image needs Python 3.11 or newer",
        ),
        (
            "[FATAL tini (7)] exec python3 failed: No such file or directory",
            "shop cannot run in image somebody/plain:1: there is no /venv/python in it",
            "the image needs Python 3.11 or newer",
        ),
        ("Traceback: anything else", "did not start", "look"),
    ],
)
def test_why_a_stack_cannot_run_is_told_with_what_to_do(line: str, message: str, hint: str) -> None:
    container = cast("Watched", cast("Any", Ended(line)))
    with (
        pytest.raises(StackStartError) as caught,
        unfit.told(container, image="somebody/plain:1", python="/venv/python", source=Path("stack.yaml")),
    ):
        raise StackStartError("did not start", hint="look")
    assert caught.value.message == message
    assert (caught.value.hint or "").startswith(hint)
