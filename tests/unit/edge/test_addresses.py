"""Which provider's URL a request to the edge is for."""

from __future__ import annotations

import pytest

from stackproof.edge.addresses import Addresses, Place, Unknown, own_url, without_secrets
from stackproof.recorder.settings import Provider

TOLD = (
    Provider(name="ollama", variable="OLLAMA_URL", prefixes=("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434")),
    Provider(name="openai", variable="OPENAI_BASE_URL", prefixes=("https://gateway.example.com/openai/v1",)),
    Provider(name="empty", variable="EMPTY_URL"),
)
AT = Addresses(TOLD)


@pytest.mark.parametrize(
    ("target", "own", "url"),
    [
        ("/ollama/chat/completions", None, "http://127.0.0.1:11434/v1/chat/completions"),
        ("/ollama", None, "http://127.0.0.1:11434/v1"),
        ("/to/ollama/x?a=1&b=%2F", None, "http://127.0.0.1:11434/v1/x?a=1&b=%2F"),
        ("/openai/models", None, "https://gateway.example.com/openai/v1/models"),
        ("/anthropic/v1/messages", None, "https://api.anthropic.com/v1/messages"),
        ("/gemini/v1beta/models/m:generateContent", None,
         "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"),
        ("/tavily/search", None, "https://api.tavily.com/search"),
        ("/together/chat", None, "https://api.together.xyz/v1/chat"),
        ("/v1/chat/completions", "ollama", "http://127.0.0.1:11434/v1/chat/completions"),
        ("/api/chat", "ollama", "http://127.0.0.1:11434/api/chat"),
        ("/openai/v1/a%2Fb//c", "openai", "https://gateway.example.com/openai/v1/a%2Fb//c"),
    ],
)  # fmt: skip
def test_a_target_is_a_providers_url(target: str, own: str | None, url: str) -> None:
    found = AT.find(target, own)
    assert isinstance(found, Place)
    assert found.url == url


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/olama/x", "no provider has the prefix /olama; there are: ollama, openai, anthropic"),
        ("/to/nobody/x", "no provider has the prefix /to/nobody;"),
        ("/to", "no provider has the prefix /to/;"),
        ("/", "no provider has the prefix /;"),
        ("/empty/x", "no provider has the prefix /empty;"),
        ("http://api.openai.com/v1/models", "the edge is no proxy"),
        ("*", "the edge is no proxy"),
    ],
)
def test_what_is_no_providers_is_told_in_one_sentence(target: str, said: str) -> None:
    found = AT.find(target)
    assert isinstance(found, Unknown)
    assert found.text.startswith(said)


def test_a_stacks_url_is_the_providers_with_another_origin() -> None:
    assert own_url("http://127.0.0.1:11434/v1", "http://127.0.0.1:4001") == "http://127.0.0.1:4001/v1"
    assert own_url("https://api.anthropic.com", "http://edge:4001") == "http://edge:4001"


@pytest.mark.parametrize(
    ("target", "own", "location", "led"),
    [
        ("/ollama/old", None, "http://127.0.0.1:11434/v1/new?x=1", "http://here/ollama/new?x=1"),
        ("/to/ollama/old", None, "http://127.0.0.1:11434/v1", "http://here/to/ollama"),
        ("/ollama/old", None, "/new", "http://here/ollama/new"),
        ("/v1/old", "ollama", "http://127.0.0.1:11434/api/new", "http://here/api/new"),
        ("/v1/old", "ollama", "/api/new", "/api/new"),
        ("/v1/old", "ollama", "new", "new"),
        ("/v1/old", "ollama", "http://127.0.0.1:114340/v1", "http://127.0.0.1:114340/v1"),
        ("/v1/old", "ollama", "https://elsewhere.example.com/x", "https://elsewhere.example.com/x"),
    ],
)
def test_redirects_to_the_provider_lead_back(target: str, own: str | None, location: str, led: str) -> None:
    found = AT.find(target, own)
    assert isinstance(found, Place)
    assert found.led_back(location, "http://here") == led


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://models.example/v1beta/chat?key=AIza-not-to-be-shown", "https://models.example/v1beta/chat"),
        ("http://user:word@localhost:11434/v1", "http://localhost:11434/v1"),
    ],
)
def test_a_url_is_shown_without_what_may_be_a_key(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
