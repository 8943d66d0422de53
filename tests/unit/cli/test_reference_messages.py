"""A page of every error message, made from the code that says them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import stackproof
from stackproof.cli.reference_messages import Message, exit_codes, messages, nodes, of_files, page
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
    codes = exit_codes([nodes(tree)])
    assert codes == {
        "StackproofError": ExitCode.INTERNAL,
        "UsageError": ExitCode.USAGE,
        "OwnError": ExitCode.USAGE,
    }
    assert list(messages(nodes(tree), codes)) == [
        Message(text="…: it is … there", hint="…", kind="OwnError"),
        Message(text="a | b `c` of …", hint="try …", kind="UsageError"),
    ]


def test_a_row_of_the_page_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE, encoding="utf-8")
    rows = [line for line in page("<!-- made -->", tmp_path).splitlines() if line.startswith("| `")]
    assert rows == ["| `a \\| b 'c' of …` | try … |", "| `…: it is … there` | … |"]


def test_a_class_of_the_same_name_that_is_none_of_ours_is_left_out() -> None:
    codes = exit_codes([nodes(ast.parse(CODE))])
    other = 'class UsageError(Exception): ...\nraise UsageError("an entity in it")\nraise OwnError("one of ours")'
    assert [each.text for each in messages(nodes(ast.parse(other)), codes)] == ["one of ours"]


def test_all_texts_that_make_a_message_are_in_it() -> None:
    codes = exit_codes([nodes(ast.parse(CODE))])
    (found,) = messages(nodes(ast.parse('raise OwnError(path, f"holds {this} twice", hint="look")')), codes)
    assert (found.text, found.hint) == ("… holds … twice", "look")


def test_what_is_said_of_a_file_is_a_message_too() -> None:
    code = 'section.fail(f"{section.what} lacks {key!r}", key=key, hint="add it")\npytest.fail("no section")'
    assert list(of_files(nodes(ast.parse(code)))) == [Message(text="… lacks …", hint="add it", kind="UsageError")]


def test_a_hint_that_has_a_name_is_read(tmp_path: Path) -> None:
    code = f'_LOOK = "look there"\n{CODE}\nraise UsageError("gone away", hint=_LOOK)'
    (tmp_path / "code.py").write_text(code, encoding="utf-8")
    assert "| `gone away` | look there |" in page("", tmp_path)


def test_what_a_class_says_of_itself_is_in_each_of_its_messages(tmp_path: Path) -> None:
    code = f"""{CODE}
class RefusedError(UsageError):
    def __init__(self, why):
        super().__init__(f"refused: {{why}}", hint="nothing was done")

raise RefusedError("it is empty")
"""
    (tmp_path / "code.py").write_text(code, encoding="utf-8")
    assert "| `refused: it is empty` | nothing was done |" in page("", tmp_path)


@pytest.fixture(scope="module")
def whole() -> str:
    """The page of this project."""
    return page("", PACKAGE)


@pytest.mark.parametrize("title", ["impossible (2)", "(4)", "(5)", "(6)", "(7)", "(70)"])
def test_every_exit_code_of_an_error_has_its_messages(whole: str, title: str) -> None:
    section, *_ = [part for part in whole.split("\n## ")[1:] if part.split("\n", 1)[0].endswith(title)]
    assert section.count("\n| `") > 2


def test_messages_are_many(whole: str) -> None:
    assert whole.count("\n| `") > 300
