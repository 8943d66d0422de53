"""Which URLs are calls to a provider, and how such a URL is written down without naming a host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

from .settings import Provider

# Providers that are known without being named: a call to one of these hosts is never "just some URL".
_WELL_KNOWN: tuple[tuple[str, str], ...] = (
    ("openai", "https://api.openai.com/v1"),
    ("anthropic", "https://api.anthropic.com"),
    ("gemini", "https://generativelanguage.googleapis.com"),
    ("groq", "https://api.groq.com/openai/v1"),
    ("together", "https://api.together.xyz/v1"),
    ("together", "https://api.together.ai/v1"),
    ("together", "https://api-inference.together.ai/v1"),
    ("fireworks", "https://api.fireworks.ai/inference/v1"),
    ("cerebras", "https://api.cerebras.ai/v1"),
    ("mistral", "https://api.mistral.ai"),
    ("cohere", "https://api.cohere.com"),
    ("deepseek", "https://api.deepseek.com"),
    ("openrouter", "https://openrouter.ai/api/v1"),
    ("xai", "https://api.x.ai/v1"),
    ("perplexity", "https://api.perplexity.ai"),
    ("llama-api", "https://api.llama.com"),
    ("nvidia", "https://integrate.api.nvidia.com/v1"),
    ("voyage", "https://api.voyageai.com/v1"),
    ("jina", "https://api.jina.ai/v1"),
    ("tavily", "https://api.tavily.com"),
    ("brave", "https://api.search.brave.com"),
    ("vertexai", "https://aiplatform.googleapis.com"),
    ("huggingface", "https://router.huggingface.co"),
)
# Providers with a host for every region or tenant: the suffix of the host, and the provider.
_HOST_SUFFIXES: tuple[tuple[str, str], ...] = (
    (".openai.azure.com", "azure"),
    (".services.ai.azure.com", "azure"),
    ("-aiplatform.googleapis.com", "vertexai"),
    (".ml.cloud.ibm.com", "watsonx"),
    (".cloud.databricks.com", "databricks"),
)
_TOKEN_HOSTS = frozenset(
    {"oauth2.googleapis.com", "login.microsoftonline.com", "iam.cloud.ibm.com", "sts.amazonaws.com"}
)
# Where a provider gives out tokens at its own host: Databricks, IBM's private clouds.
_TOKEN_PATHS = ("/oidc/v1/token", "/identity/token")


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A provider's URL taken apart: `path` is below the prefix, `shown` the prefix as a recording writes it."""

    provider: str
    path: str
    query: str
    shown: str

    @property
    def gives_tokens(self) -> bool:
        """Whether this part of the provider gives out tokens: such an answer is never recorded."""
        return self.path.endswith(_TOKEN_PATHS)


class Providers:
    """Matches URLs against the prefixes that a run was told, then against the well-known ones; longest prefix wins."""

    def __init__(self, told: Sequence[Provider]) -> None:
        rows = [
            (_prefix(prefix), provider.name, f"{{{provider.variable}}}" if provider.variable and not index else None)
            for provider in told
            for index, prefix in enumerate(provider.prefixes)
        ]
        known = [(_prefix(url), name, None) for name, url in _WELL_KNOWN]
        self._by_origin: dict[str, list[tuple[str, str, str | None]]] = {}
        # What the run was told comes first: it may name a well-known host otherwise.
        for row in (*sorted(rows, key=_length, reverse=True), *sorted(known, key=_length, reverse=True)):
            self._by_origin.setdefault(row[0].partition("/")[0], []).append(row)

    def match(self, url: str) -> Target | None:
        """The provider that a URL belongs to, or None: a call to anything else passes through."""
        parts = urlsplit(url)
        try:
            host, origin = _origin(parts.scheme, parts.netloc)
        except ValueError:
            return None  # a port that is none: the library that was asked to call it says so
        where = origin + parts.path
        for prefix, name, shown in self._by_origin.get(origin, ()):
            if where == prefix or where.startswith(prefix + "/"):
                path = where[len(prefix) :] or "/"
                return Target(provider=name, path=path, query=parts.query, shown=shown or f"{{{name}}}")
        for suffix, name in _HOST_SUFFIXES:
            if host.endswith(suffix):
                return Target(provider=name, path=parts.path or "/", query=parts.query, shown=f"{{{name}}}")
        if host.startswith("bedrock-runtime") and host.endswith(".amazonaws.com"):
            return Target(provider="bedrock", path=parts.path or "/", query=parts.query, shown="{bedrock}")
        return None

    def is_provider_host(self, host: str, port: int | None) -> bool:
        """Whether a socket to this address would be a call to a provider."""
        return _netloc("", host, port) in self._by_origin

    @staticmethod
    def is_token_endpoint(url: str) -> bool:
        """Whether a URL gives out tokens: such an answer is never recorded."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        return host in _TOKEN_HOSTS or (host.startswith("sts.") and host.endswith(".amazonaws.com"))


def well_known() -> dict[str, str]:
    """The providers that are known without being named: name and URL, the first where there are several."""
    return dict(reversed(_WELL_KNOWN))


def is_below(url: str, base: str) -> bool:
    """Whether a URL is at or below a base URL, however host and port of either are written."""
    try:
        where, prefix = _prefix(url), _prefix(base)
    except ValueError:
        return False
    return where == prefix or where.startswith(prefix + "/")


def _length(row: tuple[str, str, str | None]) -> int:
    return len(row[0])


def _prefix(url: str) -> str:
    parts = urlsplit(url)
    return _netloc(parts.scheme, parts.hostname or "", parts.port) + parts.path.rstrip("/")


@lru_cache(maxsize=256)
def _origin(scheme: str, netloc: str) -> tuple[str, str]:
    """Host, and host with port, of a URL's parts; ValueError. Programs call few hosts, and each of them often."""
    parts = SplitResult(scheme, netloc, "", "", "")
    host = parts.hostname or ""
    return host, _netloc(scheme, host, parts.port)


def _netloc(scheme: str, host: str, port: int | None) -> str:
    # localhost and 127.0.0.1 are one machine, and a default port may be written or not.
    name = "127.0.0.1" if host in ("localhost", "::1", "0.0.0.0") else host.lower()  # noqa: S104 - compared, not bound
    return f"{name}:{port or (443 if scheme == 'https' else 80)}"
