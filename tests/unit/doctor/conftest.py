"""A project in a folder, looked at as the doctor does."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from stackproof.doctor.place import Place

FILES = {
    "tests/suites.yaml": "suites:\n  base: {description: d, roots: [tests/integration], default_setup: local}\n",
    "stacks/setups.yaml": (
        "local:\n  description: d\n  env: {LLM_URL: 'http://localhost:9/v1'}\n  secrets: [LLM_KEY]\n"
        "  providers: {models: {variable: LLM_URL}}\n"
    ),
    "stacks/desk/stack.yaml": "description: d\nmodes: [server]\ncommand: ['{python}', server.py, '{port}']\n",
    "tests/integration/test_it.py": "def test_one() -> None:\n    assert True\n",
    "pyproject.toml": '[tool.stackproof]\nstack_config = "server:desk"\n',
}

Make = Callable[..., Place]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make({path: text}, environ=…, path=…)`: a project of FILES with these files, where None takes one away."""
    root = tmp_path / "home" / "desk"

    def place(
        files: Mapping[str, str | None] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        path: tuple[str, ...] = (),
        git: bool = False,
    ) -> Place:
        for name, text in {**FILES, **(files or {})}.items():
            if text is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
        if git:
            for words in (["init", "-q"], ["add", "-A"], [*_WHO, "commit", "-qm", "all"]):
                subprocess.run(["git", "-C", str(root), *words], check=True, timeout=300)
        return Place(environ=environ or {}, project=root, home=tmp_path / "home", path=path, now=time.time())

    return place


_WHO = ["-c", "user.name=tests", "-c", "user.email=tests@example.invalid"]
