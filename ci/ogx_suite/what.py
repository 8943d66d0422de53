"""Which of OGX's tests are run, as OGX's own script names them, and how many of them pass offline with its recorder."""

from __future__ import annotations

from dataclasses import dataclass

# The commit whose tests and recordings these are.
COMMIT = "5a9cb55d8"


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """A run of OGX's `scripts/integration-tests.sh`.

    subdirs: folders of tests/integration, instead of a suite of OGX's by `name`. setup: OGX's. expected: how many pass
    without a network and without models from a hub.
    """

    name: str
    setup: str
    expected: int
    subdirs: tuple[str, ...] = ()


SUITES: tuple[Suite, ...] = (
    Suite(name="inference", setup="ollama", expected=35, subdirs=("inference",)),
    Suite(name="agents", setup="ollama", expected=16, subdirs=("agents",)),
    Suite(name="safety", setup="ollama", expected=12, subdirs=("safety",)),
    Suite(name="tool_runtime", setup="ollama", expected=1, subdirs=("tool_runtime",)),
    Suite(name="messages", setup="ollama-reasoning", expected=13),
    Suite(name="responses", setup="gpt", expected=211),
    Suite(name="messages-openai", setup="gpt", expected=13),
    Suite(name="interactions", setup="gemini", expected=13),
    Suite(name="ollama-reasoning", setup="ollama-reasoning", expected=3),
    Suite(name="gpt-reasoning", setup="gpt-reasoning", expected=6),
    Suite(name="vision", setup="ollama-vision", expected=1),
)
