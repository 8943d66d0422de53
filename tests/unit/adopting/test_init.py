"""`stackproof init` as a command: what it writes is in order, what is there stays, and what fails leaves nothing."""

from __future__ import annotations

import ast
import codecs
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from stackproof import catalog
from stackproof.cli.main import main
from stackproof.errors import ExitCode
from stackproof.verdict import policy

Repository = Callable[[Mapping[str, str]], Path]

MAIN = """
from fastapi import FastAPI
from openai import OpenAI
app = FastAPI()
client = OpenAI()
@app.get("/healthz")
def health(): return {}
@app.post("/ask")
def ask(q: dict[str, str]): return client.responses.create(model="gpt-4o-mini", input=q["text"]).output_text
"""
FLASK = "import anthropic\nfrom flask import Flask\napp = Flask(__name__)\n"
AIOHTTP = "from aiohttp import web\nimport openai\nasync def make():\n    return web.Application()\n"
DJANGO = "from django.core.asgi import get_asgi_application\nimport openai\napplication = get_asgi_application()\n"
LIBRARY = "from openai import OpenAI\nc = OpenAI()\ndef ask(text): return c.responses.create(input=text)\n"
OWN_URL = (
    "import os\nfrom fastapi import FastAPI\nfrom openai import OpenAI\napp = FastAPI()\n"
    "c = OpenAI(base_url=os.environ['LLM_URL'], api_key=os.environ['LLM_KEY'])\n"
)
PACKAGE = '{"name": "desk", "dependencies": {"express": "5", "openai": "6"}, "scripts": {"start": "node server.js"}}'


def init(root: Path, *words: str) -> int:
    return main(["init", *words], environ={}, project=root)


def files(root: Path) -> dict[str, bytes]:
    found = sorted(path for path in root.rglob("*") if path.is_file() and ".git/" not in str(path))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


PROJECTS: dict[str, tuple[dict[str, str], str, str]] = {
    "FastAPI": ({"main.py": MAIN}, "server:repo", "gpt"),
    "Flask": ({"app.py": FLASK}, "server:repo", "anthropic"),
    "aiohttp": ({"app.py": AIOHTTP}, "server:repo", "gpt"),
    "Django": ({"site_/asgi.py": DJANGO, "site_/__init__.py": ""}, "server:repo", "gpt"),
    "a library": ({"src/guide/__init__.py": LIBRARY}, "library:repo", "gpt"),
    "a library without a function": ({"guide.py": "import anthropic\n"}, "library:repo", "anthropic"),
    "two providers": ({"main.py": MAIN + "import anthropic\na = anthropic.Anthropic()\n"}, "server:repo", "repo"),
    "variables of its own": ({"main.py": OWN_URL}, "server:repo", "repo"),
    "a provider without a setup": ({"m.py": "from mistralai import Mistral\nc = Mistral()\n"}, "library:repo", "repo"),
    "a host of its own": (
        {"m.py": "import openai\nc = openai.OpenAI(base_url='https://llm.example.com/v1')\n"},
        "library:repo",
        "repo",
    ),
    "Node.js": ({"package.json": PACKAGE}, "server:desk", "gpt"),
    "nothing": ({}, "library:repo", "gpt"),
    "nothing that is known": ({"main.py": "print('hello')\n"}, "library:repo", "gpt"),
}


@pytest.mark.parametrize(("given", "stack", "setup"), PROJECTS.values(), ids=PROJECTS.keys())
@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_what_is_written_is_in_order_and_can_be_planned(
    *,
    repository: Repository,
    capsys: pytest.CaptureFixture[str],
    given: dict[str, str],
    stack: str,
    setup: str,
    ci: str,
) -> None:
    root = repository(given)
    before = files(root)
    assert init(root, "--yes", "--ci", ci) == ExitCode.PASS
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80 or given == {}
    written = {name: text for name, text in files(root).items() if name not in before}
    assert {name: text for name, text in files(root).items() if name in before} == before
    assert all(name in told for name in written)
    for name, text in written.items():
        assert text.endswith(b"\n")
        assert b"\r" not in text
        if name.endswith(".py"):
            ast.parse(text)
        elif name.endswith((".yaml", ".yml")):
            assert isinstance(yaml.safe_load(text), dict)
    (cell,) = policy.load(root).cells
    assert (cell.stack, cell.setup) == (stack, setup)
    known = catalog.load(root)
    assert known.suite(cell.suite).default_setup == known.setup(setup).name
    assert main(["run", "--dry-run"], environ={}, project=root) == ExitCode.PASS
    assert f"stack  {stack}" in capsys.readouterr().out


def test_nothing_is_written_without_a_terminal_or_on_request(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository({"main.py": MAIN})
    before = files(root)
    assert init(root) == ExitCode.PASS
    alone = capsys.readouterr().out
    assert "Nothing was written (there is no terminal to ask at). To write it: stackproof init --yes" in alone
    assert init(root, "--dry-run") == ExitCode.PASS
    dry = capsys.readouterr().out
    assert "Nothing was written (--dry-run)" in dry
    assert "--- stacks/repo/stack.yaml\n" in dry
    assert 'readiness: {path: "/healthz", status: 200, timeout: 60}' in dry
    assert files(root) == before
    assert init(root, "--dry-run", "--yes") == ExitCode.USAGE


def test_what_is_there_is_kept_to_the_byte_and_what_would_have_been_in_it_is_shown(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {
        "main.py": MAIN,
        "tests/suites.yaml": "suites: {}\r\n",
        "ci/release.yaml": "mine\n",
        "noxfile.py": "import nox\n\n\n@nox.session\ndef integration(session):\n    pass\n",
        ".gitignore": "*.log\n",
        ".github/workflows/stackproof.yml": "# mine\n",
    }
    root = repository(own)
    before = files(root)
    assert init(root, "--yes") == ExitCode.PASS
    told = capsys.readouterr().out
    assert {name: text for name, text in files(root).items() if name in before} == before
    assert "There already, and kept as they are\n  = tests/suites.yaml\n  = ci/release.yaml\n" in told
    assert "--- tests/suites.yaml\n" in told
    assert "To add to noxfile.py, which is yours" in told
    assert "def stackproof(session: nox.Session)" in told, "integration is taken"
    assert "printf '%s\\n' __pycache__/ >> .gitignore" in told


def test_drafts_of_what_is_there_are_put_beside_it_on_request(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(
        {"main.py": MAIN, "tests/suites.yaml": "suites: {}\n", "ci/release.yaml": "", "ci/release.yaml.new": ""}
    )
    assert init(root, "--yes", "--beside") == ExitCode.PASS
    assert "  + tests/suites.yaml.new" in capsys.readouterr().out
    assert "default_setup: gpt" in (root / "tests/suites.yaml.new").read_text()
    assert (root / "ci/release.yaml.new").read_text() == ""


def test_a_second_time_changes_nothing(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    root = repository({"main.py": MAIN})
    assert init(root, "--yes", "--ci", "github") == ExitCode.PASS
    before = files(root)
    capsys.readouterr()
    assert init(root, "--yes", "--ci", "github") == ExitCode.PASS
    told = capsys.readouterr().out
    assert "Written: nothing, all of it is there" in told
    assert "What would have been" not in told
    assert "To add to" not in told
    assert files(root) == before


@pytest.mark.parametrize("taken", ["stacks", "tests", "ci", "noxfile.py/x", "tests/integration"])
def test_where_a_file_cannot_be_written_nothing_is_left(
    repository: Repository, capsys: pytest.CaptureFixture[str], taken: str
) -> None:
    root = repository({"main.py": MAIN, taken: "a file where a folder would be\n"})
    before, folders = files(root), sorted(path for path in root.rglob("*") if path.is_dir())
    code = init(root, "--yes")
    if "noxfile.py" in taken:  # a folder of that name is somebody's own
        assert code == ExitCode.PASS
        return
    assert code == ExitCode.USAGE
    assert "nothing was changed" in capsys.readouterr().err
    assert files(root) == before
    assert sorted(path for path in root.rglob("*") if path.is_dir()) == folders


def test_a_file_that_comes_to_be_meanwhile_is_not_overwritten(
    repository: Repository, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository({"main.py": MAIN, "noxfile.py": "import nox\n", "ci/release.yaml": "mine\n"})
    before = files(root)
    monkeypatch.setattr("stackproof.adopting.placing.there", lambda *_: False)
    assert init(root, "--yes") == ExitCode.USAGE
    assert "nothing was changed" in capsys.readouterr().err
    assert files(root) == before


def test_a_package_in_src_is_imported_from_there(repository: Repository) -> None:
    root = repository({"src/guide/__init__.py": LIBRARY})
    assert init(root, "--yes") == ExitCode.PASS
    (path,) = catalog.load(root).stack("repo").python_path
    assert path.resolve() == root / "src"


def test_a_key_of_its_own_makes_a_setup_of_its_own(repository: Repository) -> None:
    root = repository({"main.py": "import os\n" + MAIN.replace("OpenAI()", "OpenAI(api_key=os.environ['DESK_KEY'])")})
    assert init(root, "--yes") == ExitCode.PASS
    setup = catalog.load(root).setup("repo")
    assert setup.secrets == ("DESK_KEY",)
    assert [provider.variable for provider in setup.providers] == ["OPENAI_BASE_URL"]


def test_a_link_that_leads_nowhere_is_not_written_through(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository({"main.py": MAIN})
    (root / "noxfile.py").symlink_to(tmp_path / "elsewhere.py")
    assert init(root, "--yes") == ExitCode.PASS
    assert not (tmp_path / "elsewhere.py").exists()
    assert "  = noxfile.py" in capsys.readouterr().out


def test_beside_other_stacks_the_commands_name_this_one(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository({"main.py": MAIN, "stacks/other/stack.yaml": "description: d\nmodes: [library]\n"})
    assert init(root, "--yes") == ExitCode.PASS
    assert "stackproof run --suite repo --stack-config server:repo --inference-mode record" in capsys.readouterr().out


def test_a_part_of_a_repository_is_told_where_its_workflow_belongs(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository({".git/HEAD": "", ".github/workflows/a.yml": "", "services/shop/main.py": MAIN})
    part = root / "services/shop"
    assert init(part, "--yes") == ExitCode.PASS
    told = capsys.readouterr().out
    assert "working-directory: services/shop" in told
    assert "path: services/shop/.stackproof/runs/" in told
    assert not (part / ".github").exists()
    assert sorted(path.name for path in (root / ".github/workflows").iterdir()) == ["a.yml"]


def test_the_first_test_has_a_name_that_pytest_looks_for_and_nobody_has(repository: Repository) -> None:
    root = repository({"main.py": MAIN, "tests/test_ask.py": "", "tests/integration/test_old.py": ""})
    assert init(root, "--yes") == ExitCode.PASS
    assert (root / "tests/stackproof/repo/test_repo_ask.py").is_file()
    other = repository({"main.py": MAIN, "pytest.ini": "[pytest]\npython_files = check_*.py\n"})
    assert init(other, "--yes", "--name", "other") == ExitCode.PASS
    assert (other / "tests/stackproof/other/check_ask.py").is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--name", "no name"], "--name: 'no name' cannot be a stack's name"),
        (["--app", "main.py"], "--app: 'main.py' is not written module:name"),
        (["--setup", "gtp"], "unknown setup 'gtp' (--setup), did you mean 'gpt'?"),
        (["--ci", "jenkins"], "'jenkins' is not one of"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    repository: Repository, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    root = repository({"main.py": MAIN})
    before = files(root)
    assert init(root, "--yes", *words) == ExitCode.USAGE
    assert sentence in capsys.readouterr().err
    assert files(root) == before


def test_tests_that_ask_for_a_key_are_named(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    asks = "import os, pytest\npytestmark = pytest.mark.skipif('OPENAI_API_KEY' not in os.environ, reason='no key')\n"
    assert init(repository({"guide/__init__.py": LIBRARY, "tests/test_agent.py": asks}), "--dry-run") == ExitCode.PASS
    assert "tests/test_agent.py asks for OPENAI_API_KEY: add it to `roots`" in capsys.readouterr().out


def test_options_are_taken_in_the_place_of_what_was_found(repository: Repository) -> None:
    root = repository({"main.py": MAIN, "other.py": "from fastapi import FastAPI\ndef make(): return FastAPI()\n"})
    words = [
        "--name",
        "Desk",
        "--app",
        "other:make",
        "--setup",
        "ollama",
        "--requirement",
        "stackproof==0.1",
        "--ci",
        "none",
    ]
    assert init(root, "--yes", *words) == ExitCode.PASS
    found = catalog.load(root)
    assert found.stack("Desk").app == "other:make"
    assert "--factory" in found.stack("Desk").command
    assert found.suite("Desk").default_setup == "ollama"
    assert 'STACKPROOF = "stackproof==0.1"' in (root / "noxfile.py").read_text()


def test_facts_for_machines_say_the_same(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    root = repository({"main.py": MAIN})
    assert init(root, "--json") == ExitCode.PASS
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == 1
    assert facts["written"] is False
    assert (facts["framework"], facts["app"], facts["setup"]) == ("FastAPI", "main:app", "gpt")
    assert not (root / "stacks").exists()
    assert init(root, "--json", "--yes") == ExitCode.PASS
    facts = json.loads(capsys.readouterr().out)
    assert {each["path"] for each in facts["files"] if each["state"] == "new"} <= set(files(root))


def test_no_value_of_a_secret_is_read_or_told(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    root = repository({"main.py": MAIN, ".env": "OPENAI_API_KEY=sk-secret\n"})
    assert main(["init", "--yes"], environ={"OPENAI_API_KEY": "sk-other"}, project=root) == ExitCode.PASS
    told = capsys.readouterr().out
    assert "set -a; . ./.env; set +a" in told
    assert "sk-" not in told
    assert not any(b"sk-" in text for name, text in files(root).items() if name != ".env")


def test_what_should_be_in_no_commit_is_left_out_of_the_commands(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository({"main.py": MAIN, ".env": "", "env/pyvenv.cfg": "", ".gitignore": "__pycache__/\n"})
    assert init(root, "--yes") == ExitCode.PASS
    told = capsys.readouterr().out
    assert "printf '%s\\n' .env env/ >> .gitignore" in told
    assert "git add .gitignore main.py\n" in told


@pytest.mark.parametrize(("answers", "written"), [(["", "", "y"], True), (["desk", "none", "n"], False)])
def test_on_a_terminal_little_is_asked_and_each_question_has_an_answer(
    repository: Repository, answers: list[str], written: bool
) -> None:
    root = repository({"main.py": MAIN})
    told = _at_terminal(root, answers)
    assert "Name of the stack [repo]:" in told
    assert "CI (github, gitlab, none) [none]:" in told
    assert "Write these files? [Y/n]:" in told
    assert (root / "stacks").exists() is written
    assert ("Nothing was written." in told) is not written


def _at_terminal(root: Path, answers: list[str]) -> str:
    """Run `stackproof init` at a pseudo-terminal, with an answer for each question; everything that it showed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "stackproof", "init"],
        cwd=root,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "80"},
    )
    os.close(follower)
    told, deadline = "", time.monotonic() + 300
    decoder = codecs.getincrementaldecoder("utf-8")()  # a character may come in two pieces
    try:
        while time.monotonic() < deadline:
            if select.select([leader], [], [], 0.2)[0]:
                try:
                    piece = os.read(leader, 65536)
                except OSError:
                    break
                if not piece:
                    break
                told += decoder.decode(piece)
                if answers and told.rstrip().endswith(":") and told.endswith(": "):
                    os.write(leader, f"{answers.pop(0)}\n".encode())
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return told
