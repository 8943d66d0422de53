"""What a smoke leaves can be kept as an artifact, whatever its tests are called."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.live.bad_provider import bad_provider
from tests.e2e.live.smoking import project, smoke
from tests.unit.ci.kept import assert_can_be_kept

TESTS = r"""
import pytest

NAMES = ["llama-cpp/smollm2:135m", 'a"b*c?', "<d>|e", "f\ng\r", "h.", "i ", "x" * 300, "../../up", "j\\k", "con"]

@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_odd(name, openai_client, live_model):
    ask = openai_client.chat.completions.create
    said = [{"role": "user", "content": name}]
    assert ask(model=live_model.title, messages=said, max_completion_tokens=16).choices
"""


def test_of_what_real_calls_left(tmp_path: Path) -> None:
    with bad_provider() as provider:
        variables = {
            "OPENAI_BASE_URL": provider.url,
            "OPENAI_API_KEY": "sk-odd",
            "STACKPROOF_LIVE_MODEL": "openai/bad-1",
        }
        told = smoke(project(tmp_path, TESTS), **variables)
    assert told.run_dir is not None, told.out + told.err
    observed = list(told.run_dir.glob("cells/*/observed/*/*/*.json"))
    assert len(observed) >= 10, told.out
    assert_can_be_kept(tmp_path / ".stackproof")
