"""What a provider can be asked cheaply before its tests: which models it has, and for one token.

Sources: https://platform.openai.com/docs/api-reference/models/list and …/chat/create,
https://docs.anthropic.com/en/api/models-list and …/messages, https://ai.google.dev/gemini-api/docs/openai,
https://docs.tavily.com/documentation/api-reference/endpoint/usage, and what is said in `reference_stack/providers.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from stackproof.catalog.records import SetupSpec, Wire
from stackproof.live.asking import Answer, Question
from stackproof.live.opt_in import LiveModel

_ANTHROPIC_VERSION = "2023-06-01"
_HELLO = [{"role": "user", "content": "Hi"}]


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """How a provider is asked. list_path: where its models are listed, None where nothing cheap tells them.

    try_path: where one token is asked for, None where that says nothing more. limit: the field that makes it one.
    header: what the key goes into; `authorization` as a bearer token. version: header that goes along. cut: end of
    the base URL that the paths bring along themselves. usage: the list says how much of the credit is used.
    """

    list_path: str | None = "/models"
    try_path: str | None = "/chat/completions"
    limit: str = "max_tokens"
    header: str = "authorization"
    version: tuple[str, str] | None = None
    cut: str = ""
    usage: bool = False


_OPENAI = Way(limit="max_completion_tokens")
_NOTHING = Way(list_path=None, try_path=None)
_WAYS = {
    "openai": _OPENAI,
    # A resource lists what could be deployed in it; a call names a deployment.
    "azure": Way(list_path=None, limit="max_completion_tokens", header="api-key"),
    "anthropic": Way(
        list_path="/v1/models",
        try_path="/v1/messages",
        header="x-api-key",
        version=("anthropic-version", _ANTHROPIC_VERSION),
        cut="/v1",
    ),
    "bedrock": Way(list_path=None, limit="max_completion_tokens"),
    "databricks": Way(list_path=None, try_path="/serving-endpoints/chat/completions"),
    "tavily": Way(list_path="/usage", try_path=None, usage=True),
    # Both take tokens that another service makes from the key: their tests are the first to know.
    "vertexai": _NOTHING,
    "watsonx": _NOTHING,
}


def of(provider: str) -> Way:
    """How a provider is asked; OpenAI's, for whom nothing else is known."""
    return _WAYS.get(provider, Way())


def key_of(setup: SetupSpec, model: LiveModel) -> tuple[str, str] | None:
    """The variable that holds the provider's key, and the key; None where the setup has none, or nobody gave it.

    Of several secrets it is the one that is named after the provider.
    """
    word = re.sub(r"\W", "_", model.provider).upper()
    names = sorted(setup.all_secrets, key=lambda name: word not in name)
    return next(((name, model.variables[name]) for name in names if model.variables.get(name)), None)


def list_question(way: Way, model: LiveModel, key: str | None) -> Question | None:
    """What asks for the models."""
    if way.list_path is None:
        return None
    return Question(method="GET", url=_base(way, model) + way.list_path, headers=_headers(way, key))


def try_question(way: Way, model: LiveModel, key: str | None, spoken: Collection[Wire]) -> Question | None:
    """What asks the model for one token; None where that is nothing that the provider does."""
    if way.try_path is None or (spoken and Wire.CHAT not in spoken):
        return None
    body = {"model": model.model, "messages": _HELLO, way.limit: 1}
    return Question(method="POST", url=_base(way, model) + way.try_path, headers=_headers(way, key), body=body)


def models_in(answer: Answer) -> tuple[str, ...] | None:
    """The names that a list of models has; None where the answer is no such list."""
    data = parsed(answer)
    rows = data.get("data", data.get("models")) if isinstance(data, dict) else None
    if not isinstance(rows, list):
        return None
    names = [row.get("id") or row.get("name") for row in rows if isinstance(row, dict)]
    # Gemini writes its own as models/NAME.
    return tuple(name.removeprefix("models/") for name in names if isinstance(name, str))


def has(names: tuple[str, ...], model: str) -> bool:
    """Whether a list names the model; Ollama's list says `:latest` where nobody has to."""
    return model in names or f"{model}:latest" in names


def used_up(answer: Answer) -> bool:
    """Whether Tavily's usage says that nothing is left: of the key's limit, or of the plan and what goes beyond it."""
    data = parsed(answer)
    if not isinstance(data, dict):
        return False
    key, account = _table(data, "key"), _table(data, "account")
    plan = _full(account, "plan_usage", "plan_limit")
    beyond = _full(account, "paygo_usage", "paygo_limit") or account.get("paygo_limit") in (None, 0)
    return _full(key, "usage", "limit") or (plan and beyond)


def tokens_in(answer: Answer) -> tuple[int, int]:
    """Tokens in and out, as the answer tells; 0 where it does not."""
    data = parsed(answer)
    usage = _table(data, "usage") if isinstance(data, dict) else {}
    counted = [
        next((value for name in names if type(value := usage.get(name)) is int), 0)
        for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]
    return counted[0], counted[1]


def parsed(answer: Answer) -> Any:
    """The JSON of an answer; None where it is none."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None


def _full(table: Mapping[str, Any], used: str, limit: str) -> bool:
    numbers = [table.get(name) for name in (used, limit)]
    return all(type(number) in (int, float) for number in numbers) and bool(numbers[0] >= numbers[1])  # type: ignore[operator]


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _base(way: Way, model: LiveModel) -> str:
    url = model.url if "://" in model.url else f"https://{model.url}"
    return url.rstrip("/").removesuffix(way.cut)


def _headers(way: Way, key: str | None) -> dict[str, str]:
    signed = {} if key is None else {way.header: f"Bearer {key}" if way.header == "authorization" else key}
    return {**signed, **(dict([way.version]) if way.version else {})}
