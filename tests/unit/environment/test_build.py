"""One table: from a cell, options and the caller's environment to the variables of tests and stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.records import ModelRole, ProviderSpec, ServiceSpec, SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.edge.places import Places
from stackproof.environment import MASK, PLACEHOLDER, build
from stackproof.errors import UsageError
from stackproof.options import RunOptions
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Settings

PROJECT = Path("/srv/shop")
HERE = Path("stacks.yaml")
SETUP = SetupSpec(
    name="gpt",
    description="d",
    env={"OPENAI_BASE_URL": "https://api.openai.com/v1", "REGION": "eu", "OPTIONAL_TOKEN": "EMPTY"},
    models={ModelRole.TEXT: "openai/gpt-4o"},
    embedding_dimension=1536,
    secrets=("OPENAI_API_KEY", "OPTIONAL_TOKEN"),
    needs=("REGION",),
    providers=(
        ProviderSpec(name="openai", variable="OPENAI_BASE_URL", origin=True),
        ProviderSpec(name="search", prefixes=("https://search.example.com/v2",)),
    ),
    rules=({"name": "floats"},),
    source=HERE,
)
STACK = StackSpec(
    name="reference",
    description="d",
    folder=PROJECT / "stacks/reference",
    modes=(StackMode.LIBRARY, StackMode.SERVER),
    python_path=(PROJECT / "stacks/reference",),
    env={"LISTEN": "{host}:{port}", "LOG_LEVEL": "info", "SHAPE": '{"a": {port}}'},
    variables={
        "STACKPROOF_SETUP": "SHOP_SETUP",
        "STACKPROOF_TEXT_MODEL": "SHOP_MODEL",
        "STACKPROOF_DEBUG": "SHOP_DEBUG",
    },
    header="X-Shop",
    id_hook="shop.ids:set_id_override",
    source=HERE,
)
SUITE = SuiteSpec(
    name="base", description="d", roots=("tests/integration/base",), default_setup="gpt", rules=({"name": "nulls"},),
    source=HERE,
)  # fmt: skip
SERVICE = ServiceSpec(
    name="llama-cpp", description="d", folder=HERE, command=("x",), server="llama.cpp b1", source=HERE,
    models={"m": {"synthetic_weights": True}},
)  # fmt: skip
CELL = Cell(
    suite=SUITE, setup=SETUP, stack=STACK, mode=StackMode.SERVER, inference_mode=Mode.REPLAY, service=None,
    paths=SUITE.roots,
)  # fmt: skip
GIVEN = {"OPENAI_API_KEY": "k", "REGION": "us"}
SERVED = replace(CELL, inference_mode=Mode.RECORD, service=SERVICE)
LIBRARY = replace(CELL, mode=StackMode.LIBRARY)
ABSENT = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """What goes in, and the variables that must (or, where None, must not) come out."""

    cell: Cell = CELL
    options: Mapping[str, Any] = field(default_factory=dict)
    caller: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = "http://127.0.0.1:41873"
    service_url: str | None = None
    tests: Mapping[str, str | None] = field(default_factory=dict)
    stack: Mapping[str, str | None] = field(default_factory=dict)
    placeholders: frozenset[str] | None = None
    shown: Mapping[str, str | None] = field(default_factory=dict)


def both(**values: str | None) -> dict[str, Any]:
    return {"tests": values, "stack": values}


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


def run(case: Case) -> Any:
    return build(
        cell=case.cell,
        options=RunOptions(**case.options),
        project=PROJECT,
        run_id="7f3c2a",
        cell_dir=PROJECT / ".stackproof/runs/7f3c2a/cells/c",
        caller=case.caller,
        base_url=case.base_url,
        service_url=case.service_url,
    )


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


@pytest.mark.parametrize(("mode", "offered"), [(Mode.RECORD, True), (Mode.RECORD_IF_MISSING, True), (Mode.LIVE, False)])
def test_who_lacks_a_key_and_wants_recordings_is_told_of_a_model_that_asks_for_none(mode: Mode, offered: bool) -> None:
    with pytest.raises(UsageError) as caught:
        run(Case(cell=replace(CELL, inference_mode=mode), options={}, caller={}))
    assert ("--provider-service llama-cpp" in str(caught.value.hint)) is offered


def test_what_a_run_has_beside_its_stack_is_called_past_a_proxy() -> None:
    built = build(
        cell=SERVED,
        options=RunOptions(),
        project=PROJECT,
        run_id="7f3c2a",
        cell_dir=PROJECT / ".stackproof/runs/7f3c2a/cells/c",
        caller={"HTTPS_PROXY": "http://proxy:3128"},
        base_url=None,
        service_url=None,
        moved={"OPENAI_BASE_URL": "http://172.18.0.1:4001/v1"},
        beside=("postgres", "172.18.0.3"),
        edge=Places(host="edge", main=4000, own={}),
    )
    for values in (built.tests, built.stack):
        assert values["NO_PROXY"] == "localhost,127.0.0.1,postgres,172.18.0.3,172.18.0.1,edge"


@pytest.mark.parametrize(("mode", "wanted"), [(Mode.REPLAY, "false"), (Mode.RECORD, "true")])
def test_a_trace_of_every_call_is_sent_where_calls_go_out_and_not_in_replay(mode: Mode, wanted: str) -> None:
    caller = {"OPENAI_API_KEY": "sk-real-key-abcdefghij", "REGION": "us", "LANGSMITH_TRACING": "true"}
    built = run(Case(cell=replace(CELL, inference_mode=mode), options={}, caller=caller))
    assert built.tests["LANGSMITH_TRACING"] == built.stack["LANGSMITH_TRACING"] == wanted
    asked = run(Case(cell=CELL, options={"env": ("LANGSMITH_TRACING=true",)}, caller=caller))
    assert asked.tests["LANGSMITH_TRACING"] == "true"


def test_recorder_is_told_who_is_called_and_by_whom() -> None:
    caller = {"OPENAI_BASE_URL": "http://10.0.0.7:8000/v1/", "REGION": "us"}
    built = run(Case(cell=SERVED, caller=caller))
    settings = Settings.from_json(built.stack["STACKPROOF_RECORDER"])
    assert [(item.name, item.variable, item.prefixes) for item in settings.providers] == [
        ("openai", "OPENAI_BASE_URL", ("http://10.0.0.7:8000/v1", "http://10.0.0.7:8000")),
        ("search", None, ("https://search.example.com/v2",)),
    ]
    assert settings.secrets == ("OPENAI_API_KEY", "OPTIONAL_TOKEN")
    assert [rule["name"] for rule in settings.rules] == ["floats", "nulls"]
    assert settings.provenance == {
        "stack": "reference",
        "server": "llama.cpp b1",
        "service": "llama-cpp",
        "models": {"m": {"synthetic_weights": True}},
    }
    assert settings.header == "X-Shop"
    assert settings.id_hook == "shop.ids:set_id_override"
    assert settings.stack_url == "http://127.0.0.1:41873"
    assert settings.command == "stackproof run --suite base --setup gpt --stack-config server:reference"


def test_what_no_model_answered_is_recorded_as_synthetic(tmp_path: Path) -> None:
    found = build(
        cell=replace(SERVED, service=replace(SERVICE, synthetic=True)), options=RunOptions(), project=tmp_path,
        run_id="abcdef", cell_dir=Path("cell"), caller={}, base_url=None, service_url="http://127.0.0.1:1/v1",
    )  # fmt: skip
    assert Settings.from_json(found.stack["STACKPROOF_RECORDER"]).provenance["synthetic"] is True


def test_a_service_has_a_url_for_each_provider_that_it_stands_in_for(tmp_path: Path) -> None:
    both = (ProviderSpec(name="a", variable="A_URL"), ProviderSpec(name="b", variable="B_URL"))

    def variables(service_url: str) -> dict[str, str]:
        found = build(
            cell=replace(SERVED, setup=replace(SETUP, providers=both)), options=RunOptions(), project=tmp_path,
            run_id="abcdef", cell_dir=Path("cell"), caller={}, base_url=None, service_url=service_url,
        )  # fmt: skip
        return {name: found.stack[name] for name in ("A_URL", "B_URL")}

    assert variables("http://h:1/for/{provider}/v1") == {"A_URL": "http://h:1/for/a/v1", "B_URL": "http://h:1/for/b/v1"}
    with pytest.raises(UsageError, match="cannot stand in for the 2 providers"):
        variables("http://h:1/v1")


def test_one_service_stands_in_for_several_providers_below_a_name_each(tmp_path: Path) -> None:
    a, b = ProviderSpec(name="a", variable="A_URL"), ProviderSpec(name="b", variable="B_URL")
    env = {"A_URL": "https://a.example/v1", "B_URL": "https://b.example"}
    service = replace(SERVICE, api_path="/v1", for_each="/for/{provider}")

    def variables(*providers: ProviderSpec, model: str = "m") -> dict[str, str | None]:
        setup = replace(SETUP, providers=providers, env=env, models={ModelRole.TEXT: f"a/{model}"})
        cell = replace(SERVED, service=service, setup=setup)
        found = build(
            cell=cell, options=RunOptions(), project=tmp_path, run_id="abcdef", cell_dir=Path("cell"), caller={},
            base_url=None, service_url="http://h:1/v1",
        )  # fmt: skip
        return {provider.name: found.stack.get(str(provider.variable)) for provider in providers}

    # A URL that has no path, as Anthropic's, gets none: its SDK appends the whole of it.
    assert variables(a, b) == {"a": "http://h:1/for/a/v1", "b": "http://h:1/for/b"}
    assert variables(a) == {"a": "http://h:1/v1"}
    assert variables(b) == {"b": "http://h:1"}
    # Whose models it has not, it stands in for under a name too, where it answers for any.
    assert variables(a, model="gpt-4o") == {"a": "http://h:1/for/a/v1"}
    assert variables(b, model="gpt-4o") == {"b": "http://h:1/for/b"}


def test_the_key_that_a_stack_wants_of_its_callers_reaches_the_tests() -> None:
    def tests_and_stack(caller: Mapping[str, str], **stack: Any) -> tuple[Mapping[str, str], Mapping[str, str]]:
        found = run(Case(cell=replace(CELL, stack=replace(STACK, **stack)), caller=caller))
        return found.tests, found.stack

    tests, stack = tests_and_stack({}, client_key="SHOP_KEY", env={"SHOP_KEY": "sk-tests"})
    assert tests["STACKPROOF_CLIENT_KEY_IN"] == "SHOP_KEY"
    assert (tests["SHOP_KEY"], stack["SHOP_KEY"]) == ("sk-tests", "sk-tests")
    tests, stack = tests_and_stack({"SHOP_KEY": "sk-own"}, client_key="SHOP_KEY", env={"SHOP_KEY": "sk-tests"})
    assert (tests["SHOP_KEY"], stack["SHOP_KEY"]) == ("sk-own", "sk-own")
    tests, _ = tests_and_stack({"STACKPROOF_CLIENT_KEY_IN": "HOME"})
    assert "STACKPROOF_CLIENT_KEY_IN" not in tests


def test_caller_is_left_alone() -> None:
    caller = {"PATH": "/bin"}
    run(Case(caller=caller))
    assert caller == {"PATH": "/bin"}
