"""The agent: a chat model that may look up the weather before it answers."""

import os
from collections.abc import Iterator
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

WEATHER = {"Paris": "sunny, 21 °C", "Oslo": "snow, -3 °C"}


@tool
def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return WEATHER.get(city, "nobody knows")


def guide() -> Any:
    """The agent, with the model that TRAVELGUIDE_MODEL names."""
    model = ChatOpenAI(model=os.environ.get("TRAVELGUIDE_MODEL", "gpt-4o-mini"), temperature=0)
    return create_agent(model, tools=[get_weather], system_prompt="You are a travel guide. Be brief.")


def ask(question: str) -> list[Any]:
    """All messages of one conversation: the question, what tools were called and said, the answer."""
    messages: list[Any] = guide().invoke({"messages": [("user", question)]})["messages"]
    return messages


def stream(question: str) -> Iterator[str]:
    """The answer, piece by piece."""
    for chunk, _ in guide().stream({"messages": [("user", question)]}, stream_mode="messages"):
        if isinstance(chunk, AIMessageChunk) and chunk.text:
            yield chunk.text
