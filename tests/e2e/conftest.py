"""Real services of this machine, for every end-to-end test."""

from __future__ import annotations

import os

import pytest

from stackproof.catalog.catalog import builtin_folder
from stackproof.catalog.records import ServiceSpec
from stackproof.catalog.services import load_service
from stackproof.stack import service as services


@pytest.fixture(scope="session")
def llama_cpp() -> ServiceSpec:
    """The service `llama-cpp`. Skips where it is neither in the cache nor required: it would fetch 130 MB."""
    path = builtin_folder() / "llama-cpp" / "service.yaml"
    spec = load_service(path, shown="service.yaml")
    if "llama-cpp" not in os.environ.get("STACKPROOF_REQUIRE", ""):
        cache = services.cache_folder(os.environ) / spec.name
        assert spec.requirements is not None
        environment = cache / services._digest(spec.requirements) / "venv"
        if not environment.exists() or len(list(cache.glob("data/models/*.gguf"))) < 2:
            pytest.skip("llama-cpp is not in the cache; STACKPROOF_REQUIRE=llama-cpp fetches and runs it")
    return spec
