"""Which providers the gateway knows, and which of them an environment configures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

# SDKs refuse to be made without a key, also for servers that ask for none.
NO_KEY = "no-key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One provider the gateway knows.

    url and key are names of environment variables; without the first the provider is absent. openai_path is what lies
    between that URL and the paths of OpenAI's API. anthropic: `/v1/messages` is served too, from where the URL's
    trailing `/v1` begins. own_models: the model list exists in Anthropic's form only. gemini: Google's own API is at
    the origin, and chat goes through it. ollama: Ollama's own API is at the origin.
    """

    name: str
    url: str
    key: str | None = None
    openai_path: str = ""
    anthropic: bool = False
    own_models: bool = False
    gemini: bool = False
    ollama: bool = False


# Provider -> why the gateway does not serve it, as the end of a sentence.
_MINTED = "takes bearer tokens that another service mints from a key, which this gateway does not do"
NOT_SERVED = {"watsonx": _MINTED, "vertexai": _MINTED}

ROWS = (
    Row(name="ollama", url="OLLAMA_URL", anthropic=True, ollama=True),
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
    Row(name="gemini", url="GEMINI_BASE_URL", key="GEMINI_API_KEY", gemini=True),
    Row(name="groq", url="GROQ_URL", key="GROQ_API_KEY"),
    Row(name="together", url="TOGETHER_URL", key="TOGETHER_API_KEY"),
    Row(name="fireworks", url="FIREWORKS_URL", key="FIREWORKS_API_KEY"),
    Row(name="cerebras", url="CEREBRAS_URL", key="CEREBRAS_API_KEY"),
    Row(name="llama-api", url="LLAMA_API_URL", key="LLAMA_API_KEY"),
    Row(name="databricks", url="DATABRICKS_HOST", key="DATABRICKS_TOKEN", openai_path="/serving-endpoints"),
    # A server on this machine for the wire formats that no model server at hand speaks.
    Row(name="echo", url="ECHO_URL", anthropic=True, ollama=True),
)
# Who searches the web, and its URL and key.
SEARCH = "tavily", "TAVILY_URL", "TAVILY_API_KEY"


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A configured provider: base URLs as the SDKs want them, without a trailing slash.

    origin: scheme, host and port, below which the APIs of its own are that it has beside OpenAI's.
    """

    name: str
    openai_url: str
    anthropic_url: str | None
    key: str
    origin: str
    own_models: bool = False
    gemini: bool = False
    ollama: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """Where the web is searched."""

    name: str
    url: str
    key: str


def configured(environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """The providers whose URL is set, in the order of ROWS."""
    return tuple(_provider(row, url, environ) for row in ROWS if (url := _url(environ.get(row.url, ""))))


def search_of(environ: Mapping[str, str]) -> Search | None:
    """The configured web search."""
    name, url, key = SEARCH
    found = _url(environ.get(url, ""))
    return Search(name=name, url=found, key=environ.get(key) or NO_KEY) if found else None


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
        origin="{0.scheme}://{0.netloc}".format(urlsplit(url)),
        own_models=row.own_models,
        gemini=row.gemini,
        ollama=row.ollama,
    )
