"""A provider that repeats the key that it does not take: no file of the run shows it, no terminal and no report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from tests.e2e.live.bad_provider import BadProvider, Manner, bad_provider

from stackproof.recorder import redact

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Ended, Project

KEY = "made-up/by+a-test"  # of no known shape
OTHER = "found-out-elsewhere"  # of a variable that no setup names
SHAPED = "sk-proj-0123456789abcdefghij"
BEARER = "Bearer 0123456789abcdefghijklm"
TESTS = f"""
import base64, logging, warnings
from urllib.parse import quote


@pytest.fixture
def told(ask, record_property, request):
    text = ask(request.node.name).text
    assert "Incorrect API key provided" in text
    record_property("answer", text)
    print(text)
    logging.getLogger("probe").warning("the provider said %s", text)
    yield text
    if request.node.name == "test_teardown":
        raise RuntimeError(text)


def test_compares(told):
    assert told == "fine", told


def test_chain(told):
    try:
        raise ValueError(told)
    except ValueError as error:
        raise KeyError(quote(told, safe="")) from error


def test_shapes():
    raise RuntimeError("{SHAPED}, Authorization: {BEARER}, {OTHER}")


def test_encoded(told):
    pytest.fail(base64.b64encode(told.encode()).decode(), pytrace=False)


def test_teardown(told):
    pass


def test_skips(told):
    pytest.skip(told)


def test_xfails(told):
    pytest.xfail(told)


def test_warns(told):
    warnings.warn(told)
"""
RUNNER = """
import json, os, sys, urllib.error, urllib.request
from xml.sax.saxutils import escape, quoteattr

name = "one > two"
scope = f"{os.environ['STACKPROOF_TEST_FOLDER']}/a::{name}"
request = urllib.request.Request(
    os.environ["STACKPROOF_API_BASE_URL"] + "/v1/ask",
    json.dumps({"say": "one"}).encode(),
    {"content-type": "application/json", os.environ["STACKPROOF_ID_HEADER"]: json.dumps({"__test_id": scope})},
)
try:
    text = urllib.request.urlopen(request).read().decode()
except urllib.error.HTTPError as error:
    text = error.read().decode()
print(text)
with open(sys.argv[1], "w") as report:
    report.write(
        f'<testsuite name="a"><testcase classname="a" name={quoteattr(name)}><failure message={quoteattr(text)}>'
        f"{escape(text)}</failure><system-out>{escape(text)}</system-out></testcase></testsuite>"
    )
sys.exit(1)
"""
SUITES = """
root: tests/integration
suites:
  base:
    description: Tests of another runner
    roots: [tests/integration/other]
    default_setup: probe
    runner: {name: other, folder: tests/integration/other, command: [PYTHON, run.py, "{junit}"]}
"""


@pytest.fixture(name="echo", scope="module")
def _echo() -> Iterator[BadProvider]:
    with bad_provider(Manner.UNAUTHORIZED_WHOLE) as provider:
        yield provider


@pytest.fixture(name="echoed")
def _echoed(project: Project) -> Project:
    project.test(TESTS)
    app = project.root / "stacks/tiny/tiny_app.py"
    text = app.read_text()
    line = '        answer = await http.post(url() + "/answers", json=body)\n'
    assert text.count(line) == 2
    app.write_text(text.replace(line, f"{line}        print(answer.text, flush=True)\n"))
    return project


def variables(echo: BadProvider) -> dict[str, str]:
    return {"PROBE_URL": echo.url, "PROBE_API_KEY": KEY, "SOME_ACCESS_TOKEN": OTHER, "COLUMNS": "200"}


def nothing_shows(project: Project, ended: Ended) -> None:
    """In any dress, anywhere; and what was said besides is there."""
    kept = [path for path in project.root.rglob("*") if path.is_file() and ".stackproof" in path.parts]
    assert kept
    for secret in (KEY, OTHER, SHAPED, BEARER.split()[1]):
        for form in (secret, quote(secret, safe="")):
            assert form not in ended.out, secret
            assert [path.name for path in kept if form.encode() in path.read_bytes()] == []
    for text in (ended.out, *(path.read_bytes().decode("latin-1") for path in kept)):
        assert redact.find(text, {"A": KEY, "B": OTHER}) is None  # in base64
    assert (project.root / "recordings").exists() is False


@pytest.mark.parametrize(
    ("mode", "stack", "options"),
    [
        ("record", "library", ()),
        ("verify", "server", ()),
        ("record-if-missing", "server", ("--json",)),
        ("live", "library", ("--verbose", "--", "-rA")),
        ("record", "library", ("--", "-s", "--log-cli-level=INFO", "--showlocals")),
    ],
)
def test_no_run_shows_a_key_that_a_provider_repeats(
    echoed: Project, echo: BadProvider, mode: str, stack: str, options: tuple[str, ...]
) -> None:
    ended = echoed.run(mode, *options, stack=stack, **variables(echo))
    assert ended.code == 1, ended.out
    (cell,) = echoed.root.glob(".stackproof/runs/*/cells/*")
    tests = (cell / "tests.jsonl").read_text()
    assert tests.count("Incorrect API key provided: ***") >= 5
    assert "Authorization: ***, ***" in tests
    assert '"skipped"' in tests
    assert '"xfailed"' in tests
    report = (cell / "junit.xml").read_text()
    assert report.count("Incorrect API key provided: ***") > 8
    if stack == "server":
        assert "Incorrect API key provided: ***" in (cell / "stack.log").read_text()
    if "--json" not in options:
        assert "Incorrect API key provided: ***" in ended.out
    nothing_shows(echoed, ended)


@pytest.mark.parametrize("options", [(), ("--verbose",)])
def test_nor_where_another_runner_reports_it(echoed: Project, echo: BadProvider, options: tuple[str, ...]) -> None:
    folder = echoed.root / "tests/integration/other"
    folder.mkdir()
    (folder / "run.py").write_text(RUNNER)
    (echoed.root / "tests/suites.yaml").write_text(SUITES.replace("PYTHON", sys.executable))
    ended = echoed.run("record", *options, stack="server", **variables(echo))
    assert ended.code == 1, ended.out
    (cell,) = echoed.root.glob(".stackproof/runs/*/cells/*")
    for name in ("junit.xml", "tests.log", "stack.log", "tests.jsonl"):
        assert "Incorrect API key provided: ***" in (cell / name).read_text(), name
    assert "Incorrect API key provided: ***" in ended.out
    nothing_shows(echoed, ended)


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_nor_where_pytest_is_called_alone(echoed: Project, echo: BadProvider, options: tuple[str, ...]) -> None:
    given = ("tests/integration", "--junitxml=kept.xml", *options)
    ended = echoed.pytest("record", *given, stack="server", **variables(echo))
    assert ended.code == 1, ended.out
    assert KEY not in (echoed.root / "kept.xml").read_text()
    assert "Incorrect API key provided: ***" in ended.out
    nothing_shows(echoed, ended)
