"""Rules that fold nothing of a body: what belongs to no test, and parameters of the URL."""

from __future__ import annotations

from typing import Any

import pytest

from stackproof.recorder import rules
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK

_SHARED = {"name": "shared", "endpoint": "GET /chat/completions"}
_QUERY = {"name": "query", "parameters": ["project_id", "version"]}


def _recorded_for_no_test(bench: Any, *answers: dict[str, Any]) -> None:
    record = bench.brain(Mode.RECORD)
    for answer in answers:
        bench.play(bench.ask(record, bench.request(), STACK), answer)
    record.store.promote(STACK, replace=True)


def test_what_belongs_to_no_test_answers_any_of_them_where_a_rule_says_so(bench: Any) -> None:
    _recorded_for_no_test(bench, {"text": "first"}, {"text": "last"})
    replay = bench.brain(Mode.REPLAY, run="-2", rules=(_SHARED,))
    told = [bench.body(bench.ask(replay, bench.request())) for _ in range(3)]
    assert told == [b'{"text":"first"}', b'{"text":"last"}', b'{"text":"last"}']


def test_a_test_s_own_recording_comes_first(bench: Any) -> None:
    _recorded_for_no_test(bench, {"text": "anybody's"})
    bench.record((None, {"text": "mine"}))
    replay = bench.brain(Mode.REPLAY, run="-2", rules=(_SHARED,))
    told = [bench.body(bench.ask(replay, bench.request())) for _ in range(2)]
    assert told[0] == b'{"text":"mine"}'


@pytest.mark.parametrize("active", [(), ({**_SHARED, "endpoint": "POST /embeddings"},)])
def test_without_the_rule_for_its_endpoint_it_does_not(bench: Any, active: tuple[dict[str, Any], ...]) -> None:
    _recorded_for_no_test(bench, {"text": "first"})
    kind, _ = bench.refusal(bench.ask(bench.brain(Mode.REPLAY, run="-2", rules=active), bench.request()))
    assert kind == "nothing-recorded"


def test_parameters_of_the_url_are_left_out_by_name() -> None:
    form = {"path": "/x", "query": [["limit", "2"], ["project_id", "p"], ["version", "1"]], "body": None}
    assert rules.apply(form, [_QUERY])["query"] == [["limit", "2"]]
    assert rules.apply({**form, "query": []}, [_QUERY])["query"] == []
    assert rules.acted(form, [_QUERY, {"name": "floats"}]) == [_QUERY]


def test_equal_but_for_a_parameter_is_one_request(bench: Any) -> None:
    record = bench.brain(Mode.RECORD, rules=(_QUERY,))
    bench.play(bench.ask(record, bench.request(path="/chat/completions?project_id=mine&n=1")), {"text": "a"})
    record.store.promote(bench.owner(), replace=True)
    replay = bench.brain(Mode.REPLAY, run="-2", rules=(_QUERY,))
    answer = bench.ask(replay, bench.request(path="/chat/completions?n=1&project_id=yours"))
    assert bench.body(answer) == b'{"text":"a"}'


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"name": "shared", "endpoint": "/x"}, "rule 'shared': '/x' is no endpoint: a method and a path"),
        ({"name": "shared"}, "rule 'shared': None is no endpoint"),
        ({**_SHARED, "repeat": "last"}, "rule 'shared' has an unknown key: repeat"),
        ({"name": "query"}, "rule 'query' needs 'parameters', a list of the names"),
        ({"name": "query", "parameters": "version"}, "rule 'query' needs 'parameters', a list of the names"),
        ({"name": "query", "parameters": ["a"], "path": "."}, "rule 'query' has an unknown key: path"),
    ],
)
def test_what_is_no_rule_is_told(rule: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match="rule") as caught:
        rules.check([rule])
    assert str(caught.value).startswith(sentence)
