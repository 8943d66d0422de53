"""Fixtures wider than a test may call providers too, in their set-up and in their teardown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion


@pytest.fixture(scope="module")
def proverb(openai_client: OpenAI, text_model: str) -> Iterator[str]:
    """A text that the module's tests share. Its teardown calls the provider once more."""
    completion = openai_client.completions.create(
        model=text_model, prompt="An apple a day", temperature=0, max_tokens=6
    )
    yield completion.choices[0].text
    closing = openai_client.completions.create(model=text_model, prompt="All is well that", temperature=0, max_tokens=4)
    assert closing.choices[0].text


@pytest.fixture(scope="module", params=["tea", "coffee"])
def drink(request: pytest.FixtureRequest, openai_client: OpenAI, text_model: str) -> str:
    """An answer for each parameter."""
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": f"Is {request.param} hot?"}],
        temperature=0,
        max_tokens=6,
    )
    return completion.choices[0].message.content or ""


def test_a_fixture_of_the_session_has_its_answer(opening: ChatCompletion) -> None:
    assert opening.choices[0].message.content


def test_a_fixture_of_the_module_has_its_answer(proverb: str) -> None:
    assert proverb


def test_a_test_goes_on_from_its_modules_fixture(openai_client: OpenAI, text_model: str, proverb: str) -> None:
    completion = openai_client.completions.create(
        model=text_model, prompt=f"An apple a day{proverb}", temperature=0, max_tokens=4
    )
    assert completion.choices[0].text


def test_a_fixture_has_an_answer_for_each_parameter(drink: str) -> None:
    assert drink
