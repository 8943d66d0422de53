"""What a turn has used is the sum over its answers."""

from __future__ import annotations

from reference_stack.agent.usage import added


def test_numbers_are_added_at_every_depth() -> None:
    one = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 2}, "tier": "x"}
    other = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 20, "audio": 1}, "output_tokens": 5}
    assert added(one, other) == {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 22, "audio": 1},
        "tier": "x",
        "output_tokens": 5,
    }


def test_an_answer_that_tells_nothing_adds_nothing() -> None:
    assert added(None, None) is None
    assert added({"input_tokens": 1}, None) == {"input_tokens": 1}
    assert added(None, {"input_tokens": 1}) == {"input_tokens": 1}
    assert added({"input_tokens": 1}, {"input_tokens": None}) == {"input_tokens": 1}
