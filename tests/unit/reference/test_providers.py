"""The table of providers agrees with the setups, and the gateway knows nothing of what tests it."""

from __future__ import annotations

from pathlib import Path

import yaml

from reference_stack import providers

STACKS = Path(__file__).parents[3] / "stacks"


def test_names_and_variables_are_those_of_the_setups() -> None:
    setups = yaml.safe_load((STACKS / "setups.yaml").read_text(encoding="utf-8"))
    urls: dict[str, set[str]] = {}
    secrets: dict[str, set[str]] = {}
    for setup in setups.values():
        for name, provider in setup.get("providers", {}).items():
            urls.setdefault(name, set()).add(provider["variable"])
            secrets.setdefault(name, set()).update(setup.get("secrets", []))
    for row in providers.ROWS:
        assert urls[row.name] == {row.url}
        assert row.key is None or row.key in secrets[row.name]
    search, url, key = providers.SEARCH
    assert urls[search] == {url}
    assert key in secrets[search]
    known = {row.name for row in providers.ROWS} | set(providers.NOT_SERVED) | {search}
    assert known == set(urls), "served, or said why not"


def test_a_provider_without_a_url_is_absent() -> None:
    assert providers.configured({}) == ()
    assert providers.configured({"OLLAMA_URL": "", "OPENAI_API_KEY": "k"}) == ()


def test_urls_are_written_as_each_sdk_wants_them() -> None:
    environ = {
        "OLLAMA_URL": "http://localhost:11434/v1/",
        "ANTHROPIC_BASE_URL": "https://api.anthropic.com",
        "DATABRICKS_HOST": "w.databricks.com/",
    }
    ollama, anthropic, databricks = providers.configured(environ)
    assert (ollama.openai_url, ollama.anthropic_url) == ("http://localhost:11434/v1", "http://localhost:11434")
    assert (anthropic.openai_url, anthropic.anthropic_url) == (
        "https://api.anthropic.com/v1",
        "https://api.anthropic.com",
    )
    assert (databricks.openai_url, databricks.anthropic_url) == ("https://w.databricks.com/serving-endpoints", None)


def test_nothing_in_the_gateway_knows_what_tests_it() -> None:
    for source in (STACKS / "reference" / "reference_stack").glob("*.py"):
        text = source.read_text(encoding="utf-8").lower()
        assert "stackproof" not in text
        assert "recording" not in text


def test_an_api_beside_openais_is_at_the_origin() -> None:
    environ = {"GEMINI_BASE_URL": "https://generativelanguage.googleapis.com/v1beta/openai", "TAVILY_URL": "http://t/"}
    (gemini,) = providers.configured(environ)
    assert (gemini.origin, gemini.gemini) == ("https://generativelanguage.googleapis.com", True)
    assert providers.search_of(environ) == providers.Search(name="tavily", url="http://t", key=providers.NO_KEY)
    assert providers.search_of({}) is None
