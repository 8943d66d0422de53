"""What is read out of repositories of all kinds, without running any of their code."""

from __future__ import annotations

import pytest
from tests.unit.adopting.repository_words import FASTAPI, Repository

from stackproof.adopting.found import Framework
from stackproof.adopting.looking import look

FACTORY = "from fastapi import FastAPI\ndef create_app(debug=False):\n    app = FastAPI()\n    return app\n"


# Files -> framework, module:name, folder of import.
APPS: dict[str, tuple[dict[str, str], Framework, str, str]] = {
    "at the root": ({"main.py": FASTAPI}, Framework.FASTAPI, "main:app", "."),
    "in a package": ({"shop/__init__.py": "", "shop/api.py": FASTAPI}, Framework.FASTAPI, "shop.api:app", "."),
    "in a folder": ({"app/main.py": FASTAPI}, Framework.FASTAPI, "app.main:app", "."),
    "in src": ({"src/shop/__init__.py": "", "src/shop/main.py": FASTAPI}, Framework.FASTAPI, "shop.main:app", "src"),
    "in src without a package": ({"src/main.py": FASTAPI}, Framework.FASTAPI, "main:app", "src"),
    "beside what it imports": (
        {"backend/main.py": "import db\n" + FASTAPI, "backend/db.py": ""},
        Framework.FASTAPI,
        "main:app",
        "backend",
    ),
    "as a server is started": (
        {"backend/app/main.py": FASTAPI, "Dockerfile": 'CMD ["uvicorn", "app.main:app", "--port", "80"]\n'},
        Framework.FASTAPI,
        "app.main:app",
        "backend",
    ),
    "as Python starts a server": (
        {"backend/app/main.py": FASTAPI + "import uvicorn\nuvicorn.run('app.main:app', port=80)\n"},
        Framework.FASTAPI,
        "app.main:app",
        "backend",
    ),
    "as it imports itself": (
        {"services/api/app/main.py": "from app.db import x\n" + FASTAPI, "services/api/app/db.py": "x = 1\n"},
        Framework.FASTAPI,
        "app.main:app",
        "services/api",
    ),
    "below a name that is none": (
        {"my-service/app/main.py": FASTAPI},
        Framework.FASTAPI,
        "app.main:app",
        "my-service",
    ),
    "made by a function": ({"shop/app.py": FACTORY}, Framework.FASTAPI, "shop.app:create_app", "."),
    "made by a function and there": (
        {"shop/app.py": FACTORY + "app = create_app()\n"},
        Framework.FASTAPI,
        "shop.app:app",
        ".",
    ),
    "returned at once": (
        {"app.py": "import fastapi\ndef make() -> fastapi.FastAPI:\n    return fastapi.FastAPI()\n"},
        Framework.FASTAPI,
        "app:make",
        ".",
    ),
    "under another name": (
        {"app.py": "from fastapi import FastAPI as API\nservice: API = API()\n"},
        Framework.FASTAPI,
        "app:service",
        ".",
    ),
    "in a condition": (
        {"app.py": "from fastapi import FastAPI\ntry:\n    app = FastAPI()\nexcept Exception:\n    raise\n"},
        Framework.FASTAPI,
        "app:app",
        ".",
    ),
    "the shop, not its example": (
        {"examples/main.py": FASTAPI, "a/b/c/server.py": FASTAPI},
        Framework.FASTAPI,
        "a.b.c.server:app",
        ".",
    ),
    "in an __init__": ({"shop/__init__.py": FASTAPI}, Framework.FASTAPI, "shop:app", "."),
    "Starlette": (
        {"asgi.py": "from starlette.applications import Starlette\napp = Starlette(routes=[])\n"},
        Framework.STARLETTE,
        "asgi:app",
        ".",
    ),
    "Litestar": ({"app.py": "from litestar import Litestar\napp = Litestar([])\n"}, Framework.LITESTAR, "app:app", "."),
    "Quart": ({"app.py": "from quart import Quart\napp = Quart(__name__)\n"}, Framework.QUART, "app:app", "."),
    "Flask": ({"app.py": "import flask\napp = flask.Flask(__name__)\n"}, Framework.FLASK, "app:app", "."),
    "aiohttp": (
        {"app.py": "from aiohttp import web\nasync def make():\n    app = web.Application()\n    return app\n"},
        Framework.AIOHTTP,
        "app:make",
        ".",
    ),
    "Django": (
        {
            "manage.py": "import django\n",
            "site_/asgi.py": "from django.core.asgi import get_asgi_application as make\napplication = make()\n",
            "site_/__init__.py": "",
        },
        Framework.DJANGO,
        "site_.asgi:application",
        ".",
    ),
    "Windows newlines": (
        {"main.py": FASTAPI.replace("\n", "\r\n")},
        Framework.FASTAPI,
        "main:app",
        ".",
    ),
    "a byte order mark": ({"main.py": "\ufeff" + FASTAPI}, Framework.FASTAPI, "main:app", "."),
}


@pytest.mark.parametrize(("files", "framework", "place", "root"), APPS.values(), ids=APPS.keys())
def test_an_application_is_found(
    repository: Repository, files: dict[str, str], framework: Framework, place: str, root: str
) -> None:
    found = look(repository(files))
    assert (found.framework, found.apps[0].place, found.apps[0].root) == (framework, place, root)


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "app = 1\n"},
        {"main.py": "from fastapi import FastAPI\ndef make(settings):\n    return FastAPI()\n"},
        {"main.py": "from fastapi import FastAPI\ndef make(*, settings):\n    return FastAPI()\n"},
        {"main.py": "from other import FastAPI\napp = FastAPI()\n"},
        {"tests/app.py": FASTAPI, "tests/test_app.py": FASTAPI},
        {".hidden/main.py": FASTAPI, "node_modules/x/main.py": FASTAPI, "vendor/x/main.py": FASTAPI},
        {"env/pyvenv.cfg": "", "env/main.py": FASTAPI, "build/main.py": FASTAPI},
        {"not-a-name.py": FASTAPI},
    ],
)
def test_what_is_no_application_of_the_project_is_not_taken_for_one(
    repository: Repository, files: dict[str, str]
) -> None:
    found = look(repository(files))
    assert found.framework is Framework.NONE
    assert found.apps == ()


# Code -> providers with the SDK, and the variables of URL and key.
CLIENTS: dict[str, tuple[str, list[tuple[str, str | None, str | None, str | None]]]] = {
    "only imported": ("import openai\n", [("openai", None, None, None)]),
    "made": ("from openai import AsyncOpenAI\nc = AsyncOpenAI()\n", [("openai", None, None, None)]),
    "told by variables": (
        (
            "import os\nfrom openai import OpenAI\n"
            "c = OpenAI(base_url=os.environ['LLM_URL'], api_key=os.getenv('LLM_KEY'))\n"
        ),
        [("openai", "LLM_URL", "LLM_KEY", None)],
    ),
    "told by constants": (
        "import os\nfrom openai import OpenAI\nURL = os.getenv('LLM_URL', 'http://h/v1')\nc = OpenAI(base_url=URL)\n",
        [("openai", "LLM_URL", None, "http://h/v1")],
    ),
    "told by settings": (
        (
            "from pydantic_settings import BaseSettings\nfrom openai import OpenAI\n"
            "class S(BaseSettings):\n    model_config = dict(env_prefix='APP_')\n    url: str = 'http://h/v1'\n"
            "    key: str\n"
            "s = S()\nc = OpenAI(base_url=s.url, api_key=s.key)\n"
        ),
        [("openai", "APP_URL", "APP_KEY", "http://h/v1")],
    ),
    "somebody else's host": (
        "from openai import OpenAI\nc = OpenAI(base_url='https://api.groq.com/openai/v1')\n",
        [("groq", None, None, "https://api.groq.com/openai/v1")],
    ),
    "Azure": ("from openai import AzureOpenAI\nc = AzureOpenAI()\n", [("azure", None, None, None)]),
    "two": (
        "import anthropic, openai\na = anthropic.Anthropic()\nb = openai.OpenAI()\n",
        [("anthropic", None, None, None), ("openai", None, None, None)],
    ),
    "LangChain": (
        "from langchain_anthropic import ChatAnthropic\nm = ChatAnthropic(model='claude')\n",
        [("anthropic", None, None, None)],
    ),
    "LiteLLM by its model": (
        "import litellm\nlitellm.completion(model='anthropic/claude-3', messages=[])\n",
        [("anthropic", None, None, None)],
    ),
    "LiteLLM without a prefix": (
        "from litellm import completion\ncompletion(model='gpt-4o', messages=[])\n",
        [("openai", None, None, None)],
    ),
    "PydanticAI": ("from pydantic_ai import Agent\na = Agent('openai:gpt-4o')\n", [("openai", None, None, None)]),
    "Google": ("from google import genai\nc = genai.Client()\n", [("gemini", None, None, None)]),
    "Bedrock": ("import boto3\nc = boto3.client('bedrock-runtime')\n", [("bedrock", None, None, None)]),
    "Mistral": ("from mistralai import Mistral\nc = Mistral()\n", [("mistral", None, None, None)]),
    "no SDK but its URL": (
        "import httpx\nhttpx.post('https://api.openai.com/v1/responses')\n",
        [("openai", None, None, None)],
    ),
    "only its errors": ("from openai import OpenAIError\n", []),
    "boto3 for something else": ("import boto3\nc = boto3.client('s3')\n", []),
    "nothing": ("import json\n", []),
}


@pytest.mark.parametrize(("code", "wanted"), CLIENTS.values(), ids=CLIENTS.keys())
def test_providers_are_found_with_what_they_are_told_by(
    repository: Repository, code: str, wanted: list[tuple[str, str | None, str | None, str | None]]
) -> None:
    found = look(repository({"app.py": code}))
    assert [(client.provider, client.url, client.key, client.literal) for client in found.clients] == wanted


def test_a_package_of_the_project_is_no_sdk_of_the_same_name(repository: Repository) -> None:
    found = look(
        repository({"agents/base.py": "x = 1\n", "main.py": "from agents.base import x\nfrom agents import Agent\n"})
    )
    assert found.clients == ()
