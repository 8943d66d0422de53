"""`recordings show`: what a person reads, and how a file is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackproof.recordings.asking import asked

TEST = "tests/integration/base/test_chat.py::test_two_turns"
ASK = {
    "model": "small",
    "temperature": 0,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "What is this?\nSay it."},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGFsbG8gaGFsbG8="}},
        ]},
    ],
    "tools": [{"type": "function", "function": {"name": "look_up", "parameters": {"secret": "shape"}}}],
}  # fmt: skip


def answer(book: Any, **response: Any) -> str:
    """A recording of ASK with another answer; its path."""
    book.record(TEST, ASK)
    path = str(book.files()[0])
    content = json.loads((book.root / path).read_text())
    content["response"] |= response
    (book.root / path).write_text(json.dumps(content))
    return path


def chat(**message: Any) -> dict[str, Any]:
    """A chat completion as a body."""
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"json": {"object": "chat.completion", "model": "small", "choices": [choice], "usage": {"total_tokens": 7}}}


def test_a_conversation_reads_as_one(book: Any) -> None:
    out = book.say("show", answer(book, body=chat(content="A lamp.\nOr two."))).out
    assert f"  test     {TEST}\n" in out
    assert (
        "  system  Be brief.\n  user    What is this?\n          Say it.\n          [image_url image/png, 11 B]\n"
        in out
    )
    assert "  tools: look_up\n" in out
    assert "secret" not in out
    assert (
        "answered   200, chat completion, finish stop, model small\n  A lamp.\n  Or two.\n  usage: total_tokens 7\n"
        in out
    )


def test_what_a_terminal_would_act_on_is_written_out(book: Any) -> None:
    out = book.say("show", answer(book, body=chat(content="red \x1b[31m \u202e left"))).out
    assert "red \\x1b[31m \\u202e left" in out


def test_a_stream_tells_its_text_and_its_pieces(book: Any) -> None:
    def piece(text: str) -> dict[str, Any]:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}

    events = [{"data": piece("A ")}, {"data": piece("lamp."), "joined": True}, {"text": "[DONE]"}]
    path = answer(book, framing="sse", is_streaming=True, events=events)
    assert "stream of 3 events in 2 chunks\n  A lamp.\n" in book.say("show", path).out
    lines = book.say("show", "--events", path).out.splitlines()
    assert [line[:7] for line in lines[1:]] == ["   1 ┄ ", "   2   ", "   3 ┄ "]


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (
            {"body": {"json": {"error": {"message": "no such model"}}}, "status": 404},
            "404, JSON\n  error  no such model\n",
        ),
        ({"body": {"json": {"data": [{"embedding": [0.5] * 768}]}}}, "200, embeddings\n  768 floats\n"),
        (
            {"body": {"base64": "AAEC"}, "headers": {"content-type": "audio/wav"}},
            "200, binary\n  audio/wav, 3 B, sha256 ",
        ),
        ({"body": {"json": {"results": [1]}}}, '200, JSON\n  {\n    "results": [\n      1\n'),
        (
            {
                "body": None,
                "status": None,
                "is_exception": True,
                "exception": {"kind": "ReadTimeout", "message": "late"},
            },
            "answered   ReadTimeout: late, nothing\n",
        ),
        ({"complete": False}, "the caller left before its end"),
    ],
)
def test_other_answers_are_told_in_a_word(book: Any, response: dict[str, Any], told: str) -> None:
    assert told in book.say("show", answer(book, **response)).out


def test_facts_and_the_file_itself_are_there_for_programs(book: Any) -> None:
    path = answer(book, body=chat(content="A lamp."))
    (facts,) = book.say("show", "--json", path).json["recordings"]
    assert (facts["answer"]["text"], facts["asked"]["tools"], facts["scope"]) == ("A lamp.", ["look_up"], TEST)
    assert book.say("show", "--raw", path).out.rstrip() == (book.root / path).read_text()
    assert book.say("show", "--raw", "--json", path).code == 2


@pytest.mark.parametrize("junk", [None, [], 3, "x", {"a": 1}, [[]]])
@pytest.mark.parametrize("key", ["provenance", "rules", "id_normalization_mapping", "scope", "test_id"])
def test_an_edited_file_is_no_fault_of_ours(book: Any, key: str, junk: Any) -> None:
    path = answer(book)
    content = json.loads((book.root / path).read_text())
    (book.root / path).write_text(json.dumps(content | {key: junk}))
    for command in (["show", path], ["show", "--json", path], ["list"], ["stats"], ["diff", path, path]):
        assert book.say(*command).code == 0


def test_a_file_is_found_by_name_and_by_the_first_digits(book: Any) -> None:
    book.record(TEST, ASK, {"model": "other"})
    for path in book.files():
        name = path.rpartition("/")[2]
        scope, _, request = name.removesuffix(".json").partition("-")
        for word in (
            path,
            path.removeprefix("recordings/"),
            name,
            name[:-5],
            request[:8],
            f"{scope[:6]}-{request[:6]}",
        ):
            said = book.say("show", word)
            assert said.out.splitlines()[0] == path, said.err


def test_several_that_fit_are_listed_and_none_names_the_nearest(book: Any) -> None:
    book.record(TEST, ASK, {"model": "other"})
    name = book.files()[0].rpartition("/")[2]
    many = book.say("show", name[:12])
    assert many.code == 2
    assert all(path.removeprefix("recordings/") in many.err for path in book.files())
    assert f"did you mean {name}?" in book.say("show", f"x{name[1:]}").err
    (book.root / "notes.json").write_text("[]")
    assert book.say("show", "notes.json").err.startswith("✗ notes.json is not a recording: it has no format\n")
    assert book.say("show", "recordings/ollama").err.startswith("✗ recordings/ollama is a folder, not a recording\n")


@pytest.mark.parametrize(
    ("body", "turns"),
    [
        ({"input": "Hi", "instructions": "Be brief."}, [("system", "Be brief."), ("user", "Hi")]),
        ({"input": [{"role": "user", "content": "Hi"}, {"type": "function_call", "name": "f", "arguments": "{}"}]},
         [("user", "Hi"), ("function_call", "→ f({})")]),
        ({"system": [{"type": "text", "text": "S"}], "messages": [{"role": "user", "content": "Hi"}]},
         [("system", "S"), ("user", "Hi")]),
        ({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "systemInstruction": {"parts": [{"text": "S"}]}},
         [("system", "S"), ("user", "Hi")]),
        ({"prompt": "Once"}, [("prompt", "Once")]),
        ({"input": ["a", "b"]}, [("input 1", "a"), ("input 2", "b")]),
        ({"messages": [{"role": "assistant", "content": None, "tool_calls": [
            {"function": {"name": "f", "arguments": '{"x": 1}'}}]}]}, [("assistant", '→ f({"x": 1})')]),
        ({"messages": [3, None, {"content": {"deep": []}}]}, None),
    ],
)  # fmt: skip
def test_every_wire_asks_in_turns(body: dict[str, Any], turns: list[tuple[str, str]] | None) -> None:
    found = [(turn.role, turn.text) for turn in asked({"body": {"json": body}}).turns]
    assert found == turns if turns is not None else len(found) == 3
