"""The help desk: OpenAI answers, and Anthropic where OpenAI does not."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anthropic
import openai
from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

GPT = os.environ.get("HELPDESK_GPT", "gpt-4o-mini")
CLAUDE = os.environ.get("HELPDESK_CLAUDE", "claude-3-5-haiku-20241022")


class Question(BaseModel):
    """What somebody wants to know, and the format of OpenAI's answer: `text` or `json_object`."""

    text: str
    format: str = "text"


def create_app() -> FastAPI:
    """The application. Keys and addresses of both providers are where their SDKs look for them."""
    gpt = openai.AsyncOpenAI()
    claude = anthropic.AsyncAnthropic()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with gpt, claude:
            yield

    app = FastAPI(lifespan=lifespan)

    async def ask_gpt(question: Question) -> str:
        answer = await gpt.chat.completions.create(
            model=GPT,
            max_tokens=24,
            messages=[{"role": "user", "content": question.text}],
            extra_body={"response_format": {"type": question.format}},
        )
        return answer.choices[0].message.content or ""

    async def ask_claude(question: Question) -> str:
        message = await claude.messages.create(
            model=CLAUDE, max_tokens=24, messages=[{"role": "user", "content": question.text}]
        )
        return "".join(block.text for block in message.content if block.type == "text")

    @app.get("/health")
    async def health() -> dict[str, bool]:
        return {"ok": True}

    @app.post("/ask")
    async def ask(question: Question) -> dict[str, str]:
        """OpenAI's answer; where OpenAI refuses or fails, Anthropic's."""
        try:
            return {"by": "openai", "answer": await ask_gpt(question)}
        except openai.APIError as error:
            return {"by": "anthropic", "because": type(error).__name__, "answer": await ask_claude(question)}

    @app.post("/stream")
    async def stream(question: Question) -> StreamingResponse:
        """OpenAI's answer, piece by piece."""

        async def pieces() -> AsyncIterator[str]:
            events = await gpt.chat.completions.create(
                model=GPT,
                max_tokens=24,
                messages=[{"role": "user", "content": question.text}],
                stream=True,
            )
            async for event in events:
                if event.choices and event.choices[0].delta.content:
                    yield event.choices[0].delta.content

        return StreamingResponse(pieces(), media_type="text/plain")

    @app.post("/compare")
    async def compare(question: Question) -> dict[str, str]:
        """What both say; 502, with its own words, where one of them refuses."""
        try:
            return {"openai": await ask_gpt(question), "anthropic": await ask_claude(question)}
        except (openai.APIStatusError, anthropic.APIStatusError) as error:
            raise HTTPException(502, detail=error.message) from error

    return app
