"""Runs of stacks that are recorded at the edge: how ids arrive, what is refused, what is left."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.e2e.edge import toy

from stackproof.run import namespace

RECORD = ("--inference-mode", "record")


@pytest.fixture
def answering(provider: Any) -> Any:
    """A provider that gives back what it was asked."""
    provider.script = lambda wire: wire.json(wire.asked.json)
    return provider


def _files(project: Any) -> dict[str, str]:
    return {path.name: path.read_text() for path in (project.root / "recordings").rglob("*.json")}


def _ok(done: Any) -> str:
    assert done.code == 0, done.output
    output: str = done.output
    return output


@pytest.mark.parametrize(
    ("hands_on", "said"),
    [
        ("X-Provider-Data", "ids: forwarded by the stack (X-Provider-Data)"),
        ("baggage", "ids: forwarded by the stack (baggage)"),
        ("", "ids: announced, so tests run one after the other (its calls carry neither X-Provider-Data nor baggage)"),
    ],
)
def test_a_stack_records_and_replays_however_its_ids_come(
    project: Any, answering: Any, hands_on: str, said: str
) -> None:
    stack = toy.write(project.root, answering.url, hands_on=hands_on)
    output = _ok(project.run("--stack-config", stack, *RECORD))
    assert output.count(said) == 1
    assert "11 recorded" in output
    files = _files(project)
    assert len(files) == 11
    scopes = {json.loads(text)["scope"] for text in files.values()}
    assert scopes == {
        "fixture:tests/integration/base/test_it.py::wide",
        "tests/integration/base/test_it.py::test_wide",
        *(f"tests/integration/base/test_it.py::test_one[{number}]" for number in range(4)),
    }
    answering.stop()
    output = _ok(project.run("--stack-config", stack))
    assert output.count(said) == 1
    assert "11 replayed, 0 recorded, 0 missed, 0 unused" in output
    assert ("sealed (network namespace)" in output) == namespace.available(project.environ).sealed
    assert _files(project) == files


def test_files_are_the_same_whichever_way_ids_come(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url, hands_on="X-Provider-Data")
    _ok(project.run("--stack-config", stack, *RECORD))
    toy.write(project.root, answering.url, hands_on="")
    assert "11 replayed, 0 recorded, 0 missed, 0 unused" in _ok(project.run("--stack-config", stack))


def test_tests_beside_one_another_need_a_stack_that_hands_ids_on(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url, hands_on="X-Provider-Data")
    _ok(project.run("--stack-config", stack, *RECORD, "--workers", "2"))
    assert "0 missed, 0 unused" in _ok(project.run("--stack-config", stack, "--workers", "2"))
    toy.write(project.root, answering.url)
    for words in (("--workers", "2"), ("--", "-n", "2")):
        refused = project.run("--stack-config", stack, *words)
        assert refused.code == 2, refused.output
        assert "the stack hands no test ids on to the edge (its calls carry neither" in refused.output
        assert f"leave {' '.join(words).removeprefix('-- ')} out" in refused.output


def test_a_stack_without_a_probe_is_served_one_test_at_a_time(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url, hands_on="X-Provider-Data")
    path = project.root / "stacks" / "gateway" / "stack.yaml"
    path.write_text(path.read_text().partition("edge:\n")[0])
    output = _ok(project.run("--stack-config", stack, *RECORD))
    assert "ids: announced, so tests run one after the other (its stack.yaml has no probe)" in output


def test_a_probe_that_calls_nobody_says_so(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url, hands_on="X-Provider-Data")
    path = project.root / "stacks" / "gateway" / "stack.yaml"
    path.write_text(path.read_text().replace('path: /ask, body: {model: "{text_model}"}', "path: /health, method: GET"))
    output = _ok(project.run("--stack-config", stack, *RECORD))
    assert "(GET /health called no provider and was answered 200)" in output


def test_what_the_stack_calls_by_itself_is_the_stacks(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url, hands_on="X-Provider-Data")
    _ok(project.run("--stack-config", stack, *RECORD, "--env", "TOY_AT_START=1"))
    own = [json.loads(text) for text in _files(project).values() if json.loads(text)["scope"] == "stack"]
    assert [one["request"]["path"] for one in own] == ["/started"]
    answering.stop()
    output = _ok(project.run("--stack-config", stack, "--env", "TOY_AT_START=1"))
    assert "12 replayed, 0 recorded, 0 missed, 0 unused" in output


@pytest.mark.parametrize("place", ["caller", "option", "stack"])
def test_a_url_that_leads_past_the_edge_is_refused_before_anything_starts(
    project: Any, answering: Any, place: str
) -> None:
    stack = toy.write(project.root, answering.url)
    words: tuple[str, ...] = ()
    match place:
        case "caller":
            project.environ["OPENAI_BASE_URL"] = "https://api.openai.com/v1"
        case "option":
            words = ("--env", "OPENAI_BASE_URL=https://api.openai.com/v1")
        case _:
            path = project.root / "stacks" / "gateway" / "stack.yaml"
            path.write_text(path.read_text().replace("env: {", "env: {OPENAI_BASE_URL: 'https://api.openai.com/v1', "))
    refused = project.run("--stack-config", stack, *words)
    assert refused.code == 2
    assert "OPENAI_BASE_URL=https://api.openai.com/v1 leads stack 'gateway' to openai past the edge" in refused.output
    assert "edge: {variables: {OPENAI_BASE_URL: openai}}" in refused.output
    assert not (project.root / ".stackproof").exists() or not list((project.root / ".stackproof").rglob("edge.log"))
    path = project.root / "stacks" / "gateway" / "stack.yaml"
    path.write_text(path.read_text().replace("edge:\n", "edge:\n  variables: {OPENAI_BASE_URL: openai}\n"))
    shown = project.run("--stack-config", stack, *words, "--print-env")
    assert "OPENAI_BASE_URL=http://edge.invalid:80/openai" in shown.output


def test_a_provider_that_the_caller_names_is_the_edges_provider(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, "http://127.0.0.1:9/v1")
    project.environ["PROBE_URL"] = answering.url
    assert "11 recorded" in _ok(project.run("--stack-config", stack, *RECORD))


def test_live_needs_no_edge(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url)
    output = _ok(project.run("--stack-config", stack, "--inference-mode", "live"))
    assert "edge" not in output
    assert not (project.root / "recordings").exists()
    assert answering.asked


def test_what_went_wrong_at_the_edge_is_told_at_the_end(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url)
    answering.stop()
    done = project.run("--stack-config", stack, *RECORD)
    assert done.code == 1, done.output
    assert f"the last: POST {answering.url}/answers: ConnectError: " in done.output
    assert done.output.count("calls went wrong") == 1


def test_an_edge_that_dies_fails_the_run(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url)
    project.tests(
        "import contextlib, os, signal, pathlib\n"
        "def test_it(stack):\n"
        "    for folder in pathlib.Path('/proc').glob('[0-9]*'):\n"
        "        with contextlib.suppress(OSError):  # others end meanwhile\n"
        "            if b'stackproof.edge.serve' in (folder / 'cmdline').read_bytes()"
        " and os.environ['STACKPROOF_RUN_DIR'].encode() in (folder / 'environ').read_bytes():\n"
        "                os.kill(int(folder.name), signal.SIGKILL)\n"
    )
    done = project.run("--stack-config", stack, *RECORD)
    assert done.code not in (0, 70), done.output
    assert "the edge was ended by SIGKILL by itself" in done.output


def test_an_interrupted_run_leaves_no_edge(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url)
    project.tests("import time\ndef test_it(stack):\n    time.sleep(600)\n")
    process = project.start("--stack-config", stack)
    project.wait_for("the edge", lambda: any("edge.serve" in command for command in project.left_behind()))
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    project.finish(process)
    assert process.returncode == 143
    assert project.left_behind() == []


# -- by hand


@pytest.fixture
def by_hand(project: Any) -> Any:
    """The command, started, once it serves; gives the variables that it prints, and what ends it."""

    def start(*words: str) -> tuple[dict[str, str], str, Callable[[], str]]:
        process = project.start(*words, program=("-m", "stackproof", "edge"))
        lines: list[str] = []
        while not lines or not lines[-1].startswith("ids:"):
            line = process.stdout.readline()
            assert line, "".join(lines)
            lines.append(line)
        pairs = dict(line.strip().split("=", 1) for line in lines if line.startswith("  "))

        def end() -> str:
            process.send_signal(signal.SIGINT)
            output: str = project.finish(process)
            assert process.returncode == 0, output
            return output

        return pairs, "".join(lines), end

    return start


def test_an_edge_by_hand_records_keeps_and_replays(project: Any, answering: Any, by_hand: Any) -> None:
    toy.write(project.root, answering.url)
    headers = {"X-Provider-Data": json.dumps({"__test_id": "tests/integration/base/test_it.py::test_hand"})}
    variables, said, end = by_hand("--setup", "local", *RECORD)
    assert "records (record) into recordings/local; Ctrl-C ends it" in said
    with httpx.Client(trust_env=False, timeout=60) as http:
        assert http.post(variables["PROBE_URL"] + "/x", json={"a": 1}, headers=headers).json() == {"a": 1}
        assert http.post(variables["PROBE_URL"] + "/y", json={"b": 1}).json() == {"b": 1}
    output = end()
    assert "provider calls: 0 replayed, 2 recorded, 0 missed (record)" in output
    assert "recordings: 2 files written" in output
    answering.stop()
    variables, said, end = by_hand("--setup", "local")
    with httpx.Client(trust_env=False, timeout=60) as http:
        assert http.post(variables["PROBE_URL"] + "/x", json={"a": 1}, headers=headers).json() == {"a": 1}
        assert http.post(variables["PROBE_URL"] + "/y", json={"b": 1}).json() == {"b": 1}
        address = said.split("edge ready at ")[1].split(",")[0]
        assert http.post(f"{address}/probe/x", json={"a": 1}, headers=headers).status_code == 424, "asked once more"
    assert "provider calls: 2 replayed, 0 recorded, 1 missed (replay)" in end()


@pytest.mark.parametrize("hands_on", ["X-Provider-Data", ""])
def test_at_the_edge_answers_are_observed_and_recordings_stay(project: Any, answering: Any, hands_on: str) -> None:
    stack = toy.write(project.root, answering.url, hands_on=hands_on)
    _ok(project.run("--stack-config", stack, *RECORD))
    files = _files(project)
    asked = len(answering.asked)
    output = _ok(project.run("--stack-config", stack, "--inference-mode", "verify"))
    assert "provider calls: 11 observed, 0 missed" in output
    assert len(answering.asked) == asked + 11
    assert {path.name for path in (project.cell_dir() / "observed").rglob("*.json")} == set(files)
    assert _files(project) == files


def test_at_the_edge_the_request_beyond_the_budget_never_leaves(project: Any, answering: Any) -> None:
    stack = toy.write(project.root, answering.url, hands_on="X-Provider-Data")
    options = ("--inference-mode", "verify", "--max-requests", "4")
    done = project.run("--stack-config", stack, *options, "--workers", "2")
    assert done.code == 7, done.output
    assert len(answering.asked) == 4
    assert "the budget of this run is used up: 4 of 4 requests" in done.output


def test_an_edge_by_hand_observes_within_its_budget(project: Any, answering: Any, by_hand: Any) -> None:
    toy.write(project.root, answering.url)
    verify = ("--setup", "local", "--inference-mode", "verify", "--max-requests", "2")
    variables, said, end = by_hand(*verify)
    assert "hands calls on and keeps what comes back in this run, recordings/local as it is" in said
    with httpx.Client(trust_env=False, timeout=60) as http:
        codes = [http.post(variables["PROBE_URL"] + "/x", json={"a": number}).status_code for number in range(3)]
    assert codes == [200, 200, 424]
    output = end()
    assert "provider calls: 2 observed, 0 missed (verify)" in output
    assert "budget: 2 of 2 requests, tokens unknown (2 answers did not say)" in output
    assert len(answering.asked) == 2
    assert not (project.root / "recordings").exists()


def test_a_port_that_is_taken_is_named(project: Any, answering: Any) -> None:
    toy.write(project.root, answering.url)
    done = project.run("--setup", "local", "--port", str(answering.port), program=("-m", "stackproof", "edge"))
    assert done.code == 5, done.output
    assert f"edge cannot have port {answering.port}" in done.output
    assert "Traceback" not in done.output
