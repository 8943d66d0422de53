"""Which proxy leads to a provider."""

from __future__ import annotations

import pytest

from stackproof.edge.proxies import Proxies

ENVIRON = {
    "HTTPS_PROXY": "http://proxy.example.com:3128",
    "http_proxy": "proxy.example.com:8080",
    "HTTP_PROXY": "http://other.example.com",
    "NO_PROXY": "localhost,127.0.0.1,.corp.example.com",
}


@pytest.mark.parametrize(
    ("origin", "proxy"),
    [
        ("https://api.openai.com", "http://proxy.example.com:3128"),
        ("http://gpu.example.com:8000", "http://proxy.example.com:8080"),
        ("http://127.0.0.1:11434", None),
        ("https://llm.corp.example.com", None),
    ],
)
def test_the_environment_says_which(origin: str, proxy: str | None) -> None:
    assert Proxies(ENVIRON).of(origin) == proxy


def test_one_for_all_and_none_for_nobody() -> None:
    assert Proxies({"ALL_PROXY": "http://p.example.com"}).of("https://x.example.com") == "http://p.example.com"
    assert Proxies({"ALL_PROXY": "http://p.example.com", "NO_PROXY": "*"}).of("https://x.example.com") is None
    assert Proxies({}).of("https://x.example.com") is None
