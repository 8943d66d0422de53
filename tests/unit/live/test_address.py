"""Whom a smoke called: a stand-in is not taken for the provider, whatever its address looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.live.address import called

KNOWN = catalog.load(Path(__file__).parents[3]).setups


def of(setup: str, url: str | None = None, *, service: str | None = None) -> tuple[tuple[str, ...], bool]:
    found = KNOWN[setup]
    spec = found.providers[0]
    variables = {**found.env, **({} if url is None else {spec.variable or "": url})}
    return called([spec.name], found, variables, service)


@pytest.mark.parametrize(
    ("setup", "url", "host", "own"),
    [
        ("gpt", None, "api.openai.com", True),
        ("gpt", "https://API.openai.com./v1/", "api.openai.com", True),
        ("gpt", "http://127.0.0.1:8099/v1", "127.0.0.1", False),
        ("gpt", "http://[::1]:8099/v1", "::1", False),
        ("gpt", "https://api.openai.com@stand-in.example/v1", "stand-in.example", False),
        ("gpt", "https://api.openai.com.stand-in.example/v1", "api.openai.com.stand-in.example", False),
        ("gpt", "nonsense", "an address of openai that cannot be told", False),
        ("gpt", "http://[half", "an address of openai that cannot be told", False),
        ("azure", "https://tenant.openai.azure.com/openai/v1", "tenant.openai.azure.com", True),
        ("azure", "http://0.0.0.0:1/v1", "0.0.0.0", False),
        ("vllm", None, "localhost", True),
        ("vllm", "http://127.0.0.1:9/v1", "127.0.0.1", True),
        ("vllm", "http://gpu.example/v1", "gpu.example", False),
    ],
)
def test_the_host_of_the_url_is_told_and_compared_with_that_of_the_setup(
    setup: str, url: str | None, host: str, *, own: bool
) -> None:
    assert of(setup, url) == ((host,), own)


def test_a_service_is_the_own_address_of_its_setup_alone() -> None:
    assert of("llama-cpp", service="llama-cpp") == (("service llama-cpp",), True)
    assert of("gpt", service="llama-cpp") == (("service llama-cpp",), False)


def test_one_of_several_providers_elsewhere_is_enough() -> None:
    setup = KNOWN["tavily"]
    variables = {**setup.env, "OPENAI_BASE_URL": "http://localhost:1/v1"}
    assert called(["tavily", "openai"], setup, variables, None) == (("localhost", "api.tavily.com"), False)


def test_nobody_is_nobody() -> None:
    assert called([], KNOWN["gpt"], {}, None) == ((), False)
    assert called(["stranger"], KNOWN["gpt"], {}, None)[1] is False
