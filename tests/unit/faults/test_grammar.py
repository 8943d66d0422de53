"""How faults are written: what is read is what was said, and everything else is one sentence that helps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.errors import ExitCode, UsageError
from stackproof.faults import grammar
from stackproof.recorder.inject.fault import Act, Fault

_NUMBERS = st.integers(0, 10**8)
_PLACES = st.integers(1, 10**8)
_SECONDS = st.floats(0.001, grammar.LONGEST, allow_nan=False).map(lambda number: f"{number:.3f}")
_WORDS = st.text(st.sampled_from("abcXYZ019._/*:-"), min_size=1, max_size=12)
_WRITTEN = st.one_of(
    st.tuples(st.sampled_from([Act.CUT, Act.TRUNCATE]), _NUMBERS.map(str)),
    st.tuples(st.sampled_from([Act.DAMAGE, Act.ERROR_EVENT]), _PLACES.map(str)),
    st.tuples(st.just(Act.STATUS), st.integers(400, 599).map(str)),
    st.tuples(st.just(Act.SLOW_FIRST_BYTE), _SECONDS),
    st.tuples(st.just(Act.STALL), st.tuples(_NUMBERS.map(str), _SECONDS).map(",".join)),
    st.tuples(st.just(Act.CONTENT_TYPE), st.sampled_from(["text/html", "application/json; charset=latin-1"])),
    st.tuples(st.just(Act.REFUSED), st.just("")),
)
_SELECTED = st.fixed_dictionaries(
    {},
    optional={"call": _PLACES, "times": _PLACES, "provider": _WORDS, "path": _WORDS, "model": _WORDS},
)


def _written(act: Act, values: str) -> str:
    return f"{act.value}:{values}" if values else act.value


@given(_WRITTEN, _SELECTED)
def test_what_is_written_is_read_from_a_text_as_from_the_keywords_of_a_mark(
    written: tuple[Act, str], selected: dict[str, Any]
) -> None:
    text = _written(*written)
    keywords = [f"{key}={value}" for key, value in selected.items()]
    fault = grammar.parse(",".join([text, *keywords]), where="--inject")
    assert fault.act is written[0]
    assert fault == grammar.parse(text, where="a test", given=selected)
    # What is shown is what may be written again.
    assert grammar.parse(fault.spec, where="again") == fault
    assert (fault.provider, fault.path, fault.model) == tuple(map(selected.get, ("provider", "path", "model")))
    assert fault.is_due(selected.get("call", 1))
    assert not fault.is_due(selected.get("call", 1) - 1)
    # It travels as JSON.
    assert Fault.from_data(json.loads(json.dumps(fault.to_data()))) == fault


@given(st.text(max_size=30))
def test_any_text_is_a_fault_or_a_sentence_that_says_who_wrote_it(text: str) -> None:
    told: UsageError | None = None
    try:
        grammar.parse(text, where="--inject")
    except UsageError as error:
        told = error
    if told is None:
        assert text.strip().partition(":")[0].partition(",")[0].strip() in set(Act)
    else:
        assert told.message.startswith("--inject: ")
        assert "\n" not in told.message
        assert told.hint
        assert told.exit_code is ExitCode.USAGE


def test_every_fault_has_a_way_to_be_written_and_its_example_is_one() -> None:
    assert set(grammar.WRITTEN) == set(Act) == set(grammar._EXAMPLES)
    for act, example in grammar._EXAMPLES.items():
        assert grammar.parse(example, where="docs").act is act


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cutt:3", "unknown fault 'cutt' in 'cutt:3', did you mean 'cut'?"),
        ("error_event:2", "did you mean 'error-event'?"),
        ("cut:3,cal=2", "unknown keyword 'cal' in fault 'cut:3,cal=2', did you mean 'call'?"),
        ("cut", "fault 'cut' is not written 'cut:N'"),
        ("cut:3,4", "is not written 'cut:N'"),
        ("stall:3", "is not written 'stall:N,SECONDS'"),
        ("refused:1", "is not written 'refused'"),
        ("cut:three", "the number 'three' is not a whole number of at least 0"),
        ("cut:٣", "is not a whole number"),
        ("damage:0", "the number of the event '0' is not a whole number of at least 1"),
        ("cut:1,call=0", "call '0' is not a whole number of at least 1"),
        ("status:200", "the status '200' is not one of an error, 400 to 599"),
        ("stall:1,601", "is not a number of seconds above 0 and up to 600"),
        ("slow-first-byte:nan", "is not a number of seconds"),
        ("content-type:html", "'html' is no content type"),
        ("cut:1,retry-after=2", "retry-after, which goes with a status only"),
        ("cut:1,model=", "model has no value"),
        ("cut:1,call=1,call=2", "'call' is said twice"),
        ("cut:1,call=1,2", "'2' in fault 'cut:1,call=1,2' is no KEYWORD=VALUE"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(UsageError) as told:
        grammar.parse(text, where="--inject")
    assert says in told.value.message
    assert told.value.message.startswith("--inject: ")


def test_a_keyword_of_a_mark_must_not_be_said_in_its_text_too() -> None:
    with pytest.raises(UsageError, match="'call' is said twice"):
        grammar.parse("cut:3,call=1", where="a test", given={"call": 2})


def test_a_mark_says_retry_after_with_pythons_underscore() -> None:
    assert grammar.parse("status:429", where="a test", given={"retry_after": 2}).retry_after == 2.0


def test_something_that_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="a test: 3 is no fault"):
        grammar.parse(3, where="a test")  # type: ignore[arg-type]


def test_without_a_number_of_calls_it_happens_to_all_and_a_call_that_is_named_is_one() -> None:
    every, third, second_on = (grammar.parse(f"cut:1{more}", where="") for more in ("", ",call=3", ",call=2,times=2"))
    assert [every.is_due(number) for number in (1, 2, 99)] == [True] * 3
    assert [third.is_due(number) for number in (2, 3, 4)] == [False, True, False]
    assert [second_on.is_due(number) for number in (1, 2, 3, 4)] == [False, True, True, False]


def test_several_lines_of_a_variable_are_several_faults() -> None:
    faults = grammar.parse_all(["cut:1\n\n  status:500,times=1 ", "refused"], where="STACKPROOF_INJECT")
    assert [fault.spec for fault in faults] == ["cut:1", "status:500,times=1", "refused"]


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ("provider=probe", True),
        ("provider=other", False),
        ("path=/chat/completions", True),
        ("path=/chat/*", True),
        ("path=/chat", False),
        ("model=llama*", True),
        ("model=llama3.2:3b", True),
        ("model=llama3x2:3b", False),
        ("provider=probe,path=*,model=other", False),
    ],
)
def test_selectors_pick_by_provider_path_and_model(selector: str, fits: bool) -> None:
    form = {
        "provider": "probe",
        "method": "POST",
        "path": "/chat/completions",
        "query": [],
        "body": {"json": {"model": "llama3.2:3b"}},
    }
    assert grammar.parse(f"cut:1,{selector}", where="").selects(form) is fits
