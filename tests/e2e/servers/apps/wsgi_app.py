"""A Flask application that asks a provider through OpenAI's SDK, sync and async, plain and streamed."""

# mypy: ignore-errors
# It runs under the server, with packages that need not be here.

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator

from flask import Flask, Response, jsonify, request
from openai import AsyncOpenAI, OpenAI

VERSION = "first"
_WHERE = {"base_url": os.environ["LLM_URL"], "api_key": os.environ["LLM_KEY"]}
app = Flask(__name__)


def _ask(say: str) -> str | None:
    with OpenAI(**_WHERE) as client:
        messages = [{"role": "user", "content": say}]
        answer = client.chat.completions.create(model="m", messages=messages)
    text: str | None = answer.choices[0].message.content
    return text


if os.environ.get("ASK_AT_START"):
    # Where the application is loaded before its server forks, this is under way in the master meanwhile.
    def _go_on_asking() -> None:
        while True:
            _ask("at the start")

    # A thread that is importing at the fork would keep Python's own locks from the workers.
    _ask("at the start")
    threading.Thread(target=_go_on_asking, daemon=True).start()


@app.get("/health")
def health() -> Response:
    return jsonify(pid=os.getpid(), version=VERSION)


@app.get("/seen")
def seen() -> Response:
    return jsonify(headers=[[name.lower(), value] for name, value in request.headers.items()], pid=os.getpid())


@app.get("/ask")
def ask() -> Response:
    return jsonify(text=_ask(request.args["say"]), pid=os.getpid())


@app.get("/thread")
def thread() -> Response:
    found: list[str | None] = []
    say = request.args["say"]
    worker = threading.Thread(target=lambda: found.append(_ask(say)))
    worker.start()
    worker.join()
    return jsonify(text=found[0], pid=os.getpid())


@app.get("/loop")
def loop() -> Response:
    say = request.args["say"]

    async def answer() -> str | None:
        async with AsyncOpenAI(**_WHERE) as client:
            messages = [{"role": "user", "content": say}]
            found = await client.chat.completions.create(model="m", messages=messages)
        text: str | None = found.choices[0].message.content
        return text

    return jsonify(text=asyncio.run(answer()), pid=os.getpid())


@app.get("/closing")
def closing() -> Response:
    response = jsonify(text="closing")
    say = request.args["say"]

    @response.call_on_close
    def _() -> None:
        _ask(say)

    return response


@app.get("/stream")
def stream() -> Response:
    say = request.args["say"]

    def events() -> Iterator[str]:
        with OpenAI(**_WHERE) as client:
            messages = [{"role": "user", "content": say}]
            with client.chat.completions.create(model="m", messages=messages, stream=True) as parts:
                for part in parts:
                    yield json.dumps(part.choices[0].delta.content) + "\n"

    return Response(events(), mimetype="application/x-ndjson")


if __name__ == "__main__":
    from werkzeug.serving import run_simple

    kinds: dict[str, dict[str, object]] = {
        "threads": {"threaded": True},
        "processes": {"processes": 3},
        "reload": {"threaded": True, "use_reloader": True, "reloader_interval": 0.2, "reloader_type": "stat"},
    }
    run_simple("127.0.0.1", int(sys.argv[1]), app, **kinds[sys.argv[2]])
