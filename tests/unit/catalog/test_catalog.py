"""What is named: the built-in records, and a project's own in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.catalog.records import ModelRole, StackMode
from stackproof.errors import UsageError

WANTED = (
    "ollama ollama-vision ollama-reasoning ollama-postgres llama-api vllm-qwen3next llama-cpp vllm tgi gpt "
    "gpt-reasoning azure bedrock watsonx vertexai gemini anthropic groq together fireworks cerebras databricks "
    "tavily echo"
)


def write(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_every_setup_that_comes_with_it_is_there(tmp_path: Path) -> None:
    assert set(catalog.load(tmp_path).setups) == set(WANTED.split())


@pytest.mark.parametrize("name", WANTED.split())
def test_setup_is_whole(tmp_path: Path, name: str) -> None:
    setup = catalog.load(tmp_path).setup(name)
    assert setup.models
    for provider in setup.providers:
        assert provider.variable is not None
        assert setup.env[provider.variable].startswith(("https://", "http://localhost:"))
    assert {model.partition("/")[0] for model in setup.models.values()} <= {item.name for item in setup.providers}
    # A tenant's own value cannot be a default: it has one for replay and is asked for otherwise.
    assert set(setup.needs) <= set(setup.env)
    assert (ModelRole.EMBEDDING in setup.models) == (setup.embedding_dimension is not None)


def test_ollama_knows_its_origin_beside_its_address(tmp_path: Path) -> None:
    setup = catalog.load(tmp_path).setup("ollama")
    assert setup.env == {"OLLAMA_URL": "http://localhost:11434/v1"}
    assert setup.secrets == ()
    assert setup.service is None
    assert [(item.name, item.variable, item.origin) for item in setup.providers] == [("ollama", "OLLAMA_URL", True)]


def test_project_replaces_and_adds_by_name(tmp_path: Path) -> None:
    write(tmp_path, "stacks/setups.yaml", "gpt: {description: ours}\nmine: {description: new}\n")
    found = catalog.load(tmp_path)
    assert found.setup("gpt").description == "ours"
    assert found.setup("gpt").models == {}
    assert found.setup("mine").description == "new"
    assert found.setup("ollama").models


def test_stack_and_service_are_named_after_their_folders(tmp_path: Path) -> None:
    write(
        tmp_path,
        "stacks/shop/stack.yaml",
        "description: a shop\nmodes: [library, server]\npython_path: [src]\napp: shop.app:make\n"
        "command: ['{python}', -m, shop, --port, '{port}']\ncwd: ../..\nreadiness: {path: /up, timeout: 3}\n"
        "variables: {STACKPROOF_SETUP: SHOP_SETUP}\nheader: X-Shop\nid_hook: shop.core.ids:set_id_override\n",
    )
    (tmp_path / "stacks/shop/src").mkdir()
    write(
        tmp_path,
        "stacks/tiny/service.yaml",
        "description: tiny\ncommand: ['{python}', serve.py]\nserver: tiny 1.0\napi_path: /v1/\n"
        "for_each: '/for/{provider}/'\n"
        "models: {m: {synthetic_weights: true, sha256: '00'}}\n",
    )
    found = catalog.load(tmp_path)
    stack = found.stack("shop")
    assert stack.modes == (StackMode.LIBRARY, StackMode.SERVER)
    assert stack.python_path == (tmp_path / "stacks/shop/src",)
    assert (stack.readiness.path, stack.readiness.status, stack.readiness.timeout) == ("/up", 200, 3.0)
    assert stack.port is None
    assert stack.cwd == tmp_path / "stacks/shop/../.."
    assert stack.id_hook == "shop.core.ids:set_id_override"
    service = found.service("tiny")
    assert service.api_path == "/v1"
    assert service.for_each == "/for/{provider}"
    assert service.models == {"m": {"synthetic_weights": True, "sha256": "00"}}
    assert service.synthetic is False


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("description: x\nmodes: [sever]\n", ":2: unknown mode 'sever' in stack 'shop', did you mean 'server'?"),
        ("description: x\nmodes: [server]\n", ":2: stack 'shop' supports server mode and lacks 'command'"),
        ("description: x\nmodes: [docker]\napp: shop\n", ":3: 'app' of stack 'shop' must be written module:name"),
        (
            "description: x\nmodes: [docker]\nid_hook: shop.ids\n",
            ":3: 'id_hook' of stack 'shop' must be written module:function, not 'shop.ids'",
        ),
        ("description: x\nmodes: [docker]\nid_hook: [a]\n", ":3: 'id_hook' in stack 'shop' must be text"),
        (
            "description: x\nmodes: [server]\ncommand: [x]\nunder_exec: false\nid_hook: a:b\n",
            ":5: 'id_hook' of stack 'shop' needs the recorder in the server, and 'under_exec' is false",
        ),
        ("description: x\nmodes: [docker]\ncwd: src\n", ":3: 'cwd' of stack 'shop' names 'src', which does not exist"),
        (
            "description: x\nmodes: [docker]\ncwd: stack.yaml\n",
            ":3: 'cwd' of stack 'shop' names 'stack.yaml', which is no",
        ),
        (
            "description: x\nmodes: [server]\ncwd: ..\nprepare: npm\n",
            ":3: stack 'shop' has 'cwd' and 'prepare', which runs",
        ),
        ("description: x\nmodes: [docker]\npython_path: [src]\n", ":3: 'python_path' of stack 'shop' names 'src'"),
        ("description: x\nmodes: [docker]\nreadiness: {path: up}\n", ":3: 'path' in 'readiness' of stack 'shop'"),
        ("description: x\nmodes: [docker]\nreadiness: {timeout: 0}\n", ":3: 'timeout' in 'readiness' of stack 'shop'"),
        (
            "description: x\nmodes: [docker-library]\ndocker: {image: x, shared: true}\n",
            ":3: 'shared' in 'docker' of stack 'shop' is for mode docker, which it has not",
        ),
        (
            "description: x\nmodes: [docker]\ndocker: {image: x, shared: 1}\n",
            ":3: 'shared' in 'docker' of stack 'shop' must be true or false",
        ),
        ("description: x\n", ":1: stack 'shop' lacks 'modes'"),
    ],
)
def test_impossible_stack_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    write(tmp_path, "stacks/shop/stack.yaml", text)
    with pytest.raises(UsageError) as caught:
        catalog.load(tmp_path)
    assert caught.value.message.startswith("stacks/shop/stack.yaml" + sentence)


def test_suites_and_their_root_come_from_the_project(tmp_path: Path) -> None:
    write(
        tmp_path,
        "tests/suites.yaml",
        "root: tests/it/\nsuites:\n  base: {description: d, roots: [tests/it/base], default_setup: gpt}\n",
    )
    found = catalog.load(tmp_path)
    assert found.integration_root == "tests/it"
    assert found.suite("base").roots == ("tests/it/base",)


def test_unknown_name_brings_the_nearest_and_who_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        catalog.load(tmp_path).setup("olama", where="--setup")
    assert caught.value.message == "unknown setup 'olama' (--setup), did you mean 'ollama'?"
    assert caught.value.hint is not None
    assert "anthropic" in caught.value.hint


def test_project_without_suites_is_told_apart_from_a_typo(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no tests/suites\.yaml here"):
        catalog.load(tmp_path).suite("base", where="default")


def test_a_service_says_when_no_model_answers(tmp_path: Path) -> None:
    text = "description: tiny\ncommand: [serve]\nserver: tiny 1.0\nsynthetic: true\n"
    write(tmp_path, "stacks/tiny/service.yaml", text)
    found = catalog.load(tmp_path)
    assert found.service("tiny").synthetic
    assert found.service("echo").synthetic
    assert not found.service("llama-cpp").synthetic
