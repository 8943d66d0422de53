"""Writes the scripted model: a tiny llama GGUF whose next token depends on the last token alone.

Attention and feed-forward weights are zero, so the residual stream is the embedding of the last token, a one-hot
vector; the output matrix then names its successor. Two chains of tokens hang on it: a fixed sentence, and a tool
call. The chat template ends the prompt with the marker token that starts the chain it wants. The logit of the
successor leads by more than a hundred, so every CPU, build and temperature picks the same token.

These weights prove wire format, not model behaviour: recordings made with them say `synthetic_weights`.

The file format is GGUF 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), written by the `gguf` package.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

ALIAS = "stackproof-scripted-tools"
SHA256 = "001b8836285d7cb7a270971e873d91c8abdbe70af33a3006a8def0a97340b35f"
"""Digest of the file that `write` makes, the same on every machine."""

SENTENCE = ("This", " sentence", " is", " scripted,", " token", " by", " token.")
TOOL_CALL = (
    "<tool_call>",
    '{"name": ',
    '"get_',
    'weather", ',
    '"arguments": ',
    '{"city": ',
    '"Paris',
    '"}}',
    "</tool_call>",
)
# Names of our own: llama.cpp takes some common ones (`<|call|>`, `<|end|>`) for ends of generation, and aborts when it
# meets one in the prompt while a grammar is in force (`tool_choice: required`).
SAY, CALL, TURN, END = "<|stackproof_say|>", "<|stackproof_call|>", "<|stackproof_turn|>", "<|stackproof_end|>"

# A tool call is due when get_weather is offered and the conversation does not end in a tool's result.
# History is rendered the way the model writes it, since the server learns the syntax of tool calls from that.
CHAT_TEMPLATE = """\
{%- set offered = namespace(weather=false) -%}
{%- if tools %}
{{- '<|stackproof_turn|>tools\\n' }}
{%- for tool in tools %}
{{- tool | tojson + '\\n' }}
{%- if tool.function is defined and tool.function.name == 'get_weather' %}{% set offered.weather = true %}{% endif %}
{%- endfor %}
{{- '<|stackproof_end|>' }}
{%- endif %}
{%- for message in messages %}
{{- '<|stackproof_turn|>' + message.role + '\\n' }}
{%- if message.content is string %}{{- message.content }}
{%- elif message.content %}
{%- for part in message.content %}{% if part.text is defined %}{{- part.text }}{% endif %}{% endfor %}
{%- endif %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
{%- if call.function.arguments is string %}{{- call.function.arguments }}
{%- else %}{{- call.function.arguments | tojson }}{% endif %}
{{- '}</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|stackproof_end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|stackproof_turn|>assistant\\n' }}
{%- if offered.weather and messages[-1].role != 'tool' %}{{- '<|stackproof_call|>' }}
{%- else %}{{- '<|stackproof_say|>' }}{% endif %}
{%- endif %}
"""

CONTEXT = 32768  # tokens: prompts are tokenized byte by byte, and tool schemas are long
_WIDTH = 320  # at least one dimension for each token, and a multiple of the head's width
_HEADS = 5
_FEED_FORWARD = 32
_LEAD = 16.0  # times sqrt(_WIDTH), what RMS normalisation makes of a one-hot vector


def vocabulary() -> tuple[list[str], list[int]]:
    """All tokens in the order of their ids, and their types (`gguf.TokenType`)."""
    control = ["<unk>", "<s>", "</s>", SAY, CALL, TURN, END]
    data = [f"<0x{byte:02X}>" for byte in range(256)]
    words = [piece.replace(" ", "\u2581") for piece in (*SENTENCE, *TOOL_CALL)]
    types = [gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * (len(control) - 1)]
    types += [gguf.TokenType.BYTE] * len(data) + [gguf.TokenType.NORMAL] * len(words)
    return [*control, *data, *words], [int(kind) for kind in types]


def successors() -> list[int]:
    """For each token id the id that follows it. What is in no chain starts the sentence."""
    tokens, _ = vocabulary()
    number = {token: index for index, token in enumerate(tokens)}
    following = [number[SENTENCE[0]]] * len(tokens)
    for marker, pieces in ((SAY, SENTENCE), (CALL, TOOL_CALL)):
        chain = [marker, *(piece.replace(" ", "\u2581") for piece in pieces), "</s>"]
        for token, successor in pairwise(chain):
            following[number[token]] = number[successor]
    return following


def write(path: Path) -> None:
    """Write the model to `path`, the same bytes each time."""
    tokens, types = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(ALIAS)
    writer.add_license("mit")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, values in _tensors(successors()):
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(following: list[int]) -> list[tuple[str, NDArray[np.float16] | NDArray[np.float32]]]:
    size = len(following)
    embedding = np.zeros((size, _WIDTH), np.float16)
    embedding[range(size), range(size)] = 1
    output = np.zeros((size, _WIDTH), np.float16)
    output[following, range(size)] = _LEAD
    head = _WIDTH // _HEADS
    ones = np.ones(_WIDTH, np.float32)

    def nothing(rows: int, columns: int) -> NDArray[np.float16]:
        return np.zeros((rows, columns), np.float16)

    return [
        ("token_embd.weight", embedding),
        ("output_norm.weight", ones),
        ("output.weight", output),
        ("blk.0.attn_norm.weight", ones),
        ("blk.0.attn_q.weight", nothing(_WIDTH, _WIDTH)),
        ("blk.0.attn_k.weight", nothing(head, _WIDTH)),
        ("blk.0.attn_v.weight", nothing(head, _WIDTH)),
        ("blk.0.attn_output.weight", nothing(_WIDTH, _WIDTH)),
        ("blk.0.ffn_norm.weight", ones),
        ("blk.0.ffn_gate.weight", nothing(_FEED_FORWARD, _WIDTH)),
        ("blk.0.ffn_up.weight", nothing(_FEED_FORWARD, _WIDTH)),
        ("blk.0.ffn_down.weight", nothing(_WIDTH, _FEED_FORWARD)),
    ]
