"""docs/troubleshooting.md names messages as the code says them, so that whoever looks one up finds it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
PAGE = (PROJECT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
# It has a table of its own, to which the page leads.
ENGINES = (PROJECT / "docs" / "stacks" / "engines-elsewhere.md").read_text(encoding="utf-8")
RUNNER = PROJECT / "runner" / "stackproof"

_CODE = re.compile(r"(`+)(.+?)\1(?!`)")
# What is in the place of a value, and where a sentence is put together: `…`, a name in capitals, a number, a colon.
_VALUE = re.compile(r"…|\b[A-Z][A-Z_]{2,}\b|\b\d+(?:[./]\d+)?\b|:")
_LEAST = 2  # words; fewer are found anywhere
_PUT_TOGETHER = 4  # words for each further text that a message may be made of
# Said by Python, the system, pytest or click.
_OTHERS = (
    "missing argument",
    "ReadError",
    "Connection reset by peer",
    "No space left on device",
    "Permission denied",
    "Read-only file system",
)


def section(page: str, heading: str) -> str:
    """What stands below a heading."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def messages(page: str) -> list[str]:
    """What stands in the first column of the tables, each code span by itself."""
    heads = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| ")]
    found = [span.strip() for head in heads for _, span in _CODE.findall(head)]
    return [span for span in found if " " in span]


def fragments(message: str) -> list[str]:
    """What of a message is the same whenever it is said."""
    parts = (part.strip(" ,;:.()'") for part in _VALUE.split(message))
    return [part for part in parts if len(part.split()) >= _LEAST]


def said(folder: Path) -> Iterator[str]:
    """Every text of the code, with `…` where a value is put in."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    for path in sorted(folder.rglob("*.sh")):
        yield re.sub(r"\$\w+", "…", path.read_text(encoding="utf-8"))


def is_said(part: str, texts: str) -> bool:
    """Whether the code has these words: in one text, or where there are many in a few that it puts together."""
    words, pieces = part.split(" "), 0
    while words:
        length = next((n for n in range(len(words), 0, -1) if " ".join(words[:n]) in texts), None)
        if length is None:
            return False
        words, pieces = words[length:], pieces + 1
    return pieces <= 1 + len(part.split(" ")) // _PUT_TOGETHER


def explained() -> list[str]:
    """All messages that are explained, and are ours."""
    found = messages(PAGE) + messages(section(ENGINES, "What goes wrong"))
    return [each for each in found if not any(other in each for other in _OTHERS)]


@pytest.fixture(scope="module")
def texts() -> str:
    """All that the code can say."""
    return "\n".join(said(RUNNER))


@pytest.mark.parametrize("message", explained())
def test_the_code_says_what_the_page_explains(message: str, texts: str) -> None:
    assert [part for part in fragments(message) if not is_said(part, texts)] == []


def test_a_message_that_nobody_says_any_more_is_found(texts: str) -> None:
    (message,) = messages("| message | what |\n|---|---|\n| `shard … of … has gone fishing` | … |\n")
    assert fragments(message) == ["has gone fishing"]
    assert not is_said("has gone fishing", texts)
    assert is_said("is missing", texts)
