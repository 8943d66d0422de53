"""What the desk owes to those who ask it: the same for the app in this process, as a server and in a container."""

from typing import Any


def test_openai_answers(http_client: Any) -> None:
    answer = http_client.post("/ask", json={"text": "Name a colour."})
    assert answer.status_code == 200
    assert answer.json()["by"] == "openai"
    assert answer.json()["answer"]


def test_anthropic_stands_in_where_openai_refuses_the_format(http_client: Any) -> None:
    answer = http_client.post("/ask", json={"text": "Name a colour.", "format": "haiku"}).json()
    assert (answer["by"], answer["because"]) == ("anthropic", "BadRequestError")
    assert answer["answer"]


def test_an_answer_comes_in_pieces(http_client: Any) -> None:
    with http_client.stream("POST", "/stream", json={"text": "Name three colours."}) as answer:
        assert answer.status_code == 200
        assert len([piece for piece in answer.iter_text() if piece]) > 1


def test_both_are_asked(http_client: Any) -> None:
    answer = http_client.post("/compare", json={"text": "Name a colour."}).json()
    assert all(answer[name] for name in ("openai", "anthropic"))


def test_a_refusal_is_handed_on_in_the_words_of_the_provider(http_client: Any) -> None:
    answer = http_client.post("/compare", json={"text": "Name a colour.", "format": "haiku"})
    assert answer.status_code == 502
    assert "haiku" in answer.json()["detail"]
