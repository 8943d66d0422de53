"""Images in a question; skipped where the setup has no model that sees."""

from __future__ import annotations

from openai import OpenAI

# One red pixel.
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)


def test_an_image_is_described(openai_client: OpenAI, vision_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=vision_model,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Which colour is this?"},
                    {"type": "image_url", "image_url": {"url": PIXEL}},
                ],
            }
        ],
        temperature=0,
        max_tokens=16,
    )
    assert completion.choices[0].message.content
