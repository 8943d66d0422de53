"""Annotations on GitHub, and that no text of a test becomes a command of its runner."""

from __future__ import annotations

import re

from tests.unit.verdict_outputs.conftest import Made, Test, example, rule

from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.typecheck import Message
from stackproof.verdict import github, publish
from stackproof.verdict.github import Annotation
from stackproof.verdict.records import failed, not_proven

RUNNER = {"GITHUB_ACTIONS": "true"}
FILE = "tests/integration/base/test_chat.py"


def bad(name: str, line: int | None = 12) -> Test:
    place = f"\n{FILE}:{line}: AssertionError" if line is not None else ""
    return Test(name=f"{FILE}::{name}", outcome=Outcome.FAILED, text=f"E   assert {name}{place}")


def obeyed(line: str) -> tuple[str, dict[str, str], str]:
    """A line as the runner takes it apart (actions/runner, ActionCommand.TryParseV2)."""
    found = re.fullmatch(r"::(?P<name>[^ :]+)(?: (?P<properties>[^:]*(?::(?!:)[^:]*)*))?::(?P<data>.*)", line)
    assert found, line
    properties = dict(pair.split("=", 1) for pair in (found["properties"] or "").split(","))

    def back(text: str) -> str:
        text = text.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",")
        return text.replace("%25", "%")

    return found["name"], {name: back(value) for name, value in properties.items()}, back(found["data"])


def test_a_failure_stands_beside_its_line(made: Made) -> None:
    made.cell("server:reference", [bad("test_two")], failed("it failed"))
    (line,) = publish.annotated(made.publish(environ=RUNNER))
    name, properties, message = obeyed(line)
    assert name == "error"
    assert properties == {"file": FILE, "line": "12", "title": f"{FILE}::test_two"}
    assert message == "assert test_two\nin base-ollama-server-reference"


def test_nothing_is_said_where_no_runner_reads_it(made: Made) -> None:
    made.cell("server:reference", [bad("test_two")], failed("it failed"))
    assert publish.annotated(made.publish(environ={})) == []


HOSTILE = "100% %0A%25\r\n::add-mask::x\n##[error]y\u2028::set-output name=a::b\x1b[31m\x00 a:b,c=d"


def test_no_text_of_a_test_becomes_a_command() -> None:
    line = Annotation(level="error", title=HOSTILE, message=HOSTILE, file=HOSTILE, line=3).command()
    assert "\n" not in line
    assert "\r" not in line
    assert len(line.splitlines()) == 1
    name, properties, message = obeyed(line)
    assert (name, set(properties)) == ("error", {"file", "line", "title"})
    shown = HOSTILE.replace("\r\n", "\n").replace("\u2028", "\\u2028").replace("\x1b", "\\x1b").replace("\x00", "\\x00")
    assert message == shown
    assert properties["title"] == properties["file"] == shown


def test_ten_at_most_the_most_useful_first(made: Made) -> None:
    tests = [bad("test_nowhere", line=None), *(bad(f"test_{number}", line=number) for number in range(1, 15))]
    made.cell("server:reference", tests, *(failed(test.name) for test in tests))
    made.rules.append(rule("types", failed("2 errors")))
    lines = [obeyed(line) for line in publish.annotated(made.publish(environ=RUNNER))]
    assert len(lines) == 10
    assert [properties["line"] for _, properties, _ in lines[:9]] == [str(number) for number in range(1, 10)]
    assert lines[9][2] == "and 7 more: verdict.html has them all"


def test_a_failure_on_two_stacks_is_one_annotation_and_rules_follow(made: Made) -> None:
    for stack in ("library:reference", "server:reference"):
        made.cell(stack, [bad("test_two")], failed("it failed"))
    made.cell("server:other", [Test(name=f"{FILE}::test_one")], failed("test_gone is expected and was not collected"))
    made.rules += [rule("source", not_proven("no commit")), rule("docker", not_proven("absent"), blocking=False)]
    lines = [obeyed(line) for line in publish.annotated(made.publish(environ=RUNNER))]
    assert [(name, properties["title"]) for name, properties, _ in lines] == [
        ("error", f"{FILE}::test_two"),
        ("error", "base × ollama × server:other: FAIL"),
        ("warning", "source: NOT PROVEN"),
    ]
    assert lines[0][2].endswith("in base-ollama-library-reference, base-ollama-server-reference")


def test_a_type_error_has_its_place_and_is_said_once(made: Made) -> None:
    made.rules.append(rule("types", failed("a.py:3: wrong")))
    error = Message(file="a.py", line=3, severity="error", message="wrong", code="arg-type")
    (found,) = github.notes(made.verdict(), [], [error])
    assert obeyed(found.command()) == ("error", {"file": "a.py", "line": "3", "title": "types (arg-type)"}, "wrong")


def test_a_missed_call_is_told_with_its_test(made: Made) -> None:
    (line,) = publish.annotated(example(made, "fail").publish(environ=RUNNER))
    assert "nearest: recordings/ollama/base/9c1f-3f9a.json" in obeyed(line)[2]
