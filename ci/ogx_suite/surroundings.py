"""The variables that both sides get: the dummy keys of OGX's CI, and what a machine without a network needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_STAND_INS = Path(__file__).resolve().parent / "stand_ins"
# As .github/workflows/integration-tests.yml of OGX has them; none of them is a key.
CI: Mapping[str, str] = {
    "OPENAI_API_KEY": "dummy",
    "AZURE_API_KEY": "replay-mode-dummy-key",
    "AZURE_API_BASE": "https://dummy.openai.azure.com/openai/v1",
    "WATSONX_API_KEY": "replay-mode-dummy-key",
    "WATSONX_BASE_URL": "https://us-south.ml.cloud.ibm.com",
    "WATSONX_PROJECT_ID": "replay-mode-dummy-project",
    "AWS_BEARER_TOKEN_BEDROCK": "replay-mode-dummy-key",
    "AWS_DEFAULT_REGION": "us-west-2",
    "GEMINI_API_KEY": "replay-mode-dummy-key",
    "TAVILY_SEARCH_API_KEY": "replay-mode-dummy-key",
}


def make(python: Path, *, tokenizers: Path, sockets: Path, first_test: Path) -> dict[str, str]:
    """Everything that a process of OGX needs here.

    python: the interpreter with OGX in it; its programs come first. tokenizers: the folder of tiktoken's files.
    sockets, first_test: where attempts to leave the machine, and the moment of the first test, are written down.
    """
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "LC_ALL", "TMPDIR", "TERM") if name in os.environ}
    path = os.pathsep.join([str(_STAND_INS / "bin"), str(python.parent), os.environ.get("PATH", os.defpath)])
    return {
        **kept,
        **CI,
        "PATH": path,
        "PYTHONPATH": os.pathsep.join([str(_STAND_INS), str(_STAND_INS / "watch")]),
        "PYTEST_ADDOPTS": "-p first_test",
        "TIKTOKEN_CACHE_DIR": str(tokenizers),
        "OGX_SUITE_SOCKETS": str(sockets),
        "OGX_SUITE_FIRST_TEST": str(first_test),
        # What its CI runs on has no models of a hub either.
        "HF_HUB_OFFLINE": "1",
    }
