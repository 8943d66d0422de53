"""What a provider sets as a cookie, or says of its tenant, is in no file, and clients behave as they will in replay."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx
import httpx2
import pytest
import requests

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

Heard = tuple[dict[str, str], list[str]]  # cookies that the client shows or keeps, names of headers that it was shown


def _answer(wire: Wire) -> None:
    wire.json({"ok": True}, set_cookie="sid=abc123; Path=/; HttpOnly", openai_organization="org-zz")


def _httpx(module: Any) -> Callable[[str], Heard]:
    def ask(url: str) -> Heard:
        with module.Client(trust_env=False) as client:
            answers = [client.post(url, content=b"ask"), client.post(url, content=b"ask")]
            return dict(client.cookies), [name.lower() for answer in answers for name in answer.headers]

    return ask


def _aiohttp(url: str) -> Heard:
    async def main() -> Heard:
        # Otherwise aiohttp keeps no cookie of an address without a name.
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            names: list[str] = []
            kept: dict[str, str] = {}
            for _ in range(2):
                async with session.post(url, data=b"ask") as answer:
                    await answer.read()
                    kept |= {cookie.key: cookie.value for cookie in answer.cookies.values()}
                    names += [name.lower() for name in answer.headers]
            return kept | {cookie.key: cookie.value for cookie in session.cookie_jar}, names

    return asyncio.run(main())


def _requests(url: str) -> Heard:
    with requests.Session() as session:
        session.trust_env = False
        answers = [session.post(url, data=b"ask"), session.post(url, data=b"ask")]
        kept = dict(answers[0].cookies) | dict(session.cookies)
        return kept, [name.lower() for answer in answers for name in answer.headers]


ASKS: dict[str, Callable[[str], Heard]] = {
    "httpx": _httpx(httpx),
    "httpx2": _httpx(httpx2),
    "aiohttp": _aiohttp,
    "requests": _requests,
}


@pytest.mark.parametrize("client", ASKS)
def test_a_cookie_and_the_organisation_reach_no_file_and_no_caller(
    bench: Bench, provider: LoopbackProvider, client: str
) -> None:
    provider.script = _answer
    heard = []
    for mode in (bench.record, bench.replay):
        with mode():
            heard.append(ASKS[client](f"{provider.url}/answers"))
    for cookies, names in heard:
        assert cookies == {}
        assert "set-cookie" not in names
    assert [asked.headers.get("cookie") for asked in provider.asked] == [None, None]
    assert len(bench.files()) == 2
    for file in bench.files():
        text = file.read_text()
        assert "abc123" not in text
        assert "org-zz" not in text


@pytest.mark.parametrize("client", ASKS)
def test_cookies_of_others_are_kept_as_always(bench: Bench, provider: LoopbackProvider, client: str) -> None:
    provider.script = _answer
    with bench.record():
        cookies, _ = ASKS[client](f"http://127.0.0.1:{provider.port}/elsewhere")
    assert cookies == {"sid": "abc123"}


def test_a_cookie_that_the_caller_sets_goes_out(bench: Bench, provider: LoopbackProvider) -> None:
    with bench.record(), httpx2.Client(trust_env=False, cookies={"mine": "1"}) as client:
        client.post(f"{provider.url}/answers", content=b"ask")
    assert provider.asked[0].headers["cookie"] == "mine=1"
