"""What is asked before the tests, of providers that behave badly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.live.bad_provider import BadProvider, Manner, bad_provider

from stackproof import catalog
from stackproof.catalog.records import Catalog
from stackproof.live.meaning import Standing
from stackproof.live.opt_in import LiveModel, live_models
from stackproof.live.preflight import Allowance, Asked, check
from stackproof.live.sentences import Finding
from stackproof.run.interrupts import Interrupted, Interrupts

KEY = "sk-proj-abcdefghijklmnop1234567890"


@pytest.fixture(name="known", scope="module")
def _known(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog.load(tmp_path_factory.mktemp("project"))


@pytest.fixture(name="provider", scope="module")
def _provider() -> Iterator[BadProvider]:
    with bad_provider(Manner.GOOD, seconds=0.3, retry_after=1) as running:
        yield running


def asked(known: Catalog, models: str = "openai/bad-1", *, allowance: int = 9, **environ: str) -> Asked:
    given = {"STACKPROOF_LIVE_MODEL": models, "OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY, **environ}
    found = [model for model in live_models(given, known) if isinstance(model, LiveModel)]
    (one,) = check(
        found,
        known,
        environ=given,
        allowance=Allowance(allowance),
        interrupted=lambda: None,
        sleep=lambda _: None,
    )
    return one


def finding(one: Asked, title: str = "openai/bad-1") -> Finding:
    return one.findings[title]


@pytest.mark.parametrize(
    ("manner", "standing", "requests", "words"),
    [
        (Manner.GOOD, Standing.OK, 2, "openai key accepted, model bad-1 is there"),
        (Manner.UNAUTHORIZED, Standing.REJECTED, 1, "openai rejects OPENAI_API_KEY (401: Incorrect API key"),
        (Manner.FORBIDDEN, Standing.REJECTED, 1, "openai rejects OPENAI_API_KEY (403: Country"),
        (Manner.NO_QUOTA, Standing.NO_CREDIT, 2, "no credit left for OPENAI_API_KEY (429 insufficient_quota: "),
        (Manner.NO_CREDIT, Standing.NO_CREDIT, 2, "no credit left for OPENAI_API_KEY (400: Your credit balance"),
        (Manner.EXHAUSTED, Standing.NO_CREDIT, 2, "no credit left for OPENAI_API_KEY (429 RESOURCE_EXHAUSTED: "),
        (Manner.NO_MODEL, Standing.UNKNOWN_MODEL, 2, "openai lists model 'bad-1', and does not let OPENAI_API_KEY"),
        (Manner.OVERLOADED, Standing.UNREACHABLE, 3, "answers 503: The server is currently overloaded"),
        (Manner.RESET, Standing.UNREACHABLE, 2, "cannot be reached: the connection broke off"),
        (Manner.SLOW, Standing.OK, 2, "openai key accepted"),
    ],
)
def test_a_provider_is_told_by_what_it_answers(
    known: Catalog, provider: BadProvider, *, manner: Manner, standing: Standing, requests: int, words: str
) -> None:
    one = asked(known, OPENAI_BASE_URL=provider.url_of(manner))
    assert finding(one).standing is standing
    assert words in finding(one).sentence
    assert one.requests == requests
    assert finding(one).hint if standing is not Standing.OK else finding(one).hint is None


def test_a_rate_limit_is_waited_for_and_counted(known: Catalog) -> None:
    with bad_provider(Manner.RATE_LIMIT) as provider:
        one = asked(known, OPENAI_BASE_URL=provider.url)
        assert (finding(one).standing, one.requests, one.retries, one.tokens) == (Standing.OK, 3, 1, (3, 3))
        assert [each.path for each in provider.asked] == ["/v1/models", *["/v1/chat/completions"] * 2]


def test_nobody_waits_longer_than_makes_sense(known: Catalog) -> None:
    with bad_provider(Manner.RATE_LIMIT, retry_after=3600) as provider:
        one = asked(known, OPENAI_BASE_URL=provider.url)
    assert finding(one).standing is Standing.RATE_LIMITED
    assert "asks to wait 3600 s" in finding(one).sentence
    assert one.requests == 2  # the call that was told to wait is not made again


def test_one_token_is_asked_for_and_no_more(known: Catalog, provider: BadProvider) -> None:
    provider.asked.clear()
    asked(known, OPENAI_BASE_URL=provider.url)
    body = provider.asked[-1].body
    assert body["max_completion_tokens"] == 1
    assert "stream" not in body


def test_of_one_provider_the_credit_is_asked_for_once(known: Catalog, provider: BadProvider) -> None:
    # The second model is not in the list: whether it is an alias, only a call tells.
    one = asked(known, "openai/bad-1,openai/bad-2", OPENAI_BASE_URL=provider.url)
    assert one.requests == 3
    assert finding(one, "openai/bad-2").standing is Standing.OK


def test_where_nothing_is_paid_for_the_list_says_all(known: Catalog, provider: BadProvider) -> None:
    one = asked(known, "ollama/bad-1,ollama/bad-2", OLLAMA_URL=provider.url)
    assert one.requests == 1
    assert finding(one, "ollama/bad-1").sentence == "ollama answers, model bad-1 is there"
    unknown = finding(one, "ollama/bad-2")
    assert (unknown.standing, unknown.hint) == (Standing.UNKNOWN_MODEL, "it has bad-1")
    assert "did you mean 'bad-1'?" in unknown.sentence


def test_a_server_that_asks_for_a_key_that_the_setup_has_not_says_how_to_name_one(
    known: Catalog, provider: BadProvider
) -> None:
    one = asked(known, "ollama/bad-1", OLLAMA_URL=provider.url_of(Manner.UNAUTHORIZED))
    assert "asks for a key" in finding(one, "ollama/bad-1").sentence
    assert "secrets: [OLLAMA_API_KEY]" in str(finding(one, "ollama/bad-1").hint)


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f'"{KEY}"', f"{KEY} x", "sk-\u00e9" * 9])
def test_a_value_that_can_be_no_key_is_sent_nowhere(known: Catalog, provider: BadProvider, key: str) -> None:
    provider.asked.clear()
    one = asked(known, OPENAI_BASE_URL=provider.url, OPENAI_API_KEY=key)
    assert finding(one).standing is Standing.REJECTED
    assert finding(one).sentence.startswith("OPENAI_API_KEY has ")
    assert KEY not in finding(one).sentence + str(finding(one).hint)
    assert provider.asked == []


def test_no_more_is_asked_than_the_budget_allows(known: Catalog, provider: BadProvider) -> None:
    provider.asked.clear()
    one = asked(known, allowance=1, OPENAI_BASE_URL=provider.url)
    assert len(provider.asked) == one.requests == 1
    assert finding(one).fine


def test_a_signal_ends_the_waiting_at_once(known: Catalog, tmp_path: Path) -> None:
    interrupts = Interrupts()
    interrupts.note(2)
    with bad_provider(Manner.SLOW, seconds=600) as provider:
        given = {"STACKPROOF_LIVE_MODEL": "openai/a", "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": provider.url}
        models = [model for model in live_models(given, known) if isinstance(model, LiveModel)]
        began = time.monotonic()
        with pytest.raises(Interrupted):
            check(models, known, environ=given, allowance=Allowance(9), interrupted=interrupts.check)
    assert time.monotonic() - began < 300  # of 600 s that one answer takes
