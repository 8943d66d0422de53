"""Which proxies children are told of, and whom they call past them."""

from __future__ import annotations

import urllib.request

import pytest

from stackproof import proxies

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_each_is_known_in_both_cases_and_gone_where_nothing_goes_out(name: str) -> None:
    given = {name: PROXY, "NO_PROXY": "corp.example", "PATH": "/bin"}
    assert proxies.settled(given, kept=(), goes_out=False) == {"PATH": "/bin"}
    out = proxies.settled(given, kept=(), goes_out=True)
    assert out[name] == PROXY
    assert out["NO_PROXY"] == out["no_proxy"] == "corp.example,localhost,127.0.0.1"


def test_what_is_beside_a_stack_is_called_past_it() -> None:
    out = proxies.settled({"https_proxy": PROXY}, kept=(), goes_out=True, direct=("postgres", "10.89.0.2", ""))
    assert out["no_proxy"] == "localhost,127.0.0.1,postgres,10.89.0.2"


def test_in_lower_case_it_wins() -> None:
    given = {"https_proxy": PROXY, "NO_PROXY": "upper.example", "no_proxy": "lower.example"}
    assert proxies.settled(given, kept=(), goes_out=True)["NO_PROXY"].split(",")[0] == "lower.example"


def test_a_star_still_means_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    out = proxies.settled({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, kept=(), goes_out=True)
    monkeypatch.setenv("no_proxy", out["no_proxy"])
    assert urllib.request.proxy_bypass_environment("api.example.com")  # type: ignore[attr-defined]


def test_one_that_is_asked_for_stays_in_replay() -> None:
    out = proxies.settled({"HTTPS_PROXY": PROXY, "http_proxy": PROXY}, kept=("HTTPS_PROXY",), goes_out=False)
    assert proxies.named(out) == {"HTTPS_PROXY": PROXY}


def test_an_empty_variable_names_none_and_a_bare_host_is_called_by_http() -> None:
    assert proxies.named({"HTTPS_PROXY": "", "ALL_PROXY": "proxy.example:3128"}) == {"ALL_PROXY": PROXY}
    assert proxies.settled({"HTTPS_PROXY": "", "A": "b"}, kept=(), goes_out=True) == {"HTTPS_PROXY": "", "A": "b"}


def test_hosts_of_urls() -> None:
    assert proxies.hosts(["http://172.18.0.1:4000/v1", "postgresql://u:p@db:5432/x", "plain", "http://"]) == (
        "172.18.0.1",
        "db",
    )
