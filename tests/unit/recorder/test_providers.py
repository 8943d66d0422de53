"""Which URLs are calls to a provider."""

from __future__ import annotations

import pytest

from stackproof.recorder.providers import Providers, Target, is_below
from stackproof.recorder.settings import Provider

TOLD = Providers(
    [
        Provider(
            name="ollama", variable="OLLAMA_URL", prefixes=("http://localhost:11434/v1", "http://localhost:11434")
        ),
        Provider(name="gateway", variable="GATEWAY_URL", prefixes=("https://gw.example.org/openai/",)),
        Provider(name="gateway-beta", variable=None, prefixes=("https://gw.example.org/openai/beta",)),
        Provider(name="ours", variable="OPENAI_BASE_URL", prefixes=("https://api.openai.com",)),
    ]
)


def _match(url: str) -> tuple[str, str, str] | None:
    found = TOLD.match(url)
    return (found.provider, found.path, found.shown) if found else None


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11434/v1/chat/completions",
        "http://127.0.0.1:11434/v1/chat/completions",
        "http://LOCALHOST:11434/v1/chat/completions",
        "http://[::1]:11434/v1/chat/completions",
        "http://0.0.0.0:11434/v1/chat/completions",
        "http://user:word@localhost:11434/v1/chat/completions",
        "http://localhost:11434/v1/chat/completions#x",
    ],
)
def test_one_machine_has_many_names(url: str) -> None:
    assert _match(url) == ("ollama", "/chat/completions", "{OLLAMA_URL}")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:11434/api/tags", ("ollama", "/api/tags", "{ollama}")),
        ("http://localhost:11434/v1", ("ollama", "/", "{OLLAMA_URL}")),
        ("http://localhost:11434/v1/", ("ollama", "/", "{OLLAMA_URL}")),
        ("http://localhost:11434/v10/x", ("ollama", "/v10/x", "{ollama}")),
        ("http://localhost:11434", ("ollama", "/", "{ollama}")),
        ("https://gw.example.org/openai/chat", ("gateway", "/chat", "{GATEWAY_URL}")),
        ("https://gw.example.org:443/openai/chat", ("gateway", "/chat", "{GATEWAY_URL}")),
        ("https://gw.example.org/openai/beta/chat", ("gateway-beta", "/chat", "{gateway-beta}")),
        ("https://gw.example.org/openai/betas", ("gateway", "/betas", "{GATEWAY_URL}")),
        ("https://api.openai.com/v1/models", ("ours", "/v1/models", "{OPENAI_BASE_URL}")),
    ],
)
def test_the_longest_prefix_that_was_told_wins(url: str, expected: tuple[str, str, str]) -> None:
    assert _match(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11435/v1/chat",
        "http://localhost/v1/chat",
        "https://localhost/v1",
        "https://gw.example.org/other",
        "https://gw.example.org/openai2",
        "http://gw.example.org/openai",
        "https://gw.example.org.evil.example/openai",
        "https://example.org/?u=https://api.openai.com/v1",
        "https://api.openai.com.example.org/v1",
        "http://localhost:99999/v1",
        "mailto:x@example.org",
        "",
    ],
)
def test_anything_else_is_nobody_s(url: str) -> None:
    assert TOLD.match(url) is None


@pytest.mark.parametrize(
    ("url", "provider", "path"),
    [
        ("https://api.openai.com/v1/chat/completions", "openai", "/chat/completions"),
        ("https://api.anthropic.com/v1/messages", "anthropic", "/v1/messages"),
        ("https://generativelanguage.googleapis.com/v1beta/models/g:x", "gemini", "/v1beta/models/g:x"),
        ("https://tenant.openai.azure.com/openai/deployments/d/chat", "azure", "/openai/deployments/d/chat"),
        ("https://us-central1-aiplatform.googleapis.com/v1/x", "vertexai", "/v1/x"),
        ("https://aiplatform.googleapis.com/v1/x", "vertexai", "/v1/x"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke", "bedrock", "/model/m/invoke"),
        ("https://us-south.ml.cloud.ibm.com/ml/v1", "watsonx", "/ml/v1"),
        ("https://api.tavily.com/search", "tavily", "/search"),
    ],
)
def test_well_known_hosts_need_not_be_told(url: str, provider: str, path: str) -> None:
    found = Providers([]).match(url)
    assert found == Target(provider=provider, path=path, query="", shown=f"{{{provider}}}")


def test_the_query_is_kept_apart() -> None:
    found = TOLD.match("http://localhost:11434/v1/models?limit=2&a=b")
    assert found is not None
    assert (found.path, found.query) == ("/models", "limit=2&a=b")


def test_sockets_are_known_by_host_and_port() -> None:
    assert TOLD.is_provider_host("127.0.0.1", 11434)
    assert TOLD.is_provider_host("localhost", 11434)
    assert TOLD.is_provider_host("gw.example.org", 443)
    assert not TOLD.is_provider_host("127.0.0.1", 8321)
    assert not TOLD.is_provider_host("gw.example.org", 80)


@pytest.mark.parametrize("url", ["https://oauth2.googleapis.com/token", "https://sts.eu-west-1.amazonaws.com/"])
def test_token_endpoints(url: str) -> None:
    assert Providers.is_token_endpoint(url)
    assert TOLD.match(url) is None


@pytest.mark.parametrize(
    ("path", "gives"),
    [("/oidc/v1/token", True), ("/identity/token", True), ("/v1/tokens", False), ("/v1/chat/completions", False)],
)
def test_a_provider_may_give_out_tokens_at_its_own_host(path: str, gives: bool) -> None:
    found = TOLD.match(f"https://w.cloud.databricks.com{path}")
    assert found is not None
    assert found.gives_tokens is gives


def test_other_hosts_give_out_no_tokens() -> None:
    assert not Providers.is_token_endpoint("https://sts.example.org/")


@pytest.mark.parametrize(
    ("url", "below"),
    [
        ("http://localhost:8321", True),
        ("http://127.0.0.1:8321/v1/x?y", True),
        ("http://127.0.0.1:83210/", False),
        ("http://127.0.0.1:832", False),
        ("https://127.0.0.1:8322/", False),
    ],
)
def test_the_stack_is_known_however_its_address_is_written(url: str, below: bool) -> None:
    assert is_below(url, "http://127.0.0.1:8321") == below
    assert is_below(url, "http://localhost:8321/") == below
