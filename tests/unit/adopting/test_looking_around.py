"""What is told of packages, of CI and of projects in other languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.adopting.repository_words import FASTAPI, Repository

from stackproof.adopting.found import CiSystem, Found, Framework, Manager
from stackproof.adopting.looking import look

MANAGERS: list[tuple[dict[str, str], Manager]] = [
    ({"requirements.txt": "openai\n"}, Manager.PIP),
    ({"pyproject.toml": "[project]\nname = 'x'\nversion = '1'\n"}, Manager.PIP),
    ({"uv.lock": "", "pyproject.toml": "[project]\nname = 'x'\n"}, Manager.UV),
    ({"pyproject.toml": "[tool.uv]\npackage = true\n"}, Manager.UV),
    ({"poetry.lock": ""}, Manager.POETRY),
    ({"pyproject.toml": "[tool.poetry]\nname = 'x'\n[tool.poetry.dependencies]\npython = '^3.12'\n"}, Manager.POETRY),
    ({"pyproject.toml": "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n"}, Manager.POETRY),
    ({"pdm.lock": ""}, Manager.PDM),
    ({"pyproject.toml": "[build-system]\nbuild-backend = 'pdm.backend'\n"}, Manager.PDM),
    ({}, Manager.PIP),
]


@pytest.mark.parametrize(("files", "manager"), MANAGERS)
def test_what_installs_packages_is_told_by_files(
    repository: Repository, files: dict[str, str], manager: Manager
) -> None:
    assert look(repository(files)).manager is manager


def test_a_project_says_its_name_its_python_and_what_it_asks_for(repository: Repository) -> None:
    found = look(
        repository(
            {
                "pyproject.toml": """
                [project]
                name = "Support_Desk"
                description = "Answers people"
                requires-python = ">=3.12"
                dependencies = ["FastAPI[standard]>=0.1", "openai; python_version > '3'"]
                optional-dependencies = {test = ["pytest"]}
                [dependency-groups]
                lint = ["ruff"]
                [tool.pytest.ini_options]
                python_files = ["check_*.py"]
                """
            }
        )
    )
    assert (found.name, found.description, found.python) == ("support_desk", "Answers people", ">=3.12")
    assert {"fastapi", "fastapi[standard]", "openai", "pytest", "ruff"} <= found.packages
    assert found.extras == {"test": "extra", "lint": "group"}
    assert (found.pytest, found.file_pattern) == ("pyproject.toml", ("check_*.py",))


@pytest.mark.parametrize(
    ("files", "ci"),
    [
        ({".github/workflows/ci.yml": ""}, (CiSystem.GITHUB,)),
        ({".gitlab-ci.yml": ""}, (CiSystem.GITLAB,)),
        ({".gitlab-ci.yml": "", ".github/workflows/a.yaml": ""}, (CiSystem.GITHUB, CiSystem.GITLAB)),
        ({".github/dependabot.yml": ""}, ()),
        ({".git/config": "[remote]\nurl = git@github.com:a/b.git\n"}, (CiSystem.GITHUB,)),
        ({".git/config": "[remote]\nurl = https://gitlab.example.com/a/b.git\n"}, (CiSystem.GITLAB,)),
    ],
)
def test_ci_is_told_by_its_files_or_where_the_repository_is(
    repository: Repository, files: dict[str, str], ci: tuple[CiSystem, ...]
) -> None:
    assert look(repository(files)).ci == ci


def test_a_part_of_a_repository_knows_where_it_is_and_whose_ci_it_has(repository: Repository) -> None:
    root = repository({".git/HEAD": "", ".github/workflows/ci.yml": "", "services/shop/main.py": FASTAPI})
    found = look(root / "services/shop")
    assert (found.subfolder, found.ci, found.apps[0].place) == ("services/shop", (CiSystem.GITHUB,), "main:app")
    assert look(root).subfolder == ""


def test_a_part_with_a_project_file_of_its_own_is_named(repository: Repository) -> None:
    found = look(repository({"services/api/main.py": FASTAPI, "services/api/pyproject.toml": ""}))
    assert found.notes == ("services/api/ has a pyproject.toml of its own: `stackproof init` can be run there as well",)


def test_a_project_of_node_is_told_by_its_package(repository: Repository) -> None:
    found = look(
        repository(
            {
                "package.json": '{"name": "@a/desk", "dependencies": {"express": "5", "@anthropic-ai/sdk": "1"}, '
                '"scripts": {"start": "node server.js"}}'
            }
        )
    )
    assert found.framework is Framework.NODE
    assert found.node is not None
    assert [client.provider for client in found.clients] == ["anthropic"]
    assert (found.name, found.node.framework, found.node.command) == ("desk", "express", ("node", "server.js"))


def test_python_beside_a_package_of_node_is_what_is_taken(repository: Repository) -> None:
    assert look(repository({"package.json": "{}", "main.py": FASTAPI})).framework is Framework.FASTAPI


# What a repository may hold that cannot be read, and what is said of it.
def _strange(root: Path) -> None:
    (root / "broken.py").write_text("def (:\n")
    (root / "python2.py").write_text("print 'hello'\n")
    (root / "binary.py").write_bytes(b"\x00\xff\xfe")
    (root / "latin.py").write_bytes("# caf\xe9\napp = 1\n".encode("latin-1"))
    (root / "deep.py").write_text("x = " + "(" * 3000 + ")" * 3000)
    (root / "huge.py").write_text("x = 1\n" * 300_000)
    (root / "dangling.py").symlink_to(root / "nowhere.py")
    (root / "loop").symlink_to(root)
    (root / "package.json").write_text("{")
    (root / "pyproject.toml").write_bytes(b"[project\xff")
    (root / "setup.cfg").write_text("no section\n= =\n")
    (root / ".github").write_text("no folder")
    (root / "tests").write_text("no folder either")
    (root / "requirements.txt").mkdir()


def test_files_that_cannot_be_read_are_said_and_stop_nothing(repository: Repository) -> None:
    root = repository({"main.py": FASTAPI})
    _strange(root)
    found = look(root)
    assert found.apps[0].place == "main:app"
    assert any(note.startswith("pyproject.toml is no TOML") for note in found.notes)
    assert any("broken.py is no Python" in note and "line 1" in note for note in found.notes)
    assert any(note.endswith("more Python files could not be read") for note in found.notes)


def test_an_empty_folder_is_a_project_that_is_to_come(repository: Repository) -> None:
    found = look(repository({}))
    assert (found.framework, found.name, found.python_files, found.notes) == (Framework.NONE, "repo", 0, ())


def test_a_large_tree_is_looked_at_from_its_root_and_the_rest_is_said(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stackproof.adopting.walking.FILES", 20)
    root = repository({"main.py": FASTAPI, **{f"generated/g{number}.py": "" for number in range(50)}})
    found = look(root)
    assert found.apps[0].place == "main:app"
    assert any("only the first 20 Python files" in note for note in found.notes)


def test_nothing_of_what_is_looked_at_is_run(repository: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    bad = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"
    look(repository({"main.py": bad + FASTAPI, "conftest.py": bad, "noxfile.py": bad, "setup.py": bad}))
    assert not mark.exists()


def one(repository: Repository, code: str) -> Found:
    return look(repository({"main.py": code}))


# Code of a route behind `app`, and the request that reaches it.
ROUTES: dict[str, tuple[str, tuple[str, str, object]]] = {
    "a model of pydantic": (
        (
            "from pydantic import BaseModel, Field\n"
            "class Part(BaseModel):\n    name: str\n"
            "class Q(BaseModel):\n    text: str\n    n: int = 3\n    tag: str | None = None\n    parts: list[Part]\n"
            "    size: float = Field(gt=0)\n    top_k: int = Field(default=2)\n"
            "@app.post('/ask')\nasync def ask(q: Q): ASK\n"
        ),
        ("POST", "/ask", {"text": "T", "parts": [{"name": "T"}], "size": 1.0}),
    ),
    "an inherited model": (
        (
            "from pydantic import BaseModel\nclass A(BaseModel):\n    text: str\nclass B(A):\n    ok: bool\n"
            "@app.post('/ask')\ndef ask(b: 'B'): ASK\n"
        ),
        ("POST", "/ask", {"text": "T", "ok": False}),
    ),
    "choices": (
        (
            "from enum import Enum\nfrom typing import Literal\nfrom pydantic import BaseModel\n"
            "class Kind(str, Enum):\n    A = 'a'\nclass Q(BaseModel):\n    kind: Kind\n    way: Literal['x', 'y']\n"
            "@app.post('/ask')\ndef ask(q: Q): ASK\n"
        ),
        ("POST", "/ask", {"kind": "a", "way": "x"}),
    ),
    "messages": (
        (
            "from pydantic import BaseModel\nclass M(BaseModel):\n    role: str\n    content: str\n"
            "class Q(BaseModel):\n    messages: list[M]\n@app.post('/chat')\ndef chat(q: Q): ASK\n"
        ),
        ("POST", "/chat", {"messages": [{"role": "user", "content": "T"}]}),
    ),
    "a mapping that is read": (
        "@app.post('/ask')\ndef ask(q: dict[str, str]):\n    x = q['text'], q.get('more'), q.get('not', 1)\n    ASK\n",
        ("POST", "/ask", {"text": "T", "more": "T"}),
    ),
    "the request's JSON": (
        (
            "from fastapi import Request\n@app.post('/ask')\nasync def ask(request: Request):\n"
            "    data = await request.json()\n    x = data['question']\n    ASK\n"
        ),
        ("POST", "/ask", {"question": "T"}),
    ),
    "in the path and the query": (
        "@app.get('/ask/{who}')\ndef ask(who: str, q: str, n: int = 1): ASK\n",
        ("GET", "/ask/1?q=Say%20hello%20in%20one%20short%20sentence.", None),
    ),
    "what is depended on is handed in": (
        "from fastapi import Depends\n@app.post('/ask')\ndef ask(db=Depends(get), x: str = Body(...)): ASK\n",
        ("POST", "/ask", {"x": "T"}),
    ),
    "a router with a prefix": (
        (
            "from fastapi import APIRouter\nr = APIRouter(prefix='/v1')\n@r.post('/ask')\ndef ask(): ASK\n"
            "app.include_router(r, prefix='/api')\n"
        ),
        ("POST", "/api/v1/ask", None),
    ),
}


@pytest.mark.parametrize(("code", "wanted"), ROUTES.values(), ids=ROUTES.keys())
def test_a_request_is_made_up_for_a_route_that_asks_a_model(
    repository: Repository, code: str, wanted: tuple[str, str, object]
) -> None:
    asks = "return client.chat.completions.create(model='m', messages=[])"
    head = "from fastapi import FastAPI\nfrom openai import OpenAI\napp = FastAPI()\nclient = OpenAI()\n"
    route = one(repository, head + code.replace("ASK", asks)).routes[0]
    text = "Say hello in one short sentence."
    assert (route.method, route.path, _short(route.body, text)) == wanted
    assert (route.asks, route.complete) == (True, True)


def _short(value: object, text: str) -> object:
    match value:
        case dict():
            return {key: _short(item, text) for key, item in value.items()}
        case list():
            return [_short(item, text) for item in value]
        case _:
            return "T" if value == text else value


@pytest.mark.parametrize(
    "code",
    [
        "from fastapi import UploadFile\n@app.post('/ask')\ndef ask(f: UploadFile): ASK\n",
        "@app.post('/ask')\ndef ask(q: Elsewhere): ASK\n",
        "from fastapi import Header\n@app.post('/ask')\ndef ask(key: str = Header()): ASK\n",
    ],
)
def test_a_request_that_nobody_can_make_up_is_said_to_be_one(repository: Repository, code: str) -> None:
    head = "from fastapi import FastAPI\nfrom openai import OpenAI\napp = FastAPI()\nclient = OpenAI()\n"
    (route,) = one(repository, head + code.replace("ASK", "client.responses.create()")).routes
    assert (route.asks, route.complete) == (True, False)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        (
            (
                "from starlette.applications import Starlette\nfrom starlette.routing import Route\n"
                "async def ask(request):\n    data = await request.json()\n    return c.messages.create(x=data['q'])\n"
                "app = Starlette(routes=[Route('/ask', ask, methods=['POST'])])\n"
            ),
            ("POST", "/ask"),
        ),
        (
            (
                "from flask import Flask, request\napp = Flask(__name__)\n"
                "@app.route('/ask', methods=['POST'])\ndef ask():\n    return c.messages.create(x=request.json['q'])\n"
            ),
            ("POST", "/ask"),
        ),
        (
            (
                "from aiohttp import web\napp = web.Application()\n"
                "async def ask(request):\n    data = await request.json()\n    return c.messages.create(x=data['q'])\n"
                "app.router.add_post('/ask', ask)\n"
            ),
            ("POST", "/ask"),
        ),
        (
            (
                "from litestar import Litestar, post\n@post('/ask')\nasync def ask(data: dict[str, str]) -> str:\n"
                "    return c.messages.create(x=data['q'])\napp = Litestar([ask])\n"
            ),
            ("POST", "/ask"),
        ),
    ],
)
def test_routes_of_each_framework_are_read(repository: Repository, code: str, wanted: tuple[str, str]) -> None:
    (route,) = one(repository, "import anthropic\nc = anthropic.Anthropic()\n" + code).routes
    assert (route.method, route.path) == wanted
    assert route.body == {"q": "Say hello in one short sentence."}
    assert route.asks


def test_a_route_asks_through_functions_of_other_files(repository: Repository) -> None:
    found = look(
        repository(
            {
                "app/main.py": "from fastapi import FastAPI\nfrom app.talk import answer\napp = FastAPI()\n"
                "@app.get('/')\ndef home(): return {}\n@app.post('/a')\ndef a(): return answer('x')\n",
                "app/talk.py": "from app.llm import Llm\ndef answer(text): return Llm().ask_it(text)\n",
                "app/llm.py": "import openai\nclass Llm:\n    def ask_it(self, text):\n"
                "        return openai.OpenAI().chat.completions.create(model='m', messages=[text])\n",
            }
        )
    )
    assert [(route.path, route.asks) for route in found.routes] == [("/a", True), ("/", False)]


def test_functions_of_a_library_that_a_test_can_call_are_found(repository: Repository) -> None:
    found = look(
        repository(
            {
                "src/guide/__init__.py": "",
                "src/guide/agent.py": "from openai import OpenAI\nc = OpenAI()\n"
                "def ask(text: str, n: int = 1): return c.responses.create(input=text)\n"
                "async def plain(): return ask('x')\n"
                "def other(a, b): return ask(a)\ndef _own(text): return ask(text)\n"
                "def count(n: int): return ask('x')\n",
            }
        )
    )
    assert [(each.module, each.name, each.root, each.text, each.coroutine) for each in found.functions] == [
        ("guide.agent", "ask", "src", True, False),
        ("guide.agent", "plain", "src", False, True),
    ]
