"""From somebody's repository to a verdict by the commands that `stackproof init` prints, typed as they stand there.

There is no key on this machine: the command for a local model takes the place of the one for a key, as printed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from stackproof.catalog.records import ServiceSpec

APP = {
    "desk/__init__.py": "",
    "desk/main.py": """
from fastapi import FastAPI
from openai import AsyncOpenAI
from pydantic import BaseModel

app = FastAPI()
client = AsyncOpenAI()


class Question(BaseModel):
    text: str
    shout: bool = False


@app.post("/ask")
async def ask(question: Question) -> dict[str, str | None]:
    answer = await client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": question.text}], max_tokens=8
    )
    return {"answer": answer.choices[0].message.content}
""",
    "requirements.txt": "fastapi\nuvicorn\nopenai\n",
    ".gitignore": "*.log\n",
    ".env.example": "OPENAI_API_KEY=\n",
}
LIBRARY = {
    "src/guide/__init__.py": "",
    "src/guide/agent.py": """
from openai import OpenAI


def ask(question: str) -> str:
    answer = OpenAI().chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": question}], max_tokens=8
    )
    return answer.choices[0].message.content or ""
""",
    "pyproject.toml": '[project]\nname = "guide"\nversion = "1"\ndependencies = ["openai"]\n',
}

_FOREIGN = (
    "STACKPROOF_", "GIT_", "GITHUB_", "GITLAB_", "PYTEST", "CI", "OPENAI_",
    "COLUMNS", "FORCE_COLOR", "PY_COLORS", "NO_COLOR", "TERM",
)  # fmt: skip

pytestmark = pytest.mark.skipif(importlib.util.find_spec("fastapi") is None, reason="adoptions: fastapi is not here")


@pytest.fixture(name="environment")
def _environment(tmp_path: Path) -> dict[str, str]:
    """A new user's: nothing of this run, and a home without a configuration of Git."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    names = {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
    return {**kept, **names, "HOME": str(home), "XDG_CACHE_HOME": cache, "PATH": path}


def printed(told: str) -> list[str]:
    """The commands below `Next`, without those that need a key, which the ones for a local model stand beside."""
    commands = [line[7:] for line in told.partition("\nNext\n")[2].splitlines() if line.startswith("       ")]
    keyed = "--inference-mode record"
    return [
        each for each in commands if not each.startswith("export ") and not (keyed in each and "service" not in each)
    ]


def typed(command: str, project: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=project, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    ("files", "repository", "stack"),
    [(APP, True, "server:desk"), (LIBRARY, False, "library:guide")],
    ids=["a server in a repository", "a library in none"],
)
def test_the_printed_commands_lead_to_a_verdict(
    *,
    llama_cpp: ServiceSpec,
    tmp_path: Path,
    environment: dict[str, str],
    files: dict[str, str],
    repository: bool,
    stack: str,
) -> None:
    project = tmp_path / "desk"
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    if repository:
        typed("git init -q && git add desk requirements.txt && git commit -qm one", project, environment)
    told = typed("stackproof init --yes --ci github", project, environment)
    assert "Install what is not there" not in told
    outputs = {command: typed(command, project, environment) for command in printed(told)}
    record, replay = (outputs[each] for each in outputs if each.startswith("stackproof run"))
    assert "1 recorded" in record
    assert "1 replayed, 0 recorded, 0 missed" in replay
    verdict = outputs["stackproof verify-release"]
    assert "RELEASE VERDICT  PASS" in verdict
    assert f"✓ {project.name if repository else 'guide'} × gpt × {stack}" in verdict
    alone = typed("python -m pytest -q -p no:cacheprovider", project, environment)
    assert "1 passed" in alone
