"""Which setups a smoke calls, and which models in each."""

from __future__ import annotations

import pytest

from stackproof import catalog
from stackproof.catalog.records import Catalog
from stackproof.errors import UsageError
from stackproof.live.choosing import Choice, choose

KEY = "a-key-that-nobody-may-see"
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "TAVILY_API_KEY": KEY}


@pytest.fixture(name="known", scope="module")
def _known(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog.load(tmp_path_factory.mktemp("project"))


def chosen(known: Catalog, models: str, *setups: str, **environ: str) -> Choice:
    return choose(setups, {**KEYS, "STACKPROOF_LIVE_MODEL": models, **environ}, known)


def told(choice: Choice) -> dict[str, list[str]]:
    return {each.setup.name: [model.title for model in each.models] for each in choice.setups}


def test_without_names_each_model_is_called_in_one_setup(known: Catalog) -> None:
    found = told(chosen(known, "openai/a,tavily/search,openai/b"))
    assert found == {"gpt": ["openai/a", "openai/b"], "tavily": ["tavily/search"]}


def test_a_named_setup_gets_the_models_of_all_its_providers(known: Catalog) -> None:
    assert told(chosen(known, "openai/a,tavily/search", "tavily")) == {"tavily": ["openai/a", "tavily/search"]}


def test_a_model_is_called_in_each_setup_that_was_named(known: Catalog) -> None:
    found = told(chosen(known, "openai/o4-mini", "gpt", "gpt-reasoning", "gpt"))
    assert found == {"gpt": ["openai/o4-mini"], "gpt-reasoning": ["openai/o4-mini"]}


def test_a_model_of_none_of_them_is_left_out_and_said(known: Catalog) -> None:
    found = chosen(known, "openai/a,anthropic/b", "gpt")
    assert told(found) == {"gpt": ["openai/a"]}
    assert found.left_out == ("anthropic/b",)


def test_a_setup_of_which_no_model_was_named_says_so(known: Catalog) -> None:
    (missing,) = chosen(known, "anthropic/b", "gpt").missing
    assert missing.reason == "STACKPROOF_LIVE_MODEL names no model of openai, whom setup gpt calls"


def test_a_setup_is_asked_for_its_own_variables_where_no_model_was_named(known: Catalog) -> None:
    (missing,) = choose(("anthropic",), {}, known).missing
    needed = "ANTHROPIC_API_KEY", "STACKPROOF_LIVE_MODEL"
    assert missing.reason == f"a real call needs {' and '.join(needed)}; missing: {', '.join(needed)}"


@pytest.mark.parametrize("models", ["opnai/x", "openai/a,opnai/x", "openai"])
def test_a_slip_of_the_pen_is_an_error_whatever_was_asked_for(known: Catalog, models: str) -> None:
    with pytest.raises(UsageError, match="STACKPROOF_LIVE_MODEL"):
        chosen(known, models, "gpt")
    with pytest.raises(UsageError, match="STACKPROOF_LIVE_MODEL"):
        chosen(known, models)


def test_an_unknown_setup_is_an_error(known: Catalog) -> None:
    with pytest.raises(UsageError, match=r"'gtp'.*did you mean 'gpt'"):
        chosen(known, "openai/a", "gtp")
