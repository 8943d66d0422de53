"""Coverage of a small project: measured in every process, combined, and said where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

APP = """
import os, signal
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def health(request):
    return PlainTextResponse("ok")


async def size(request):
    number = int(request.query_params["n"])
    if number > 100:
        return PlainTextResponse("big")
    return PlainTextResponse("small")


async def library(request):
    return PlainTextResponse("library")


async def server(request):
    return PlainTextResponse("server")


async def killed(request):
    os.kill(os.getpid(), signal.SIGKILL)


def create_app():
    handlers = (health, size, library, server, killed)
    return Starlette(routes=[Route(f"/{each.__name__}", each) for each in handlers])
"""
STACK = """
description: a small application
modes: [library, server]
python_path: ["."]
app: shop.app:create_app
command: ["{{python}}", "-m", "uvicorn", "--factory", "shop.app:create_app", "--host", "{{host}}", "--port", "{{port}}",
  "--workers", "{workers}"]
readiness: {{path: /health, status: 200, timeout: 60}}
"""
GUNICORN = """\
command: ["{python}", "-m", "gunicorn", "shop.app:create_app()", "-k", "uvicorn_worker.UvicornWorker",
  "-b", "{host}:{port}", "-w", "2"]
"""
TESTS = """
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_small(http_client, n):
    assert http_client.get(f"/size?n={n}").text == "small"

def test_of_the_way_it_runs(http_client, stack):
    path = "/library" if "library" in str(stack.mode) else "/server"
    assert http_client.get(path).text == path[1:]
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """The project with an application that runs in both ways, and coverage configured for it."""
    folder = project.root / "stacks" / "shop"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "__init__.py").write_text("")
    (folder / "shop" / "app.py").write_text(APP)
    (folder / "shop" / "unused.py").write_text("def nobody():\n    return 1\n")
    (folder / "shop" / "left_out.py").write_text("def nobody():\n    return 1\n")
    (folder / "stack.yaml").write_text(STACK.format(workers=2))
    with (project.root / "pyproject.toml").open("a") as file:
        file.write("[tool.coverage.run]\nbranch = true\nsource = ['stacks/shop']\nomit = ['stacks/*/left_out.py']\n")
        file.write("[tool.coverage.report]\nomit = ['*/left_out.py']\n")
    project.tests(TESTS)
    return project


def combined(project: Project, name: str) -> dict[str, Any]:
    """A JSON file of the newest run's coverage."""
    content: dict[str, Any] = json.loads((project.run_dir() / "coverage" / name).read_text())
    return content


def line_of(text: str) -> int:
    """The number of a line of the application."""
    return next(number for number, line in enumerate(APP.splitlines(), 1) if text in line)


def test_a_library_and_a_server_with_workers_are_combined(shop: Project) -> None:
    ended = shop.run("--stack-config", "library:shop,server:shop", "--coverage", "-n", "2")

    assert ended.code == 0, ended.output
    (line,) = [line for line in ended.output.splitlines() if line.startswith("coverage: ")]
    assert "branches in 3 files; from 3 processes of tests and " in line
    assert "of stacks in 2 cells" in line
    files = combined(shop, "coverage.json")["files"]
    assert sorted(Path(name).name for name in files) == ["__init__.py", "app.py", "unused.py"]
    facts = files["stacks/shop/shop/app.py"]
    executed, missing = facts["executed_lines"], facts["missing_lines"]
    assert {line_of('"small"'), line_of('"library"'), line_of('"server"')} <= {*executed}
    assert {line_of('"big"'), line_of("SIGKILL")} <= {*missing}
    assert facts["missing_branches"] == [[line_of("if number"), line_of('"big"')]]
    kinds = combined(shop, "summary.json")["cells"]
    assert kinds["base-local-server-shop"]["stack"]["processes"] >= 3
    assert kinds["base-local-server-shop"]["stack"]["lost"] == 0
    folder = shop.run_dir() / "coverage"
    assert 'filename="shop/app.py"' in (folder / "coverage.xml").read_text()
    assert (folder / "html" / "index.html").is_file()
    assert {"coverage/summary.json", "coverage/.coverage"} <= {
        *json.loads((shop.run_dir() / "manifest.json").read_text())["files"]
    }
    # What stands in the way of nothing: the recorder's files and the run's are no part of the project.
    assert not any(".stackproof" in name for name in files)


def test_workers_by_fork_that_end_by_the_signal_they_were_told_to_end_by_give_what_they_have(shop: Project) -> None:
    path = shop.root / "stacks" / "shop" / "stack.yaml"
    text = path.read_text()
    path.write_text(text[: text.index("command")] + GUNICORN + text[text.index("readiness") :])

    ended = shop.run("--stack-config", "server:shop", "--coverage")

    assert ended.code == 0, ended.output
    stack = combined(shop, "summary.json")["cells"]["base-local-server-shop"]["stack"]
    assert (stack["processes"], stack["lost"]) == (3, 0)
    assert line_of('"small"') in combined(shop, "coverage.json")["files"]["stacks/shop/shop/app.py"]["executed_lines"]


def test_a_server_that_is_killed_gives_none_and_that_is_said(shop: Project) -> None:
    (shop.root / "stacks" / "shop" / "stack.yaml").write_text(STACK.format(workers=1))
    shop.tests("def test_kills(http_client):\n    http_client.get('/killed')\n")

    ended = shop.run("--stack-config", "server:shop", "--coverage")

    assert ended.code == 1, ended.output
    assert "server-shop: its stack gave none: 1 process ended before anything was written" in ended.output


def test_a_server_that_minds_no_signal_gives_what_it_has(project: Project) -> None:
    project.tests(
        "import os, urllib.request\ndef test_asks():\n"
        "    urllib.request.urlopen(os.environ['STACKPROOF_API_BASE_URL'] + '/x', timeout=60).close()\n"
    )

    ended = project.run("--coverage", "stacks/toy")

    assert ended.code == 0, ended.output
    assert combined(project, "summary.json")["cells"]["base-local-server-toy"]["stack"]["lost"] == 0
    facts = combined(project, "coverage.json")["files"]["stacks/toy/server.py"]
    assert facts["missing_lines"] == []


def test_a_stack_whose_python_lacks_the_package_is_refused_before_a_test_runs(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(other)], check=True, timeout=300)
    path = project.root / "stacks" / "toy" / "stack.yaml"
    path.write_text(path.read_text().replace("{python}", str(other / "bin" / "python")))

    ended = project.run("--coverage")

    assert ended.code == 2, ended.output
    assert f"--coverage needs the package coverage in {other}/bin/python, which lacks it" in ended.output
    assert not (project.cell_dir() / "junit.xml").exists()


def test_where_nobody_asks_nothing_of_it_is_there(project: Project) -> None:
    ended = project.run()

    assert ended.code == 0, ended.output
    assert not (project.run_dir() / "coverage").exists()
    assert list(project.cell_dir().glob("**/*coverage*")) == []


def test_what_is_no_path_and_no_package_is_refused(project: Project) -> None:
    ended = project.run("--coverage", "../elsewhere.py")

    assert ended.code == 2, ended.output
    assert "'../elsewhere.py' is neither a folder or a file of the project" in ended.output
