"""Images in a question, on each of the three wires.

What a model says of an image is asked only where the setup has a model that sees. How an image reaches the provider is
asked everywhere: a model that the provider does not have is refused whatever the question is, and the recorded request
holds the image as it was sent, so that an image which is passed on in another form is a miss.
"""

from __future__ import annotations

import asyncio
import base64

import anthropic
import openai
import pytest
from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI

# One red pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
URL = f"data:image/png;base64,{PIXEL}"
QUESTION = "Which colour is this?"


@pytest.fixture
def nobody(text_model: str) -> str:
    """A model that the provider does not have."""
    return f"{text_model.partition('/')[0]}/no-such-model"


def test_the_picture_is_one() -> None:
    assert base64.b64decode(PIXEL, validate=True).startswith(b"\x89PNG\r\n")


# -- what a model sees


def test_an_image_is_described(openai_client: OpenAI, vision_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=vision_model,
        messages=[
            {
                "role": "user",
                "content": [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": URL}}],
            }
        ],
        temperature=0,
        max_tokens=16,
    )
    assert completion.choices[0].message.content


def test_the_description_of_an_image_is_streamed(openai_client: OpenAI, vision_model: str) -> None:
    stream = openai_client.chat.completions.create(
        model=vision_model,
        messages=[
            {
                "role": "user",
                "content": [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": URL}}],
            }
        ],
        temperature=0,
        max_tokens=16,
        stream=True,
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def test_an_image_is_described_in_a_response(openai_client: OpenAI, vision_model: str) -> None:
    response = openai_client.responses.create(
        model=vision_model,
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": QUESTION},
                    {"type": "input_image", "image_url": URL, "detail": "auto"},
                ],
            }
        ],
        temperature=0,
        max_output_tokens=16,
    )
    assert response.output_text


# -- what reaches a provider


def test_an_image_in_chat_reaches_the_provider_as_it_was_sent(openai_client: OpenAI, nobody: str) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        openai_client.chat.completions.create(
            model=nobody,
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": QUESTION},
                        {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
                    ],
                }
            ],
            max_tokens=4,
        )
    assert 400 <= caught.value.status_code < 500
    assert "no-such-model" in caught.value.message


def test_several_images_keep_their_order(async_openai_client: AsyncOpenAI, nobody: str) -> None:
    async def ask() -> None:
        async with async_openai_client as client:
            await client.chat.completions.create(
                model=nobody,
                messages=[
                    {"role": "system", "content": "You compare pictures."},
                    {
                        "role": "user",
                        "content": [
                            {"type": "image_url", "image_url": {"url": URL}},
                            {"type": "text", "text": "The first. The second:"},
                            {"type": "image_url", "image_url": {"url": "https://pictures.example/second.png"}},
                        ],
                    },
                ],
                max_tokens=4,
                stream=True,
            )

    with pytest.raises(openai.APIStatusError, match="no-such-model"):
        asyncio.run(ask())


def test_an_image_in_a_response_reaches_the_provider_as_it_was_sent(openai_client: OpenAI, nobody: str) -> None:
    with pytest.raises(openai.APIStatusError, match="no-such-model"):
        openai_client.responses.create(
            model=nobody,
            input=[
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": QUESTION},
                        {"type": "input_image", "image_url": URL, "detail": "high"},
                    ],
                }
            ],
        )


def test_an_image_in_messages_reaches_the_provider_as_it_was_sent(anthropic_client: Anthropic, nobody: str) -> None:
    with pytest.raises(anthropic.APIStatusError, match="no-such-model"):
        anthropic_client.messages.create(
            model=nobody,
            max_tokens=4,
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": QUESTION},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                        },
                    ],
                }
            ],
        )
