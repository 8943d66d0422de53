"""The expression language: what it is worth, what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from ci.rehearsal.expressions import ExpressionError, Scope, evaluate, is_true, number, parse, text
from hypothesis import given, settings
from hypothesis import strategies as st

_CONTEXTS = {
    "github": {"event": {"labels": [{"name": "bug"}, {"name": "Record"}, {"id": 3}]}, "ref": "refs/heads/main"},
    "needs": {"plan": {"result": "success", "outputs": {"lanes": '{"include":[{"lane":"a"}]}'}}},
    "list": [["zero", "one"], ["two"]],
}


def _value(expression: str) -> Any:
    return evaluate(parse(expression), Scope(contexts=_CONTEXTS))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("true", True),
        ("null", None),
        ("0xff", 255),
        ("-2.99e-2", -0.0299),
        (".5", 0.5),
        ("'it''s'", "it's"),
        ("'a' == 'A'", True),
        ("1 == '1'", True),
        ("null == 0", True),
        ("'' == 0", True),
        ("'x' == 0", False),
        ("'b' > 'A'", True),
        ("null > 0", False),
        ("!''", True),
        ("1 < 2 == true", True),
        ("true || false && false", True),
        ("(true || false) && false", False),
        ("'' || 'otherwise'", "otherwise"),
        ("'a' && 'b'", "b"),
        ("github.ref", "refs/heads/main"),
        ("GITHUB.REF", "refs/heads/main"),
        ("github['ref']", "refs/heads/main"),
        ("github.event.labels.*.name", ["bug", "Record"]),
        ("contains(github.event.labels.*.name, 'record')", True),
        ("github.event.labels[0].name", "bug"),
        ("github.event.labels[9].name", None),
        ("github.event.nothing.deeper", None),
        ("list.*[1]", ["one"]),
        ("list.*.*", ["zero", "one", "two"]),
        ("fromJSON(needs.plan.outputs.lanes).include[0].lane", "a"),
        ("contains('Hello', 'ELL')", True),
        ("startsWith(github.ref, 'refs/heads/')", True),
        ("endsWith('main', 'AIN')", True),
        ("format('{0} {{}} {1}', 1.0, true)", "1 {} true"),
        ("join(list.*.*, '+')", "zero+one+two"),
        ("join('a')", "a"),
        ("toJSON(list[1])", '[\n  "two"\n]'),
        ("case(false, 1, true, 'two', 3)", "two"),
        ("1.0 == 1 && 'yes' || 'no'", "yes"),
    ],
)
def test_an_expression_is_worth_what_the_documentation_says(expression: str, value: object) -> None:
    found = _value(expression)
    assert found == value
    assert isinstance(found, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "ends too early"),
        ("1 <", "ends too early"),
        ("github.", "name of a property is missing"),
        ("(1", "')' is missing"),
        ("1 2", "'2' is not expected here"),
        ('"double"', "is no part of an expression"),
        ("'open", "is no part of an expression"),
        ("1x", "is no part of an expression"),
        ("a = b", "is no part of an expression"),
        ("nothing.at.all", "the context 'nothing' is unknown here"),
        ("steps()", "the function 'steps' is unknown here"),
        ("contains('a')", "1 arguments are not what it takes"),
        ("fromJSON('')", "the text is empty"),
        ("fromJSON('{')", "the text is no JSON"),
        ("format('{1}', 'a')", "only 1 values follow"),
        ("format('{', 'a')", "brace that stands alone"),
        ("case(1, 2, 3)", "a condition is not true or false"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(expression: str, said: str) -> None:
    with pytest.raises(ExpressionError, match="(?s)" + said.replace("(", r"\(").replace(")", r"\)")):
        _value(expression)


def test_an_absent_property_is_told_with_its_path() -> None:
    told: list[tuple[str, ...]] = []
    scope = Scope(contexts={"steps": {"plan": {"outputs": {"lanes": "a"}}}}, absent=told.append)
    assert evaluate(parse("steps.plan.outputs.lanse"), scope) is None
    assert told == [("steps", "plan", "outputs", "lanse")]


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(_json)
def test_what_to_json_writes_from_json_reads(value: Any) -> None:
    scope = Scope(contexts={"it": value})
    assert evaluate(parse("fromJSON(toJSON(it))"), scope) == value
    assert json.loads(evaluate(parse("toJSON(it)"), scope)) == value


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_quoted(value: str) -> None:
    quoted = "'" + value.replace("'", "''") + "'"
    assert evaluate(parse(quoted), Scope(contexts={})) == value


@settings(deadline=None)
@given(st.text())
def test_no_text_does_anything_but_be_read_or_refused(source: str) -> None:
    try:
        parse(source)
    except ExpressionError:
        return


@settings(deadline=None)
@given(_json, _json)
def test_the_operators_agree_with_each_other(left: Any, right: Any) -> None:
    scope = Scope(contexts={"l": left, "r": right})

    def ask(expression: str) -> Any:
        return evaluate(parse(expression), scope)

    assert ask("l == r") is (not ask("l != r"))
    assert ask("l == r") is ask("r == l")
    assert ask("l < r") is ask("r > l")
    assert ask("l <= r") is (ask("l < r") or ask("l == r"))
    assert is_true(ask("l && r")) is (is_true(left) and is_true(right))
    assert is_true(ask("l || r")) is (is_true(left) or is_true(right))
    assert ask("!!l") is is_true(left)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e14, max_value=1e14))
def test_a_number_is_printed_so_that_it_is_read_as_the_same(value: float) -> None:
    assert math.isclose(number(text(value)), value, rel_tol=1e-14, abs_tol=1e-300)
