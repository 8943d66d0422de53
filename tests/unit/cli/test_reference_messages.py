"""A page of every error message, made from the code that says them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import stackproof
from stackproof.cli.reference_messages import Message, exit_codes, messages, page
from stackproof.errors import ExitCode

PACKAGE = Path(stackproof.__file__).parent
CODE = '''
class OwnError(UsageError):
    """One of ours."""

class UsageError(StackproofError):
    exit_code = ExitCode.USAGE

def f(name, why):
    raise OwnError(f"{name}: it is {why}" + " there", hint="look" if why else "go")
    raise UsageError(why)
    raise UsageError(f"a | b `c` of {name}{why}", hint=f"try {name}")
    raise ValueError("not one of ours")
'''


def test_messages_are_read_with_values_left_out() -> None:
    tree = ast.parse(CODE)
    codes = exit_codes([tree])
    assert codes == {
        "StackproofError": ExitCode.INTERNAL,
        "UsageError": ExitCode.USAGE,
        "OwnError": ExitCode.USAGE,
    }
    assert list(messages(tree, codes)) == [
        Message(text="…: it is … there", hint="…", kind="OwnError"),
        Message(text="a | b `c` of …", hint="try …", kind="UsageError"),
    ]


def test_a_row_of_the_page_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE, encoding="utf-8")
    rows = [line for line in page("<!-- made -->", tmp_path).splitlines() if line.startswith("| `")]
    assert rows == ["| `a \\| b 'c' of …` | try … |", "| `…: it is … there` |  |"]


@pytest.fixture(scope="module")
def whole() -> str:
    """The page of this project."""
    return page("", PACKAGE)


@pytest.mark.parametrize("title", ["(2)", "(4)", "(5)", "(6)", "(7)", "(70)"])
def test_every_exit_code_of_an_error_has_its_messages(whole: str, title: str) -> None:
    (section,) = [part for part in whole.split("\n## ")[1:] if part.split("\n", 1)[0].endswith(title)]
    assert section.count("\n| `") > 2


def test_messages_are_many(whole: str) -> None:
    assert whole.count("\n| `") > 300
