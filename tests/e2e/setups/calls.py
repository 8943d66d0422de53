"""The calls of each setup, and what must come in at its provider."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.setups import sdks
else:
    sdks = sys.modules["stackproof_setups_sdks"]  # the folders of tests are no packages: conftest.py has loaded it

_ANSWERS: Any = json.loads((Path(__file__).parent / "answers.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A call of one setup.

    sdk: the module, and its package where that is named otherwise. path and query: as they come in. auth: headers and
    values, one of which must be there; `{NAME}` in a value is a variable's. tls: the SDK insists on it. url: how the
    recording writes where the call went. answer: its name in answers.json. signed: the service for which AWS Signature
    Version 4 was made. mints: a token is fetched first. caller: what whoever records gives beside URLs and secrets.
    """

    setup: str
    sdk: str
    package: str | None = None
    make: Callable[[Mapping[str, str]], Any]
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    auth: Mapping[str, str] = field(default_factory=dict)
    tls: bool = False
    url: str
    answer: str = "chat"
    signed: str | None = None
    mints: bool = False
    caller: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> Any:
        """What the provider answers."""
        return _ANSWERS[self.answer]


def _bearer(variable: str) -> dict[str, str]:
    return {"authorization": f"Bearer {{{variable}}}"}


_NO_KEY = {"authorization": "Bearer no-key"}
_SIGNER = {"AWS_ACCESS_KEY_ID": "a-key-id-of-nobody", "AWS_SECRET_ACCESS_KEY": "a-signing-key-of-nobody"}


def _chat(setup: str, url: str, key: str | None, path: str, **more: Any) -> Call:
    """A chat completion at the address that OpenAI's SDK takes, through that SDK if no other is named."""
    auth = _bearer(key) if key else _NO_KEY
    shown = f"{{{url}}}/chat/completions"
    told: dict[str, Any] = {"sdk": "openai", "make": sdks.chat(url, key), "auth": auth, "url": shown, **more}
    return Call(setup=setup, path=path, **told)


CALLS = (
    _chat("ollama", "OLLAMA_URL", None, "/v1/chat/completions"),
    Call(
        setup="ollama",
        sdk="ollama",
        make=sdks.ollama_chat(),
        path="/api/chat",
        url="{ollama}/api/chat",
        answer="ollama",
    ),
    _chat("ollama-vision", "OLLAMA_URL", None, "/v1/chat/completions", make=sdks.openai_vision),
    Call(
        setup="ollama-reasoning",
        sdk="ollama",
        make=sdks.ollama_chat(think=True),
        path="/api/chat",
        url="{ollama}/api/chat",
        answer="ollama",
    ),
    Call(
        setup="ollama-postgres",
        sdk="openai",
        make=sdks.openai_embeddings,
        path="/v1/embeddings",
        auth=_NO_KEY,
        url="{OLLAMA_URL}/embeddings",
        answer="embeddings",
    ),
    _chat("llama-cpp", "LLAMA_CPP_URL", None, "/v1/chat/completions"),
    Call(
        setup="llama-cpp",
        sdk="anthropic",
        make=sdks.anthropic_of_llama_cpp,
        path="/v1/messages",
        auth={"x-api-key": "no-key", **_NO_KEY},
        url="{LLAMA_CPP_URL}/messages",
        answer="message",
    ),
    _chat("llama-api", "LLAMA_API_URL", "LLAMA_API_KEY", "/compat/v1/chat/completions"),
    Call(
        setup="llama-api",
        sdk="llama_api_client",
        package="llama-api-client",
        make=sdks.llama_api,
        path="/v1/chat/completions",
        auth=_bearer("LLAMA_API_KEY"),
        url="{llama-api}/v1/chat/completions",
        answer="llama_chat",
    ),
    _chat("vllm", "VLLM_URL", "VLLM_API_TOKEN", "/v1/chat/completions"),
    Call(
        setup="vllm",
        sdk="cohere",
        make=sdks.rerank,
        path="/v2/rerank",
        auth=_bearer("VLLM_API_TOKEN"),
        url="{vllm}/v2/rerank",
        answer="rerank",
    ),
    _chat("vllm-qwen3next", "VLLM_URL", "VLLM_API_TOKEN", "/v1/chat/completions"),
    _chat("tgi", "TGI_URL", None, "/v1/chat/completions"),
    Call(
        setup="tgi",
        sdk="huggingface_hub",
        package="huggingface-hub",
        make=sdks.hugging_face,
        path="/v1/chat/completions",
        auth=_NO_KEY,
        url="{TGI_URL}/chat/completions",
    ),
    _chat("gpt", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1/chat/completions", make=sdks.chat()),
    Call(
        setup="gpt-reasoning",
        sdk="openai",
        make=sdks.openai_responses,
        path="/v1/responses",
        auth=_bearer("OPENAI_API_KEY"),
        url="{OPENAI_BASE_URL}/responses",
        answer="response",
    ),
    _chat("azure", "AZURE_API_BASE", "AZURE_API_KEY", "/openai/v1/chat/completions"),
    Call(
        setup="azure",
        sdk="openai",
        make=sdks.azure,
        path="/openai/deployments/gpt-4o/chat/completions",
        query={"api-version": "2024-10-21"},
        auth={"api-key": "{AZURE_API_KEY}"},
        url="{azure}/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
    ),
    _chat("bedrock", "BEDROCK_BASE_URL", "AWS_BEARER_TOKEN_BEDROCK", "/openai/v1/chat/completions"),
    Call(
        setup="bedrock",
        sdk="openai",
        make=sdks.bedrock_openai_signed,
        path="/openai/v1/chat/completions",
        url="{BEDROCK_BASE_URL}/chat/completions",
        signed="bedrock-mantle",
        caller=_SIGNER,
    ),
    Call(
        setup="bedrock",
        sdk="boto3",
        make=sdks.converse(signed=False),
        tls=True,
        path="/model/openai.gpt-oss-20b-1%3A0/converse",
        auth=_bearer("AWS_BEARER_TOKEN_BEDROCK"),
        url="{bedrock}/model/openai.gpt-oss-20b-1%3A0/converse",
        answer="converse",
    ),
    Call(
        setup="bedrock",
        sdk="boto3",
        make=sdks.converse(signed=True),
        path="/model/openai.gpt-oss-20b-1%3A0/converse",
        url="{bedrock}/model/openai.gpt-oss-20b-1%3A0/converse",
        answer="converse",
        signed="bedrock",
        caller=_SIGNER,
    ),
    Call(
        setup="watsonx",
        sdk="httpx",
        make=sdks.watsonx,
        path="/ml/v1/text/chat",
        query={"version": "2024-10-08"},
        auth={"authorization": "Bearer minted"},
        url="{WATSONX_BASE_URL}/ml/v1/text/chat?version=2024-10-08",
        answer="watsonx",
        mints=True,
        caller={"WATSONX_PROJECT_ID": "a-tenants-project"},
    ),
    Call(
        setup="vertexai",
        sdk="google.genai",
        package="google-genai",
        make=sdks.vertexai,
        path=(
            "/v1beta1/projects/a-tenants-project/locations/europe-west4"
            "/publishers/google/models/gemini-2.0-flash:generateContent"
        ),
        auth={"authorization": "Bearer minted"},
        url="{vertexai}/publishers/google/models/gemini-2.0-flash:generateContent",
        answer="gemini",
        mints=True,
        caller={"VERTEX_AI_PROJECT": "a-tenants-project", "VERTEX_AI_LOCATION": "europe-west4"},
    ),
    _chat("gemini", "GEMINI_BASE_URL", "GEMINI_API_KEY", "/v1beta/openai/chat/completions"),
    Call(
        setup="gemini",
        sdk="google.genai",
        package="google-genai",
        make=sdks.generate_content,
        path="/v1beta/models/gemini-2.5-flash-lite:generateContent",
        auth={"x-goog-api-key": "{GEMINI_API_KEY}"},
        url="{gemini}/v1beta/models/gemini-2.5-flash-lite:generateContent",
        answer="gemini",
    ),
    Call(
        setup="anthropic",
        sdk="anthropic",
        make=sdks.messages,
        path="/v1/messages",
        auth={"x-api-key": "{ANTHROPIC_API_KEY}", **_bearer("ANTHROPIC_API_KEY")},
        url="{ANTHROPIC_BASE_URL}/v1/messages",
        answer="message",
    ),
    _chat("groq", "GROQ_URL", "GROQ_API_KEY", "/openai/v1/chat/completions"),
    _chat(
        "groq",
        "GROQ_URL",
        "GROQ_API_KEY",
        "/openai/v1/chat/completions",
        sdk="groq",
        make=sdks.stainless("groq", "Groq", "GROQ_URL", "GROQ_API_KEY", "/openai/v1"),
    ),
    _chat("together", "TOGETHER_URL", "TOGETHER_API_KEY", "/v1/chat/completions"),
    _chat(
        "together",
        "TOGETHER_URL",
        "TOGETHER_API_KEY",
        "/v1/chat/completions",
        sdk="together",
        make=sdks.stainless("together", "Together", "TOGETHER_URL", "TOGETHER_API_KEY", "/v1"),
    ),
    _chat("fireworks", "FIREWORKS_URL", "FIREWORKS_API_KEY", "/inference/v1/chat/completions"),
    _chat(
        "fireworks",
        "FIREWORKS_URL",
        "FIREWORKS_API_KEY",
        "/inference/v1/chat/completions",
        sdk="fireworks",
        make=sdks.stainless("fireworks", "Fireworks", "FIREWORKS_URL", "FIREWORKS_API_KEY", "/v1"),
    ),
    _chat("cerebras", "CEREBRAS_URL", "CEREBRAS_API_KEY", "/v1/chat/completions"),
    _chat(
        "cerebras",
        "CEREBRAS_URL",
        "CEREBRAS_API_KEY",
        "/v1/chat/completions",
        sdk="cerebras.cloud.sdk",
        make=sdks.stainless(
            "cerebras.cloud.sdk", "Cerebras", "CEREBRAS_URL", "CEREBRAS_API_KEY", "/v1", warm_tcp_connection=False
        ),
    ),
    Call(
        setup="databricks",
        sdk="openai",
        make=sdks.databricks,
        path="/serving-endpoints/chat/completions",
        auth=_bearer("DATABRICKS_TOKEN"),
        url="{DATABRICKS_HOST}/serving-endpoints/chat/completions",
    ),
    Call(
        setup="tavily",
        sdk="tavily",
        package="tavily-python",
        make=sdks.tavily_search,
        path="/search",
        auth=_bearer("TAVILY_API_KEY"),
        url="{TAVILY_URL}/search",
        answer="search",
    ),
    _chat("echo", "ECHO_URL", None, "/v1/chat/completions"),
)
