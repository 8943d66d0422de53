"""The scripted model's file: fixed bytes, and a structure from which its two answers follow."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

import scripted_model
from scripted_model import CALL, CHAT_TEMPLATE, SAY, SENTENCE, TOOL_CALL, successors, vocabulary

SERVICE = Path(scripted_model.__file__).with_name("service.yaml")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("model") / "scripted.gguf"
    scripted_model.write(made)
    return made


@pytest.fixture(scope="module")
def reader(path: Path) -> Any:
    return gguf.GGUFReader(path)


def tensor(reader: Any, name: str) -> NDArray[np.float32]:
    return next(np.asarray(one.data, np.float32) for one in reader.tensors if one.name == name)


def spoken(marker: str) -> str:
    """What greedy generation says after `marker`, up to the end of generation."""
    tokens, _ = vocabulary()
    following = successors()
    said, token = "", following[tokens.index(marker)]
    for _ in range(100):
        if tokens[token] == "</s>":
            return said
        said += tokens[token].replace("\u2581", " ")
        token = following[token]
    raise AssertionError("the chain does not end")


def test_bytes_are_the_same_on_every_machine(path: Path) -> None:
    assert hashlib.sha256(path.read_bytes()).hexdigest() == scripted_model.SHA256


def test_service_file_names_the_same_digest_and_owns_up_to_synthetic_weights() -> None:
    facts = yaml.safe_load(SERVICE.read_text(encoding="utf-8"))["models"][scripted_model.ALIAS]
    assert facts["sha256"] == scripted_model.SHA256
    assert facts["synthetic_weights"] is True


def test_after_the_say_marker_comes_the_sentence() -> None:
    assert spoken(SAY) == "This sentence is scripted, token by token."


def test_after_the_call_marker_comes_a_tool_call() -> None:
    assert spoken(CALL) == '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'


def test_no_piece_occurs_twice_since_the_successor_depends_on_the_last_token_alone() -> None:
    pieces = [*SENTENCE, *TOOL_CALL]
    assert len(set(pieces)) == len(pieces)


def test_any_other_token_starts_the_sentence() -> None:
    tokens, _ = vocabulary()
    assert tokens[successors()[tokens.index("<0x41>")]] == SENTENCE[0]


def test_every_byte_has_a_token() -> None:
    tokens, types = vocabulary()
    assert types.count(int(gguf.TokenType.BYTE)) == 256
    assert len(set(tokens)) == len(tokens) == len(types)


def test_attention_and_feed_forward_add_nothing(reader: Any) -> None:
    silent = [
        one.name for one in reader.tensors if one.name.startswith("blk.") and not one.name.endswith("norm.weight")
    ]
    assert len(silent) == 7
    assert not any(tensor(reader, name).any() for name in silent)


def test_logits_of_each_token_lead_to_its_successor_by_a_wide_margin(reader: Any) -> None:
    embedding, output = tensor(reader, "token_embd.weight"), tensor(reader, "output.weight")
    normalised = embedding / np.sqrt(np.mean(embedding**2, axis=1, keepdims=True))
    logits = normalised @ output.T
    assert logits.argmax(axis=1).tolist() == successors()
    first_two = np.sort(logits, axis=1)[:, -2:]
    assert float((first_two[:, 1] - first_two[:, 0]).min()) > 100


@pytest.mark.parametrize("text", ["<|call|>", "<|end|>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>"])
def test_no_marker_is_a_text_that_llama_cpp_takes_for_an_end_of_generation(text: str) -> None:
    assert text not in vocabulary()[0]
    assert text not in CHAT_TEMPLATE
