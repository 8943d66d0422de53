"""One table: from a cell, options and the caller's environment to the variables of tests and stack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.environment.build_cases import CELL, SERVED, STACK, Case, both, run

from stackproof.catalog.records import ModelRole, StackMode
from stackproof.environment import MASK, PLACEHOLDER
from stackproof.errors import UsageError
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Settings

GIVEN = {"OPENAI_API_KEY": "k", "REGION": "us"}


LIBRARY = replace(CELL, mode=StackMode.LIBRARY)


ABSENT = None


CASES = {
    "the setup's values are defaults": Case(**both(OPENAI_BASE_URL="https://api.openai.com/v1", REGION="eu")),
    "the caller's values win over the setup's": Case(
        caller={"OPENAI_BASE_URL": "http://gateway/v1", "PATH": "/bin"},
        **both(OPENAI_BASE_URL="http://gateway/v1", PATH="/bin"),
    ),
    "a stack has names of its own for the setup's models": Case(
        cell=replace(CELL, stack=replace(STACK, models={ModelRole.TEXT: "gateway:{name}", ModelRole.JUDGE: "{name}!"})),
        **both(STACKPROOF_TEXT_MODEL="gateway:openai/gpt-4o", STACKPROOF_JUDGE_MODEL=ABSENT),
    ),
    "the tests keep their asserts": Case(
        caller={"PYTHONOPTIMIZE": "2"}, tests={"PYTHONOPTIMIZE": ABSENT}, stack={"PYTHONOPTIMIZE": "2"}
    ),
    "an empty variable of the caller is none": Case(
        caller={"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""},
        **both(OPENAI_BASE_URL="https://api.openai.com/v1", OPENAI_API_KEY=PLACEHOLDER),
    ),
    "--env wins over the caller, the service and the stack": Case(
        cell=SERVED,
        options={"env": ("OPENAI_BASE_URL=http://mine/v1", "LOG_LEVEL=debug", "LISTEN=x", "LOG_LEVEL=trace")},
        caller={"OPENAI_BASE_URL": "http://gateway/v1", "LOG_LEVEL": "warn"},
        service_url="http://127.0.0.1:9000/v1",
        tests={"OPENAI_BASE_URL": "http://mine/v1", "LOG_LEVEL": "trace"},
        stack={"OPENAI_BASE_URL": "http://mine/v1", "LOG_LEVEL": "trace", "LISTEN": "x"},
    ),
    "--env keeps spaces, quotes and equals signs": Case(
        options={"env": ("A= b c ", "B=\"it's\"", "C=x=y==", "D=", "E=ü\n2")},
        **both(A=" b c ", B="\"it's\"", C="x=y==", D="", E="ü\n2"),
    ),
    "replay gives placeholders for what is missing": Case(
        **both(OPENAI_API_KEY=PLACEHOLDER, OPTIONAL_TOKEN="EMPTY"), placeholders=frozenset({"OPENAI_API_KEY"})
    ),
    "replay keeps a secret that is there": Case(
        caller={"OPENAI_API_KEY": "sk-real-0123456789"},
        **both(OPENAI_API_KEY="sk-real-0123456789"),
        placeholders=frozenset(),
        shown={"OPENAI_API_KEY": MASK, "OPTIONAL_TOKEN": MASK},
    ),
    "live has no placeholders": Case(
        cell=replace(CELL, inference_mode=Mode.LIVE),
        caller={"OPENAI_API_KEY": "sk-real-0123456789", "REGION": "us"},
        **both(OPENAI_API_KEY="sk-real-0123456789"),
        placeholders=frozenset(),
    ),
    "a service takes the place of every provider variable": Case(
        cell=SERVED,
        caller={"OPENAI_BASE_URL": "http://gateway/v1"},
        service_url="http://127.0.0.1:9000/v1",
        **both(OPENAI_BASE_URL="http://127.0.0.1:9000/v1", OPENAI_API_KEY=PLACEHOLDER),
    ),
    "the run describes itself": Case(
        **both(
            STACKPROOF_INFERENCE_MODE="replay",
            STACKPROOF_RECORDING_DIR="/srv/shop/recordings",
            STACKPROOF_SUITE="base",
            STACKPROOF_SETUP="gpt",
            STACKPROOF_STACK_TYPE="server",
            STACKPROOF_STACK="server:reference",
            STACKPROOF_API_BASE_URL="http://127.0.0.1:41873",
            STACKPROOF_RUN_ID="7f3c2a",
            STACKPROOF_RUN_DIR="/srv/shop/.stackproof/runs/7f3c2a/cells/c",
            STACKPROOF_CHILD="7f3c2a",
            STACKPROOF_TEXT_MODEL="openai/gpt-4o",
            STACKPROOF_EMBEDDING_DIMENSION="1536",
            STACKPROOF_VISION_MODEL=ABSENT,
            STACKPROOF_DEBUG=ABSENT,
        )
    ),
    "options win over the setup's models": Case(
        options={"text_model": "openai/o1", "embedding_dimension": 8, "recording_dir": "/data/rec", "debug": True},
        **both(
            STACKPROOF_TEXT_MODEL="openai/o1",
            STACKPROOF_EMBEDDING_DIMENSION="8",
            STACKPROOF_RECORDING_DIR="/data/rec",
            STACKPROOF_DEBUG="1",
        ),
    ),
    "nothing of an outer run gets in": Case(
        caller={
            "STACKPROOF_VISION_MODEL": "old/model",
            "STACKPROOF_CHILD": "aaaaaa",
            "STACKPROOF_RECORDER": "{}",
            "PYTEST_XDIST_WORKER": "gw1",
            "PYTEST_CURRENT_TEST": "t",
            "PYTEST_ADDOPTS": "-q",
            "STACKPROOF_LIVE_MODEL": "a/b",
        },
        **both(
            STACKPROOF_VISION_MODEL=ABSENT,
            STACKPROOF_CHILD="7f3c2a",
            PYTEST_XDIST_WORKER=ABSENT,
            PYTEST_CURRENT_TEST=ABSENT,
            PYTEST_ADDOPTS="-q",
            STACKPROOF_LIVE_MODEL="a/b",
        ),
    ),
    "a stack and its tests get our variables under the stack's names": Case(
        **both(SHOP_SETUP="gpt", SHOP_MODEL="openai/gpt-4o", SHOP_DEBUG=ABSENT, STACKPROOF_SETUP="gpt")
    ),
    "--env wins over our variables under the stack's names": Case(
        options={"env": ("SHOP_SETUP=mine",)}, **both(SHOP_SETUP="mine", STACKPROOF_SETUP="gpt")
    ),
    "a stack's templates are filled, other braces stay": Case(
        caller={"LISTEN": "old:1", "LOG_LEVEL": "warn"},
        tests={"LISTEN": "old:1"},
        stack={"LISTEN": "127.0.0.1:41873", "LOG_LEVEL": "warn", "SHAPE": '{"a": 41873}'},
    ),
    "a stack's code comes first on its path": Case(
        caller={"PYTHONPATH": "/lib/a:/lib/b"},
        tests={"PYTHONPATH": "/lib/a:/lib/b"},
        stack={"PYTHONPATH": "/srv/shop/stacks/reference:/lib/a:/lib/b"},
    ),
    "a library's tests are its process": Case(
        cell=LIBRARY,
        base_url=None,
        **both(
            SHOP_SETUP="gpt",
            LOG_LEVEL="info",
            PYTHONPATH="/srv/shop/stacks/reference",
            STACKPROOF_STACK="library:reference",
            STACKPROOF_STACK_TYPE="library_client",
            STACKPROOF_API_BASE_URL=ABSENT,
        ),
    ),
    "a proxy stays out of loopback": Case(
        cell=replace(CELL, inference_mode=Mode.LIVE),
        caller={**GIVEN, "HTTPS_PROXY": "http://proxy:3128", "no_proxy": "corp.example, localhost"},
        **both(NO_PROXY="corp.example,localhost,127.0.0.1", no_proxy="corp.example,localhost,127.0.0.1"),
    ),
    "where nothing goes out there is no proxy": Case(
        caller={"https_proxy": "http://proxy:3128", "ALL_PROXY": "socks5://proxy:1080", "NO_PROXY": "corp.example"},
        **both(https_proxy=ABSENT, ALL_PROXY=ABSENT, NO_PROXY=ABSENT, no_proxy=ABSENT),
    ),
    "but one that was asked for": Case(
        options={"env": ("HTTPS_PROXY=http://mine:3128",)},
        caller={"HTTPS_PROXY": "http://proxy:3128"},
        **both(HTTPS_PROXY="http://mine:3128", no_proxy="localhost,127.0.0.1"),
    ),
    "without a proxy nothing is said about one": Case(**both(NO_PROXY=ABSENT)),
    "secrets are masked wherever they stand": Case(
        options={
            "env": (
                "OPENAI_API_KEY=sk-real-0123456789",
                "DATABASE=postgres://me:pass@db/x",
                "COPY=<sk-real-0123456789>",
            )
        },
        caller={"MY_SESSION_TOKEN": "abcdefghij", "HOME": "/home/me"},
        shown={
            "OPENAI_API_KEY": MASK,
            "COPY": f"<{MASK}>",
            "DATABASE": f"postgres://me:{MASK}@db/x",
            "MY_SESSION_TOKEN": ABSENT,
            "HOME": ABSENT,
            "REGION": "eu",
        },
    ),
    "a placeholder is shown as what it is": Case(shown={"OPENAI_API_KEY": PLACEHOLDER}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_variables(case: Case) -> None:
    built = run(case)
    assert {name: built.tests.get(name) for name in case.tests} == dict(case.tests)
    assert {name: built.stack.get(name) for name in case.stack} == dict(case.stack)
    assert {name: built.shown().get(name) for name in case.shown} == dict(case.shown)
    if case.placeholders is not None:
        assert built.placeholders == case.placeholders
    for values in (built.tests, built.stack):
        settings = Settings.from_json(values["STACKPROOF_RECORDER"])
        assert settings.run_dir == values["STACKPROOF_RUN_DIR"]
        assert not any(value in values["STACKPROOF_RECORDER"] for value in ("sk-real", "abcdefghij"))


@pytest.mark.parametrize(
    ("cell", "options", "caller", "sentence"),
    [
        (replace(CELL, inference_mode=Mode.LIVE), {}, {}, "setup 'gpt' needs OPENAI_API_KEY and REGION for live"),
        (
            replace(CELL, inference_mode=Mode.RECORD),
            {},
            {"REGION": "us"},
            "setup 'gpt' needs OPENAI_API_KEY for record",
        ),
        (CELL, {"env": ("STACKPROOF_RUN_ID=x",)}, {}, "--env: STACKPROOF_RUN_ID is set by the run itself"),
    ],
    ids=["live without secrets", "record without a key", "--env of our own"],
)
def test_what_cannot_work_is_refused(
    cell: Cell, options: dict[str, Any], caller: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        run(Case(cell=cell, options=options, caller=caller))
    assert caught.value.message.startswith(sentence)
