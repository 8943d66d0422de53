"""These ask a real model: they cost money and need a key."""

import os

import pytest
from travelguide import ask, best_note, stream
from travelguide.notes import NOTES

pytestmark = pytest.mark.skipif("OPENAI_API_KEY" not in os.environ, reason="asks a real model: set OPENAI_API_KEY")


def test_the_agent_looks_up_the_weather_before_it_answers() -> None:
    question, call, result, answer = ask("What is the weather in Paris?")
    assert question.text == "What is the weather in Paris?"
    assert call.tool_calls[0]["name"] == "get_weather"
    assert call.tool_calls[0]["args"] == {"city": "Paris"}
    assert result.content == "sunny, 21 °C"
    assert answer.text


def test_the_answer_comes_in_pieces() -> None:
    pieces = list(stream("What is the weather in Oslo?"))
    assert len(pieces) > 1
    assert "".join(pieces).strip()


def test_a_note_is_found_by_its_meaning() -> None:
    assert best_note("Which note is about boots?") in NOTES
