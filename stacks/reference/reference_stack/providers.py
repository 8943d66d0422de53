"""Which providers the gateway knows, and which of them an environment configures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# SDKs refuse to be made without a key, also for servers that ask for none.
NO_KEY = "no-key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One provider the gateway knows.

    url and key are names of environment variables; without the first the provider is absent. openai_path is what lies
    between that URL and the paths of OpenAI's API. anthropic: `/v1/messages` is served too, from where the URL's
    trailing `/v1` begins. own_models: the model list exists in Anthropic's form only.
    """

    name: str
    url: str
    key: str | None = None
    openai_path: str = ""
    anthropic: bool = False
    own_models: bool = False


# Provider -> why the gateway does not serve it, as the end of a sentence.
_MINTED = "takes bearer tokens that another service mints from a key, which this gateway does not do"
NOT_SERVED = {"watsonx": _MINTED, "vertexai": _MINTED}

ROWS = (
    Row(name="ollama", url="OLLAMA_URL", anthropic=True),
    Row(name="llama-cpp", url="LLAMA_CPP_URL", anthropic=True),
    Row(name="vllm", url="VLLM_URL", key="VLLM_API_TOKEN", anthropic=True),
    Row(name="tgi", url="TGI_URL"),
    Row(name="openai", url="OPENAI_BASE_URL", key="OPENAI_API_KEY"),
    Row(
        name="anthropic",
        url="ANTHROPIC_BASE_URL",
        key="ANTHROPIC_API_KEY",
        openai_path="/v1",
        anthropic=True,
        own_models=True,
    ),
    Row(name="azure", url="AZURE_API_BASE", key="AZURE_API_KEY"),
    Row(name="bedrock", url="BEDROCK_BASE_URL", key="AWS_BEARER_TOKEN_BEDROCK"),
    Row(name="gemini", url="GEMINI_BASE_URL", key="GEMINI_API_KEY"),
    Row(name="groq", url="GROQ_URL", key="GROQ_API_KEY"),
    Row(name="together", url="TOGETHER_URL", key="TOGETHER_API_KEY"),
    Row(name="fireworks", url="FIREWORKS_URL", key="FIREWORKS_API_KEY"),
    Row(name="cerebras", url="CEREBRAS_URL", key="CEREBRAS_API_KEY"),
    Row(name="llama-api", url="LLAMA_API_URL", key="LLAMA_API_KEY"),
    Row(name="databricks", url="DATABRICKS_HOST", key="DATABRICKS_TOKEN", openai_path="/serving-endpoints"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A configured provider: base URLs as the two SDKs want them, without a trailing slash."""

    name: str
    openai_url: str
    anthropic_url: str | None
    key: str
    own_models: bool = False


def configured(environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """The providers whose URL is set, in the order of ROWS."""
    return tuple(_provider(row, url, environ) for row in ROWS if (url := _url(environ.get(row.url, ""))))


def _url(value: str) -> str:
    # Databricks writes its host without a scheme.
    return (value if not value or "://" in value else f"https://{value}").rstrip("/")


def _provider(row: Row, url: str, environ: Mapping[str, str]) -> Provider:
    return Provider(
        name=row.name,
        openai_url=url + row.openai_path,
        # AsyncAnthropic writes the /v1 of its paths itself.
        anthropic_url=url.removesuffix("/v1") if row.anthropic else None,
        key=(environ.get(row.key) if row.key else None) or NO_KEY,
        own_models=row.own_models,
    )
