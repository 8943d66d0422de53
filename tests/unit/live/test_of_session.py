"""Which models the tests of a session call: the setup's own where recordings are made or replayed, else as is asked."""

from __future__ import annotations

import pytest

from stackproof import catalog
from stackproof.catalog.records import Catalog
from stackproof.live import of_session
from stackproof.live.opt_in import LiveModel, NotWanted, live_models

KEY = "a-key-that-nobody-may-see"
GPT = {"STACKPROOF_CHILD": "1", "STACKPROOF_SETUP": "gpt", "STACKPROOF_TEXT_MODEL": "openai/gpt-4o"}
URL = {"OPENAI_BASE_URL": "http://there/v1"}


@pytest.fixture(name="known", scope="module")
def _known(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog.load(tmp_path_factory.mktemp("project"))


def found(known: Catalog, environ: dict[str, str]) -> tuple[LiveModel | NotWanted, ...]:
    setup = environ.get("STACKPROOF_SETUP")
    return of_session.models(
        environ, known, lambda provider: live_models(environ, known, provider=provider, setup=setup)
    )


def titles(known: Catalog, environ: dict[str, str]) -> list[str]:
    return [each.title if isinstance(each, LiveModel) else each.reason for each in found(known, environ)]


@pytest.mark.parametrize("mode", ["replay", "record", "record-if-missing"])
@pytest.mark.parametrize("asked", [{}, {"STACKPROOF_LIVE_MODEL": "openai/a,openai/b"}])
def test_where_recordings_are_made_or_replayed_it_is_the_setups_own(
    known: Catalog, mode: str, asked: dict[str, str]
) -> None:
    environ = {**GPT, **URL, **asked, "STACKPROOF_INFERENCE_MODE": mode, "OPENAI_API_KEY": "stackproof-replay"}
    (model,) = found(known, environ)
    assert isinstance(model, LiveModel)
    assert (model.title, model.setup, model.url) == ("openai/gpt-4o", "gpt", "http://there/v1")
    assert model.variables["OPENAI_API_KEY"] == "stackproof-replay"


def test_a_run_may_name_another_model_to_record(known: Catalog) -> None:
    environ = {**GPT, "STACKPROOF_INFERENCE_MODE": "record", "STACKPROOF_TEXT_MODEL": "openai/gpt-5-mini"}
    assert titles(known, environ) == ["openai/gpt-5-mini"]


@pytest.mark.parametrize("mode", ["verify", "live"])
def test_where_calls_go_out_and_nothing_is_kept_the_variables_have_to_ask(known: Catalog, mode: str) -> None:
    environ = {**GPT, "STACKPROOF_INFERENCE_MODE": mode, "OPENAI_API_KEY": KEY}
    said = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: STACKPROOF_LIVE_MODEL"
    assert titles(known, environ) == [said]
    assert titles(known, {**environ, "STACKPROOF_LIVE_MODEL": "openai/a,openai/b"}) == ["openai/a", "openai/b"]


def test_what_is_missing_is_said_of_the_runs_own_setup(known: Catalog) -> None:
    environ = {"STACKPROOF_CHILD": "1", "STACKPROOF_SETUP": "llama-cpp", "STACKPROOF_INFERENCE_MODE": "verify"}
    said = "a real call needs LLAMA_CPP_URL and STACKPROOF_LIVE_MODEL; missing: STACKPROOF_LIVE_MODEL"
    assert titles(known, {**environ, "LLAMA_CPP_URL": "http://there/v1"}) == [said]


def test_a_run_calls_no_models_of_other_setups(known: Catalog) -> None:
    environ = {**GPT, "STACKPROOF_INFERENCE_MODE": "verify", "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    assert titles(known, {**environ, "STACKPROOF_LIVE_MODEL": "anthropic/a,openai/b"}) == ["openai/b"]
    said = "STACKPROOF_LIVE_MODEL names no model of setup gpt, but anthropic/a"
    assert titles(known, {**environ, "STACKPROOF_LIVE_MODEL": "anthropic/a"}) == [said]


def test_a_search_is_asked_with_the_models_of_its_own_setup(known: Catalog) -> None:
    environ = {"STACKPROOF_CHILD": "1", "STACKPROOF_SETUP": "tavily", "STACKPROOF_INFERENCE_MODE": "verify"}
    keys = {"TAVILY_API_KEY": KEY, "OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": "openai/gpt-5-mini"}
    (model,) = found(known, {**environ, **keys})
    assert isinstance(model, LiveModel)
    assert model.setup == "tavily"


def test_without_a_run_only_the_variables_count(known: Catalog) -> None:
    said = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: OPENAI_API_KEY, STACKPROOF_LIVE_MODEL"
    assert titles(known, {"STACKPROOF_INFERENCE_MODE": "replay", "STACKPROOF_SETUP": "gpt"}) == [said]


def test_a_setup_without_a_text_model_is_skipped(known: Catalog) -> None:
    environ = {"STACKPROOF_CHILD": "1", "STACKPROOF_SETUP": "gpt", "STACKPROOF_INFERENCE_MODE": "replay"}
    assert titles(known, environ) == ["setup gpt names no text model of its own providers (--text-model)"]
