"""A swarm that cannot be reached: the run ends at once, and leaves nothing that a verdict would weigh."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackproof.cli.main import main
from stackproof.errors import ExitCode

FILES = {
    "tests/suites.yaml": "suites: {base: {description: d, roots: [tests/base], default_setup: own}}\n",
    "tests/base/test_it.py": "def test_a(): pass\n",
    "stacks/setups.yaml": "own: {description: d, providers: {own: {prefixes: ['http://127.0.0.1:9/v1']}}}\n",
    "stacks/desk/stack.yaml": "{description: d, modes: [library], app: 'desk:app'}\n",
}


def test_no_run_folder_is_left_where_no_engine_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    words = ["run", "--engine", "swarm", "--shards", "2", "--stack-config", "library:desk"]
    assert main(words, environ=os.environ, project=tmp_path) == ExitCode.DOCKER
    assert "no Docker engine answered" in capsys.readouterr().err
    assert list((tmp_path / ".stackproof/runs").iterdir()) == []
