"""From options and catalog to cells, and back to the command line that runs one of them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackproof import catalog, plan_text
from stackproof.catalog.records import StackMode
from stackproof.errors import UsageError
from stackproof.options import resolve
from stackproof.plan import Plan, again, command_stem, make

SUITES = """
root: tests/integration
suites:
  base: {description: d, roots: [tests/integration/base, tests/integration/more/test_x.py], default_setup: ollama}
  chat: {description: d, roots: ["tests/integration/base/test_a.py::test_one"], default_setup: gpt}
"""
STACK = """
description: a shop
modes: [library, server]
app: shop.app:make
command: ["{python}", -m, shop]
"""
SERVICE = """
description: s
command: ["{python}", serve.py]
server: llama.cpp b1
"""


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    files = {
        "tests/suites.yaml": SUITES,
        "tests/integration/base/test_a.py": "",
        "tests/integration/more/test_x.py": "",
        "tests/integration/other/test_y.py": "",
        "stacks/shop/stack.yaml": STACK,
        "stacks/llama-cpp/service.yaml": SERVICE,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def planned(project: Path, cli: Mapping[str, Any] | None = None, caller: Mapping[str, str] | None = None) -> Plan:
    given = {"stack_config": "server:shop", **(cli or {})}
    options = resolve(given, caller or {}, project)
    return make(options, catalog.load(project), project, "7f3c2a", caller=caller)


def test_one_cell_by_default(project: Path) -> None:
    plan = planned(project)
    (cell,) = plan.cells
    assert cell.id == "base-ollama-server-shop"
    assert cell.title == "base × ollama × server:shop"
    assert cell.mode is StackMode.SERVER
    assert cell.paths == ("tests/integration/base", "tests/integration/more/test_x.py")
    assert plan.run_dir == project / ".stackproof/runs/7f3c2a"


def test_suite_brings_its_own_setup(project: Path) -> None:
    assert planned(project, {"suite": "chat"}).cells[0].setup.name == "gpt"


def test_the_only_stack_and_the_only_suite_of_a_project_need_no_name(project: Path) -> None:
    assert planned(project, {"stack_config": None}).cells[0].id == "base-ollama-server-shop"
    (project / "stacks/shop/stack.yaml").write_text("description: d\nmodes: [library]\n")
    (project / "tests/suites.yaml").write_text(
        "suites: {chat: {description: d, roots: [tests/integration/base], default_setup: gpt}}\n"
    )
    assert planned(project, {"stack_config": None}).cells[0].id == "chat-gpt-library-shop"


def test_of_several_stacks_none_is_taken_unasked(project: Path) -> None:
    (project / "stacks/other").mkdir()
    (project / "stacks/other/stack.yaml").write_text("description: d\nmodes: [library]\n")
    with pytest.raises(UsageError) as caught:
        planned(project, {"stack_config": None})
    assert caught.value.message == "nothing says which stack is meant: this project has library:other and server:shop"
    (project / "stacks/shop").rename(project / "stacks/reference")
    assert planned(project, {"stack_config": None}).cells[0].id == "base-ollama-server-reference"


def test_of_several_suites_none_is_taken_unasked(project: Path) -> None:
    (project / "tests/suites.yaml").write_text(SUITES.replace("  base:", "  first:"), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        planned(project)
    assert caught.value.message == "nothing says which suite is meant: this project has first, chat"
    assert planned(project, {"suite": "first"}).cells[0].suite.name == "first"


def test_a_project_that_describes_no_stack_is_a_package_that_its_tests_import(project: Path) -> None:
    (project / "stacks/shop/stack.yaml").unlink()
    (cell,) = planned(project, {"stack_config": None}).cells
    assert cell.id == "base-ollama-library-package"
    assert cell.stack.app is None


def test_several_by_comma_give_every_combination_once(project: Path) -> None:
    plan = planned(project, {"suite": "base,chat,base", "stack_config": "library:shop,server:shop"})
    assert [cell.id for cell in plan.cells] == [
        "base-ollama-library-shop",
        "base-ollama-server-shop",
        "chat-gpt-library-shop",
        "chat-gpt-server-shop",
    ]


@pytest.mark.parametrize(
    ("cli", "paths"),
    [
        ({"file": ("tests/integration/other/test_y.py::test_1",)}, ("tests/integration/other/test_y.py::test_1",)),
        ({"subdirs": ("more",)}, ("tests/integration/more/test_x.py",)),
        ({"subdirs": ("base,more",)}, ("tests/integration/base", "tests/integration/more/test_x.py")),
        ({"suite": "chat", "subdirs": ("base",)}, ("tests/integration/base/test_a.py::test_one",)),
    ],
)
def test_what_pytest_is_pointed_at(project: Path, cli: dict[str, Any], paths: tuple[str, ...]) -> None:
    assert planned(project, cli).cells[0].paths == paths


@pytest.mark.parametrize(
    ("cli", "sentence"),
    [
        ({"suite": "bsae"}, "unknown suite 'bsae' (--suite), did you mean 'base'?"),
        ({"setup": "olama"}, "unknown setup 'olama' (--setup), did you mean 'ollama'?"),
        ({"stack_config": "server:shpo"}, "unknown stack 'shpo' (--stack-config), did you mean 'shop'?"),
        ({"stack_config": "sever:shop"}, "unknown stack mode 'sever' (--stack-config), did you mean 'server'?"),
        ({"stack_config": "docker:shop"}, "--stack-config: stack 'shop' does not run in mode 'docker'"),
        ({"stack_config": "shop"}, "--stack-config: stack 'shop' says no mode, write MODE:NAME"),
        (
            {"stack_config": "http://h:1"},
            "--stack-config: a stack that runs already (http://h:1) can be tested live only",
        ),
        (
            {"provider_service": "lama-cpp"},
            "unknown service 'lama-cpp' (--provider-service), did you mean 'llama-cpp'?",
        ),
        (
            {"provider_service": "docker:lama-cpp"},
            "unknown service 'lama-cpp' (--provider-service), did you mean 'llama-cpp'?",
        ),
        (
            {"provider_service": "dokcer:llama-cpp"},
            "unknown service mode 'dokcer' (--provider-service), did you mean 'docker'?",
        ),
        ({"provider_service": "docker:echo"}, "--provider-service: service 'echo' does not run in a container"),
        ({"file": ("tests/integration/base/test_b.py",)}, "--file: there is no tests/integration/base/test_b.py, did"),
        ({"subdirs": ("bsae",)}, "--subdirs: there is no directory tests/integration/bsae, did you mean 'base'?"),
        ({"subdirs": ("other",)}, "--subdirs: suite 'base' has no tests in tests/integration/other"),
    ],
)
def test_unknown_names_come_with_the_nearest(project: Path, cli: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        planned(project, cli)
    assert caught.value.message.startswith(sentence)
    assert caught.value.hint


def test_running_stack_can_be_tested_live(project: Path) -> None:
    (cell,) = planned(project, {"stack_config": "http://127.0.0.1:8321/", "inference_mode": "live"}).cells
    assert cell.mode is StackMode.REMOTE
    assert cell.stack.url == "http://127.0.0.1:8321"
    assert cell.id == "base-ollama-remote-127.0.0.1-8321"


@pytest.mark.parametrize(
    ("word", "hint"),
    [("shop", "it runs as library:shop, server:shop"), ("shpo", "for example server:NAME; known stacks: ")],
)
def test_a_stack_without_a_mode_comes_with_the_modes_that_it_has(project: Path, word: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        planned(project, {"stack_config": word})
    assert (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("cli", "caller", "service"),
    [
        ({"setup": "llama-cpp"}, {}, None),
        ({"setup": "llama-cpp", "inference_mode": "record"}, {}, "llama-cpp"),
        ({"setup": "llama-cpp", "inference_mode": "record"}, {"LLAMA_CPP_URL": "http://h/v1"}, None),
        ({"setup": "llama-cpp", "inference_mode": "record", "env": ("LLAMA_CPP_URL=http://h/v1",)}, {}, None),
        ({"inference_mode": "record"}, {}, None),
        ({"inference_mode": "live", "provider_service": "llama-cpp"}, {"OLLAMA_URL": "http://h/v1"}, "llama-cpp"),
        ({"provider_service": "llama-cpp"}, {}, None),
    ],
    ids=["replay", "own", "caller knows", "--env knows", "never unasked", "asked for", "asked for in replay"],
)
def test_service_starts_only_where_it_belongs(
    project: Path, cli: dict[str, Any], caller: dict[str, str], service: str | None
) -> None:
    (cell,) = planned(project, cli, caller).cells
    assert (cell.service.name if cell.service else None) == service


def test_providers_of_the_project_belong_to_every_setup(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.stackproof.providers]\nfind = "https://find.example.com"\n')
    assert [item.name for item in planned(project).cells[0].setup.providers] == ["ollama", "find"]


def test_again_holds_what_was_given_and_nothing_else(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.stackproof]\nstrict = true\n")
    cli = {
        "file": ("tests/integration/base/test_a.py",),
        "pattern": "one or two",
        "env": ("A=b c", "MY_API_KEY=sk-secret-value"),
        "json": True,
        "suite_timeout": "60",
        "record_errors": False,
        "pytest_args": ("-x", "--deselect", "a b"),
    }
    plan = planned(project, cli, {"STACKPROOF_SETUP": "gpt", "OPENAI_API_KEY": "k"})
    line = again(plan.cells[0], plan.options)
    assert line == (
        "stackproof run --setup gpt --stack-config server:shop --file tests/integration/base/test_a.py "
        "--pattern 'one or two' --no-record-errors --env A='b c' --env MY_API_KEY=\"$MY_API_KEY\" --suite-timeout 60 "
        "-- -x --deselect 'a b'"
    )
    assert "sk-secret" not in line


def test_again_without_anything_given_names_the_cell(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.stackproof]\nstack_config = "server:shop"\n')
    plan = make(resolve({}, {}, project), catalog.load(project), project, "7f3c2a")
    assert again(plan.cells[0], plan.options) == (
        "stackproof run --suite base --setup ollama --stack-config server:shop"
    )


def test_stem_can_be_followed_by_other_tests_and_another_mode(project: Path) -> None:
    given = {"pattern": "x", "inference_mode": "replay", "text_model": "a/b", "pytest_args": ("-x",)}
    plan = planned(project, given)
    assert command_stem(plan.cells[0], plan.options) == (
        "stackproof run --suite base --setup ollama --stack-config server:shop --text-model a/b"
    )


def test_again_of_one_of_several_names_that_one(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.stackproof]\nsuite = "base,chat"\n')
    plan = planned(project)
    assert again(plan.cells[1], plan.options) == "stackproof run --suite chat --stack-config server:shop"
    assert "--setup gpt" in again(plan.cells[1], plan.options, complete=True)


def test_again_means_the_same_cell(project: Path) -> None:
    plan = planned(project, {"suite": "base,chat", "stack_config": "library:shop,server:shop"})
    for cell in plan.cells:
        words = shlex.split(again(cell, plan.options, complete=True))[2:]
        cli = {flag[2:].replace("-", "_"): value for flag, value in zip(words[::2], words[1::2], strict=True)}
        assert [found.id for found in planned(project, cli).cells] == [cell.id]


def test_plan_for_people_says_where_each_choice_came_from(project: Path) -> None:
    folder = project / "recordings/ollama/base"
    folder.mkdir(parents=True)
    (folder / "a-b.json").write_text("x" * 2000)
    assert list(plan_text.lines(planned(project, {"pattern": "x"}))) == [
        "stackproof 0.1.0 · run 7f3c2a · replay",
        "  suite  base, tests/integration/base, tests/integration/more/test_x.py   default, --pattern",
        "  setup  ollama                                                           the suite's default",
        "  stack  server:shop                                                      --stack-config",
        "  from   recordings/ollama, 1 file, 2 kB",
    ]


def test_plan_for_machines_parses(project: Path) -> None:
    plan = planned(project, {"suite": "base,chat", "env": ("MY_API_KEY=sk-secret-value",)})
    texts = (plan_text.as_json(plan), plan_text.as_github_matrix(plan), plan_text.as_gitlab(plan))
    assert not any("sk-secret" in text for text in texts)
    assert [cell["id"] for cell in json.loads(texts[0])["cells"]] == ["base-ollama-server-shop", "chat-gpt-server-shop"]
    assert "\n" not in texts[1]
    matrix = json.loads(texts[1])["include"]
    assert [(cell["suite"], cell["setup"]) for cell in matrix] == [("base", "ollama"), ("chat", "gpt")]
    jobs = yaml.safe_load(texts[2])
    assert list(jobs) == ["base-ollama-server-shop", "chat-gpt-server-shop"]
    assert jobs["chat-gpt-server-shop"]["script"][0].startswith("stackproof run --suite chat --setup gpt")
