"""The calls that cassettes are made of, with real clients: `vcr_calls.py HOW URL PLACE NAME…` prints what they gave.

HOW is `yaml` or `json` (recorded by vcrpy into the cassette PLACE), or `replay` (answered by the recorder from the
recordings below PLACE, for a scope of the environment variable SCOPE). Programs of their own, as vcrpy patches clients.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from collections.abc import Callable
from importlib import import_module
from typing import Any

QUESTION = [{"role": "user", "content": "Hällo \U0001f44b"}]
_CALLS: dict[str, Callable[[str], Any]] = {}


def _call(function: Callable[[str], Any]) -> Callable[[str], Any]:
    _CALLS[function.__name__] = function
    return function


def _openai(url: str) -> Any:
    import openai

    return openai.OpenAI(base_url=url, api_key="sk-0123456789abcdefghijklmnop", max_retries=0, timeout=60)


def _anthropic(url: str) -> Any:
    import anthropic

    base = url.removesuffix("/v1")
    return anthropic.Anthropic(base_url=base, api_key="sk-0123456789abcdefghijklmnop", max_retries=0, timeout=60)


@_call
def openai_plain(url: str) -> Any:
    return _openai(url).chat.completions.create(model="m", messages=QUESTION, temperature=0.5).model_dump()


@_call
def openai_stream(url: str) -> Any:
    stream = _openai(url).chat.completions.create(model="m", messages=QUESTION, stream=True)
    return [chunk.model_dump() for chunk in stream]


@_call
def openai_twice(url: str) -> Any:
    client = _openai(url)
    return [client.embeddings.create(model="m", input="again").model_dump() for _ in range(2)]


@_call
def openai_steps(url: str) -> Any:
    """The second request carries the id that the first answer gave."""
    client = _openai(url)
    first = client.responses.create(model="m", input="first")
    second = client.responses.create(model="m", input="second", previous_response_id=first.id)
    return [first.model_dump(), second.model_dump(), client.responses.retrieve(first.id).model_dump()]


@_call
def openai_models(url: str) -> Any:
    return [model.model_dump() for model in _openai(url).models.list()]


@_call
def openai_upload(url: str) -> Any:
    """A multipart body, under a boundary that is another one each time."""
    return _openai(url).files.create(file=("a.txt", b"\x00\xff text"), purpose="batch").model_dump()


@_call
def openai_refused(url: str) -> Any:
    import openai

    try:
        _openai(url).chat.completions.create(model="limited", messages=[])
    except openai.RateLimitError as error:
        return [error.status_code, error.body]
    return "not refused"


@_call
def anthropic_plain(url: str) -> Any:
    return _anthropic(url).messages.create(model="m", max_tokens=9, messages=QUESTION).model_dump()


@_call
def anthropic_stream(url: str) -> Any:
    stream = _anthropic(url).messages.create(model="m", max_tokens=9, messages=QUESTION, stream=True)
    return [event.model_dump() for event in stream]


@_call
def requests_json(url: str) -> Any:
    requests = import_module("requests")
    answer = requests.post(f"{url}/echo?b=2&a=1", json={"x": 1.0, "é": None}, timeout=60)
    return [answer.status_code, answer.json()]


@_call
def requests_form(url: str) -> Any:
    requests = import_module("requests")
    return requests.post(f"{url}/echo", data={"a": "1 2", "api_key": "s"}, timeout=60).json()


@_call
def requests_gzip(url: str) -> Any:
    requests = import_module("requests")
    return requests.get(f"{url}/gzip", timeout=60).json()


@_call
def requests_redirect(url: str) -> Any:
    requests = import_module("requests")
    answer = requests.get(f"{url}/moved", timeout=60)
    return [len(answer.history), answer.json()]


@_call
def requests_binary(url: str) -> Any:
    requests = import_module("requests")
    return b64encode(requests.get(f"{url}/binary", timeout=60).content).decode()


@_call
def httpx_elsewhere(url: str) -> Any:
    """A host that is no provider, as a test that fetches a picture has it."""
    import httpx

    return httpx.get(url.replace("127.0.0.1", "127.0.0.2") + "/gzip", timeout=60).json()


def _recorded(serializer: str, url: str, cassette: str, names: list[str]) -> dict[str, Any]:
    vcr = import_module("vcr")
    tape = vcr.VCR(
        serializer=serializer,
        record_mode="all",
        match_on=["method", "uri", "body"],
        filter_headers=["authorization", "x-api-key"],
        # vcrpy's JSON holds text only, so what came compressed has to be decoded for it.
        decode_compressed_response=serializer == "json",
    )
    with tape.use_cassette(cassette):
        return {name: _CALLS[name](url) for name in names}


def _replayed(url: str, recordings: str, names: list[str]) -> dict[str, Any]:
    from stackproof.recorder import scope
    from stackproof.recorder.install import installed
    from stackproof.recorder.mode import Mode
    from stackproof.recorder.settings import Provider, Settings

    settings = Settings(
        mode=Mode.REPLAY,
        recordings=recordings,
        setup="local",
        run_dir=os.environ["RUN_DIR"],
        run_id="r",
        providers=(Provider(name="local", variable="LOCAL_URL", prefixes=(url,)),),
    )
    test = os.environ["SCOPE"]
    with installed(settings), scope.use(scope.Scope(name=test, test_id=test)):
        return {name: _CALLS[name](url) for name in names}


if __name__ == "__main__":
    _, how, base, place, *wanted = sys.argv
    given = _replayed(base, place, wanted) if how == "replay" else _recorded(how, base, place, wanted)
    print(json.dumps(given))
