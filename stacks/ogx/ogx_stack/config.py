"""OGX's configuration, made from the variables that a setup sets. Does no I/O.

The form is OGX 1.5's own (`version: 2`). Keys of providers are written as references to variables, `${env.NAME:=}`,
which OGX fills in itself: the file holds no secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EMBEDDINGS = "-embeddings"
"""What follows a model's name where it makes embeddings: to OGX a model either answers or makes embeddings."""

# Compares vectors in the process. sqlite-vec would need a Python whose sqlite3 may load extensions.
_VECTORS = "faiss"


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """Whom OGX calls when `variable` is set. key: what holds its key, and what OGX calls that."""

    name: str
    kind: str
    variable: str
    key: str | None = None
    key_field: str = "api_key"


# Named as in the setups: a model is `NAME/MODEL` there and here.
PROVIDERS = (
    Provider(name="ollama", kind="ollama", variable="OLLAMA_URL"),
    Provider(name="llama-cpp", kind="llama-cpp-server", variable="LLAMA_CPP_URL"),
    Provider(name="vllm", kind="vllm", variable="VLLM_URL", key="VLLM_API_TOKEN", key_field="api_token"),
    Provider(name="openai", kind="openai", variable="OPENAI_BASE_URL", key="OPENAI_API_KEY"),
    Provider(name="llama-api", kind="llama-openai-compat", variable="LLAMA_API_URL", key="LLAMA_API_KEY"),
    Provider(name="groq", kind="groq", variable="GROQ_URL", key="GROQ_API_KEY"),
    Provider(name="together", kind="together", variable="TOGETHER_URL", key="TOGETHER_API_KEY"),
    Provider(name="fireworks", kind="fireworks", variable="FIREWORKS_URL", key="FIREWORKS_API_KEY"),
    Provider(name="cerebras", kind="cerebras", variable="CEREBRAS_URL", key="CEREBRAS_API_KEY"),
)


def make(environ: Mapping[str, str], *, state: str, host: str) -> dict[str, Any]:
    """The configuration: the providers whose variables are set, and everything that OGX keeps below folder `state`."""
    named = [provider for provider in PROVIDERS if environ.get(provider.variable)]
    embedding = _embedding_model(environ, {provider.name for provider in named})
    return {
        "version": 2,
        "distro_name": "stackproof",
        "apis": ["files", "file_processors", "inference", "messages", "responses", "tool_runtime", "vector_io"],
        "providers": {
            "inference": [_inference(provider) for provider in named],
            "vector_io": [
                {
                    "provider_id": _VECTORS,
                    "provider_type": f"inline::{_VECTORS}",
                    "config": {"persistence": _kept("vector_io")},
                }
            ],
            "files": [
                {
                    "provider_id": "files",
                    "provider_type": "inline::localfs",
                    "config": {"storage_dir": f"{state}/files", "metadata_store": _table("files")},
                }
            ],
            "file_processors": [{"provider_id": "pypdf", "provider_type": "inline::pypdf"}],
            "messages": [_builtin({"kvstore": _kept("message_batches")})],
            "responses": [_builtin({"persistence": {"responses": _table("responses")}})],
            "tool_runtime": [{"provider_id": "file-search", "provider_type": "inline::file-search"}],
        },
        "storage": {
            "backends": {
                "kv_default": {"type": "kv_sqlite", "db_path": f"{state}/kv.db"},
                "sql_default": {"type": "sql_sqlite", "db_path": f"{state}/sql.db"},
            },
            "stores": {
                "metadata": _kept("registry"),
                "inference": _table("inference"),
                "conversations": _table("conversations"),
                "prompts": _table("prompts"),
                "connectors": _table("connectors"),
            },
        },
        "registered_resources": {"models": [] if embedding is None else [embedding]},
        "vector_stores": _vector_stores(embedding),
        "server": {"host": host, "insecure": True},
    }


def _inference(provider: Provider) -> dict[str, Any]:
    config = {"base_url": f"${{env.{provider.variable}}}"}
    if provider.key is not None:
        config[provider.key_field] = f"${{env.{provider.key}:=}}"
    return {"provider_id": provider.name, "provider_type": f"remote::{provider.kind}", "config": config}


def _embedding_model(environ: Mapping[str, str], known: set[str]) -> dict[str, Any] | None:
    """The setup's embedding model under a name of its own; None where there is none that OGX can call."""
    provider, _, name = environ.get("STACKPROOF_EMBEDDING_MODEL", "").removesuffix(EMBEDDINGS).partition("/")
    dimension = environ.get("STACKPROOF_EMBEDDING_DIMENSION")
    if provider not in known or not name or not dimension:
        return None
    return {
        "model_id": name + EMBEDDINGS,
        "provider_id": provider,
        "provider_model_id": name,
        "model_type": "embedding",
        "metadata": {"embedding_dimension": int(dimension)},
    }


def _vector_stores(embedding: Mapping[str, Any] | None) -> dict[str, Any]:
    stores: dict[str, Any] = {"default_provider_id": _VECTORS}
    if embedding is not None:
        stores["default_embedding_model"] = {name: embedding[name] for name in ("provider_id", "model_id")}
    return stores


def _builtin(config: dict[str, Any]) -> dict[str, Any]:
    return {"provider_id": "builtin", "provider_type": "inline::builtin", "config": config}


def _kept(namespace: str) -> dict[str, str]:
    return {"backend": "kv_default", "namespace": namespace}


def _table(name: str) -> dict[str, str]:
    return {"backend": "sql_default", "table_name": name}
