"""An application of granian's own protocol, RSGI."""

# mypy: ignore-errors
# It runs under the server, with packages that need not be here.

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import parse_qs

from openai import AsyncOpenAI

_WHERE = {"base_url": os.environ["LLM_URL"], "api_key": os.environ["LLM_KEY"]}


async def app(scope: Any, protocol: Any) -> None:
    say = parse_qs(scope.query_string).get("say", ["x"])[0]
    head = [("content-type", "application/json")]
    if scope.path == "/health":
        protocol.response_str(200, head, json.dumps({"pid": os.getpid()}))
        return
    async with AsyncOpenAI(**_WHERE) as client:
        messages = [{"role": "user", "content": say}]
        if scope.path == "/stream":
            parts = await client.chat.completions.create(model="m", messages=messages, stream=True)
            transport = protocol.response_stream(200, head)
            async for part in parts:
                await transport.send_str(json.dumps(part.choices[0].delta.content) + "\n")
            return
        answer = await client.chat.completions.create(model="m", messages=messages)
    text = answer.choices[0].message.content
    protocol.response_str(200, head, json.dumps({"text": text, "pid": os.getpid()}))
