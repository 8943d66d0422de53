"""Two variables ask for real calls: the provider's own, and the one that names the model."""

from __future__ import annotations

import pytest

from stackproof import catalog
from stackproof.catalog.records import Catalog
from stackproof.errors import UsageError
from stackproof.live.opt_in import LiveModel, NotWanted, live_models

KEY = "a-key-that-nobody-may-see"


@pytest.fixture(name="known", scope="module")
def _known(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog.load(tmp_path_factory.mktemp("project"))


def reason(environ: dict[str, str], known: Catalog) -> str:
    (found,) = live_models(environ, known)
    assert isinstance(found, NotWanted)
    return found.reason


def test_nothing_set_names_both_variables(known: Catalog) -> None:
    said = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: OPENAI_API_KEY, STACKPROOF_LIVE_MODEL"
    assert reason({}, known) == said


def test_a_key_alone_calls_nothing(known: Catalog) -> None:
    said = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: STACKPROOF_LIVE_MODEL"
    assert reason({"OPENAI_API_KEY": KEY}, known) == said


def test_a_model_alone_calls_nothing(known: Catalog) -> None:
    said = "a real call needs ANTHROPIC_API_KEY and STACKPROOF_LIVE_MODEL; missing: ANTHROPIC_API_KEY"
    assert reason({"STACKPROOF_LIVE_MODEL": "anthropic/claude", "OPENAI_API_KEY": KEY}, known) == said


def test_an_empty_key_is_none(known: Catalog) -> None:
    assert "missing: OPENAI_API_KEY" in reason(
        {"STACKPROOF_LIVE_MODEL": "openai/gpt-5-mini", "OPENAI_API_KEY": ""}, known
    )


@pytest.mark.parametrize("blank", ["", "  ", ",", " , ,"])
def test_a_variable_of_blanks_and_commas_names_no_model_and_is_said_to_be_missing(known: Catalog, blank: str) -> None:
    said = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: STACKPROOF_LIVE_MODEL"
    assert reason({"OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": blank}, known) == said


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("ollama/smollm2:135m", "OLLAMA_URL"),
        ("llama-cpp/smollm2:135m", "LLAMA_CPP_URL"),
        ("vllm/Qwen/Qwen3-0.6B", "VLLM_URL"),
    ],
)
def test_a_provider_without_a_key_is_asked_for_by_its_url(known: Catalog, model: str, variable: str) -> None:
    said = f"a real call needs {variable} and STACKPROOF_LIVE_MODEL; missing: {variable}"
    assert reason({"STACKPROOF_LIVE_MODEL": model}, known) == said


def test_a_tenants_url_is_needed_beside_its_key(known: Catalog) -> None:
    environ = {"STACKPROOF_LIVE_MODEL": "azure/gpt", "AZURE_API_KEY": KEY}
    assert reason(environ, known).endswith("missing: AZURE_API_BASE")


def test_both_set_give_the_model_its_setup_and_its_url(known: Catalog) -> None:
    (found,) = live_models({"STACKPROOF_LIVE_MODEL": "openai/gpt-5-mini", "OPENAI_API_KEY": KEY}, known)
    assert isinstance(found, LiveModel)
    assert (found.provider, found.model, found.setup) == ("openai", "gpt-5-mini", "gpt")
    assert found.url == known.setup("gpt").env["OPENAI_BASE_URL"]
    assert found.variables["OPENAI_API_KEY"] == KEY


def test_a_slash_in_a_models_name_is_its_own(known: Catalog) -> None:
    (found,) = live_models({"STACKPROOF_LIVE_MODEL": "vllm/Qwen/Qwen3-0.6B", "VLLM_URL": "http://gpu:8000/v1"}, known)
    assert isinstance(found, LiveModel)
    assert (found.model, found.url) == ("Qwen/Qwen3-0.6B", "http://gpu:8000/v1")


def test_several_models_are_each_asked_for_once(known: Catalog) -> None:
    environ = {
        "STACKPROOF_LIVE_MODEL": "openai/a, anthropic/b ,openai/a,",
        "OPENAI_API_KEY": KEY,
    }
    one, other = live_models(environ, known)
    assert isinstance(one, LiveModel)
    assert isinstance(other, NotWanted)


@pytest.mark.parametrize("word", ["gpt-5", "/gpt-5", "openai/"])
def test_a_model_without_its_provider_is_refused(known: Catalog, word: str) -> None:
    with pytest.raises(UsageError, match="is not written provider/model") as told:
        live_models({"STACKPROOF_LIVE_MODEL": word}, known)
    assert told.value.hint is not None
    assert "openai/gpt-5-mini" in told.value.hint


def test_a_provider_that_nobody_knows_is_refused_with_what_may_be_meant(known: Catalog) -> None:
    with pytest.raises(UsageError, match=r"provider 'opnai' is in no setup.*'openai'"):
        live_models({"STACKPROOF_LIVE_MODEL": "opnai/gpt-5", "OPENAI_API_KEY": KEY}, known)


def test_what_reports_show_of_it_has_no_key(known: Catalog) -> None:
    (found,) = live_models({"STACKPROOF_LIVE_MODEL": "openai/gpt-5", "OPENAI_API_KEY": KEY}, known)
    assert KEY not in f"{found!r} {found}"


def test_the_model_that_is_not_called_is_named(known: Catalog) -> None:
    (found,) = live_models({"STACKPROOF_LIVE_MODEL": "openai/gpt-5-mini"}, known)
    assert isinstance(found, NotWanted)
    assert (found.title, found.setup, found.provider) == ("openai/gpt-5-mini", "gpt", "openai")


def test_the_setup_of_a_run_comes_before_one_named_like_the_provider(known: Catalog) -> None:
    environ = {"STACKPROOF_LIVE_MODEL": "openai/o4-mini,anthropic/b", "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    one, other = live_models(environ, known, setup="gpt-reasoning")
    assert (one.setup, other.setup) == ("gpt-reasoning", "anthropic")


def test_a_service_that_the_run_starts_counts_as_the_first_variable(known: Catalog) -> None:
    (found,) = live_models({"STACKPROOF_LIVE_MODEL": "llama-cpp/smollm2:135m"}, known, served=True)
    assert isinstance(found, LiveModel)
    (found,) = live_models({}, known, provider="llama-cpp", served=True)
    assert isinstance(found, NotWanted)
    assert found.reason.endswith("missing: STACKPROOF_LIVE_MODEL")


def test_a_fork_is_the_reason_for_a_missing_secret_only(known: Catalog) -> None:
    why = "a pull request from a fork gets no secrets"
    (secret,) = live_models({"STACKPROOF_LIVE_MODEL": "openai/a"}, known, because=why)
    (address,) = live_models({"STACKPROOF_LIVE_MODEL": "ollama/a"}, known, because=why)
    (model,) = live_models({"OPENAI_API_KEY": KEY}, known, because=why)
    assert isinstance(secret, NotWanted)
    assert isinstance(address, NotWanted)
    assert isinstance(model, NotWanted)
    assert secret.reason.endswith(f"missing: OPENAI_API_KEY ({why})")
    assert address.reason.endswith("missing: OLLAMA_URL")
    assert model.reason.endswith("missing: STACKPROOF_LIVE_MODEL")


def test_a_searchs_model_is_its_endpoint_and_needs_all_of_its_setups_keys(known: Catalog) -> None:
    (found,) = live_models({"STACKPROOF_LIVE_MODEL": "tavily/search", "TAVILY_API_KEY": KEY}, known)
    assert isinstance(found, NotWanted)
    assert found.reason.endswith("missing: OPENAI_API_KEY")
