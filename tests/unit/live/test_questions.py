"""How each provider is asked: where, with which header, and what its lists say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackproof import catalog
from stackproof.catalog.records import Catalog, Wire
from stackproof.live import questions
from stackproof.live.asking import Answer
from stackproof.live.opt_in import LiveModel, live_models

KEY = "a-key-that-nobody-may-see"
NAMES = ("OPENAI", "ANTHROPIC", "GEMINI", "TAVILY", "AZURE", "GROQ", "WATSONX")
GIVEN = {
    **{f"{name}_API_KEY": f"{KEY}-{name.lower()}" for name in NAMES},
    "AZURE_API_BASE": "https://mine.openai.azure.com/openai/v1",
    "WATSONX_PROJECT_ID": "p",
    "ANTHROPIC_BASE_URL": "https://proxy.example/v1/",
}


@pytest.fixture(name="known", scope="module")
def _known(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog.load(tmp_path_factory.mktemp("project"))


def model(title: str, known: Catalog) -> LiveModel:
    (found,) = live_models({**GIVEN, "STACKPROOF_LIVE_MODEL": title}, known)
    assert isinstance(found, LiveModel)
    return found


def answer(body: Any) -> Answer:
    return Answer(status=200, headers={}, body=json.dumps(body).encode())


@pytest.mark.parametrize(
    ("title", "listed", "tried", "header"),
    [
        ("openai/a", "https://api.openai.com/v1/models", "https://api.openai.com/v1/chat/completions", "authorization"),
        ("anthropic/a", "https://proxy.example/v1/models", "https://proxy.example/v1/messages", "x-api-key"),
        ("azure/a", None, "https://mine.openai.azure.com/openai/v1/chat/completions", "api-key"),
        ("tavily/search", "https://api.tavily.com/usage", None, "authorization"),
        ("watsonx/a", None, None, "authorization"),
    ],
)
def test_a_provider_is_asked_at_its_own_address_with_its_own_key(
    known: Catalog, *, title: str, listed: str | None, tried: str | None, header: str
) -> None:
    one = model(title, known)
    found = questions.key_of(known.setup(one.setup), one)
    assert found == (f"{one.provider.upper()}_API_KEY", f"{KEY}-{one.provider}")
    way = questions.of(one.provider)
    asked = (questions.list_question(way, one, found[1]), questions.try_question(way, one, found[1], ()))
    assert [each.url if each else None for each in asked] == [listed, tried]
    for each in filter(None, asked):
        assert found[1] in each.headers[header]
        assert found[1] not in repr(each)


def test_a_model_that_does_not_chat_is_not_asked_to(known: Catalog) -> None:
    one = model("openai/text-embedding-3-small", known)
    way = questions.of("openai")
    assert questions.try_question(way, one, KEY, [Wire.EMBEDDINGS]) is None
    assert questions.try_question(way, one, KEY, [Wire.CHAT, Wire.EMBEDDINGS]) is not None


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"data": [{"id": "a"}, {"id": "b"}]}, ("a", "b")),
        ({"models": [{"name": "models/gemini-x"}, {"name": 3}, "x"]}, ("gemini-x",)),
        ({"data": "none"}, None),
        ([], None),
    ],
)
def test_a_list_of_models_is_read_as_each_writes_it(body: Any, names: tuple[str, ...] | None) -> None:
    assert questions.models_in(answer(body)) == names


def test_a_tag_that_nobody_has_to_write_is_understood() -> None:
    assert questions.has(("smollm2:latest",), "smollm2")
    assert not questions.has(("smollm2:135m",), "smollm2")


@pytest.mark.parametrize(
    ("body", "gone"),
    [
        ({"key": {"usage": 10, "limit": 10}, "account": {}}, True),
        ({"key": {"usage": 9, "limit": None}, "account": {"plan_usage": 5, "plan_limit": 1000}}, False),
        ({"account": {"plan_usage": 1000, "plan_limit": 1000, "paygo_limit": None}}, True),
        ({"account": {"plan_usage": 1000, "plan_limit": 1000, "paygo_usage": 3, "paygo_limit": 100}}, False),
        ({"account": {"plan_usage": 1000, "plan_limit": 1000, "paygo_usage": 100, "paygo_limit": 100}}, True),
        ({}, False),
        ([], False),
    ],
)
def test_a_searchs_usage_tells_whether_something_is_left(body: Any, gone: bool) -> None:
    assert questions.used_up(answer(body)) is gone


def test_tokens_are_counted_as_each_calls_them() -> None:
    assert questions.tokens_in(answer({"usage": {"prompt_tokens": 3, "completion_tokens": 1}})) == (3, 1)
    assert questions.tokens_in(answer({"usage": {"input_tokens": 8, "output_tokens": 1}})) == (8, 1)
    assert questions.tokens_in(answer({"usage": {"input_tokens": True}})) == (0, 0)
    assert questions.tokens_in(answer([])) == (0, 0)
