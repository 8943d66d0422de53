"""What is looked at of pytest, its plugins and what is installed."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.doctor.looking_words import Make, fine, ids_of, installed, wrong

from stackproof.doctor import (
    of_bypass,
    of_conflicts,
    of_keys,
    of_pytest,
    of_recordings,
    of_release,
    of_runs,
    shown,
    system,
)
from stackproof.doctor.checks import BY_NAME
from stackproof.doctor.examine import examine
from stackproof.doctor.finding import Level
from stackproof.doctor.place import Place

_TEST = "tests/integration/test_it.py"


_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


# pytest and other tools.


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts = -p no:stackproof\n"),
        (".pytest.ini", "[pytest]\naddopts =\n    -q\n    -pno:stackproof\n"),
        ("pytest.toml", '[pytest]\naddopts = ["-p", "no:stackproof"]\n'),
        ("tox.ini", "[pytest]\naddopts = -p no:stackproof\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = -p no:stackproof\n"),
        (
            "pyproject.toml",
            '[tool.stackproof]\nstack_config = "server:desk"\n[tool.pytest.ini_options]\naddopts = "-pno:stackproof"\n',
        ),
        (
            "pyproject.toml",
            '[tool.stackproof]\nstack_config = "server:desk"\n[tool.pytest]\naddopts = ["-pno:stackproof"]\n',
        ),
    ],
)
def test_what_is_always_given_to_pytest_is_read_from_each_of_its_files(make: Make, name: str, text: str) -> None:
    place = make({name: text})
    assert place.pytest_config.file == name
    assert "pytest.plugin-off" in ids_of(of_pytest, place)


def test_only_the_first_file_of_pytest_counts(make: Make) -> None:
    place = make({"pytest.ini": "", "tox.ini": "[pytest]\naddopts = --lf\n"})
    assert "pytest.leaves-out" not in ids_of(of_pytest, place)


def test_the_variable_of_pytest_is_read_and_a_broken_file_is_said(make: Make) -> None:
    assert "pytest.leaves-out" in ids_of(of_pytest, make(environ={"PYTEST_ADDOPTS": "--lf"}))
    assert "pytest.config" in ids_of(of_pytest, make({"pytest.ini": "addopts = -q\n"}))
    assert "pytest.config" in ids_of(of_pytest, make(environ={"PYTEST_ADDOPTS": "-k 'never closed"}))


def test_a_conftest_that_names_our_plugin_is_an_obstacle(make: Make) -> None:
    place = make({"tests/conftest.py": 'pytest_plugins = ["stackproof.pytest_plugin"]\n'})
    (found,) = [each for each in wrong(of_pytest, place) if each.id == "pytest.plugin-twice"]
    assert "is named in tests/conftest.py" in found.says


@pytest.mark.parametrize(
    ("files", "tool"),
    [
        ({"tests/conftest.py": "import vcr\n"}, "vcrpy"),
        ({_TEST: "import respx\n"}, "respx"),
        ({_TEST: "def test_a(httpx_mock): ...\n"}, "pytest-httpx"),
        ({_TEST: "import pytest\n\n@pytest.mark.vcr\ndef test_a(): ...\n"}, "pytest-recording"),
        ({"conftest.py": "from aioresponses import aioresponses\n"}, "aioresponses"),
        ({_TEST: "import requests_mock as rm\n"}, "requests-mock"),
        ({_TEST: "import os, responses\n"}, "responses"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_tool_that_answers_calls_is_found_where_it_is_used(make: Make, files: dict[str, str], tool: str) -> None:
    assert [(each.id, each.subject) for each in wrong(of_conflicts, make(files))] == [("conflicts.transport", tool)]


@pytest.mark.parametrize(
    "files",
    [
        {"tests/unit/test_a.py": "import respx\n"},
        {_TEST: '"""Was written with\nimport respx\nonce."""\n'},
        {"tests/unit/conftest.py": "import vcr\n"},
    ],
    ids=["other tests", "prose", "conftest beside"],
)
def test_a_tool_in_tests_outside_of_the_suites_is_nobodys_business(make: Make, files: dict[str, str]) -> None:
    assert ids_of(of_conflicts, make(files)) == set()


def test_blocked_sockets_are_an_obstacle_to_a_server(make: Make, tmp_path: Path) -> None:
    path = installed(tmp_path / "lib", "pytest_socket-0.8.1")
    blocked = {"pytest.ini": "[pytest]\naddopts = --disable-socket\n"}
    assert [each.level for each in wrong(of_conflicts, make(blocked, path=path))] == [Level.MISSING]
    excepted = {"pytest.ini": "[pytest]\naddopts = --disable-socket --allow-hosts=127.0.0.1\n"}
    assert [each.level for each in wrong(of_conflicts, make(excepted, path=path))] == [Level.ODD]


def test_options_of_another_recorder_are_found_with_and_without_a_value(make: Make) -> None:
    for option in ("--record-mode=none", "--block-network", "--record-mode none"):
        assert ids_of(of_conflicts, make({"pytest.ini": f"[pytest]\naddopts = {option}\n"})) == {"conflicts.network"}
    assert "pytest.workers" in ids_of(of_pytest, make({"pytest.ini": "[pytest]\naddopts = --numprocesses=4\n"}))


def test_a_fixture_of_our_name_is_named_with_its_line(make: Make) -> None:
    text = "import pytest\n\n@pytest.fixture(scope='session')\ndef openai_client(): ...\n\ndef stack(): ...\n"
    (found,) = wrong(of_conflicts, make({"tests/conftest.py": text}))
    assert (found.subject, found.says.split(",")[0]) == ("fixture openai_client", "is defined in tests/conftest.py:4")


@pytest.mark.parametrize(
    ("text", "client"),
    [
        ("import grpc\n", "grpc"),
        ("from google.cloud import aiplatform\n", "vertexai"),
        ("import google.generativeai as genai\n", "google-generativeai"),
        ("from urllib.request import urlopen\nurlopen('http://a')\n", "urllib.request"),
        ("import json, pycurl\n", "pycurl"),
        ("async def a():\n    import websockets\n", "websockets"),
        ("from curl_cffi import requests\n", "curl_cffi"),
        ("import tritonclient.grpc\n", "tritonclient"),
        ("import primp\n", "primp"),
    ],
)
def test_a_client_past_the_recorder_is_found_where_it_is_imported(make: Make, text: str, client: str) -> None:
    (found,) = wrong(of_bypass, make({"desk/app.py": text}))
    assert (found.id, found.subject) == ("bypass.import", client)
    assert "desk/app.py:" in found.says


@pytest.mark.parametrize(
    "files",
    [
        {"tests/unit/test_a.py": "import grpc\n"},
        {"venv/pyvenv.cfg": "", "venv/lib/a.py": "import grpc\n"},
        {"desk/app.py": "from urllib.request import getproxies\n"},
        {"desk/app.py": "import grpcio_tools_of_ours\nfrom google import genai\n"},
        {"node_modules/a.py": "import grpc\n"},
        {"desk/broken.py": "import grpc\ndef (:\n"},
    ],
    ids=["other tests", "environment", "no call", "other names", "node", "no Python"],
)
def test_what_only_looks_like_one_is_not_told(make: Make, files: dict[str, str]) -> None:
    assert ids_of(of_bypass, make(files)) == set()


def test_a_socket_opened_through_an_sdk_is_found(make: Make) -> None:
    text = "async with client.beta.realtime.connect(model='m') as c: ...\n"
    (found,) = wrong(of_bypass, make({"desk/voice.py": text}))
    assert (found.id, found.subject) == ("bypass.realtime", "OpenAI's realtime")


# Keys.


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (None, of_keys.State.UNSET),
        ("", of_keys.State.UNSET),
        (" \t", of_keys.State.BLANK),
        ("changeme", of_keys.State.PLACEHOLDER),
        ("your-api-key-here", of_keys.State.PLACEHOLDER),
        ("<your key>", of_keys.State.PLACEHOLDER),
        ("sk-xxxxxxxx", of_keys.State.PLACEHOLDER),
        ("sk-...", of_keys.State.PLACEHOLDER),
        ("${OPENAI_API_KEY}", of_keys.State.PLACEHOLDER),
        ("'YOUR_KEY'", of_keys.State.PLACEHOLDER),
        ("sk-proj-Ab3dEf6hIj9kLm2n ", of_keys.State.WRAPPED),
        ('"sk-proj-Ab3dEf6hIj9kLm2n"', of_keys.State.WRAPPED),
        ("sk-proj-Ab3dEf6hIj9kLm2n", of_keys.State.SET),
        ("mykey7Gh4", of_keys.State.SET),
    ],
)
def test_what_may_be_told_of_a_key(value: str | None, state: of_keys.State) -> None:
    assert of_keys.state_of(value) is state


def test_keys_are_told_by_name_and_a_file_that_has_one_is_named(make: Make) -> None:
    secret = "sk-proj-Ab3dEf6hIj9kLm2n"
    place = make({".env": f"OTHER=1\nexport LLM_KEY={secret}\n"})
    (found,) = wrong(of_keys, place)
    assert (found.id, found.subject) == ("keys.in-file", "LLM_KEY")
    assert secret not in repr(of_keys.look(place))
    set_here = make(environ={"LLM_KEY": secret})
    assert fine(of_keys, set_here) == "setup local records with LLM_KEY, which is set"
    assert secret not in repr(of_keys.look(set_here))
    assert str(len(secret)) not in repr(of_keys.look(set_here))


# Recordings.


def test_recordings_are_counted_and_what_is_none_is_named(make: Make) -> None:
    place = make(
        {
            "recordings/local/a.json": "{ no json",
            "recordings/local/deep/b.json": _POINTER,
            "recordings/locul/c.json": _POINTER,
        }
    )
    facts = of_recordings.look(place)
    assert (facts.total, facts.damaged) == (3, ("local/a.json",))
    assert set(facts.pointers) == {"local/deep/b.json", "locul/c.json"}
    assert facts.unknown == (("locul", ", did you mean 'local'?"),)
    assert (facts.ignored, facts.changed) == (None, None)


def test_a_replay_without_a_recording_gets_the_command_that_records(make: Make) -> None:
    (found,) = wrong(of_recordings, make())
    assert (found.id, found.level) == ("recordings.none", Level.MISSING)
    assert "`stackproof run --setup local --inference-mode record`" in (found.remedy or "")
    assert ids_of(of_recordings, make(environ={"STACKPROOF_INFERENCE_MODE": "record"})) == set()


def test_a_setup_that_calls_nobody_needs_no_recordings(make: Make) -> None:
    assert ids_of(of_recordings, make({"stacks/setups.yaml": "local: {description: d, env: {}}\n"})) == set()


def test_git_says_which_are_ignored_and_which_are_not_committed(make: Make) -> None:
    place = make({".gitignore": "recordings/local/ignored\n", "recordings/local/a.json": _POINTER}, git=True)
    assert of_recordings.look(place).changed == ()
    (place.project / "recordings/local/a.json").write_text("{}")
    (place.project / "recordings/local/b.json").write_text("{}")
    (place.project / "recordings/local/ignored").mkdir()
    (place.project / "recordings/local/ignored/c.json").write_text("{}")
    before = _state_of_git(place.project)
    facts = of_recordings.look(place)
    assert facts.changed == ("recordings/local/a.json", "recordings/local/b.json")
    assert facts.ignored == ("recordings/local/ignored/",)
    assert _state_of_git(place.project) == before


def _state_of_git(project: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in (project / ".git").rglob("*")}


# Runs.


def _dead() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait(timeout=60)
    return done.pid


def test_runs_that_were_killed_are_told_from_those_of_elsewhere(make: Make) -> None:
    owner = '{{"host": "{host}", "pid": {pid}, "started": 1}}'
    here, dead = socket.gethostname(), _dead()
    runs = ".stackproof/runs/"
    place = make(
        {
            f"{runs}aaaaaa/owner.json": owner.format(host=here, pid=dead),
            f"{runs}bbbbbb/owner.json": owner.format(host=here, pid=dead),
            f"{runs}bbbbbb/cells/c/staged/x/a.json": "{}",
            f"{runs}cccccc/owner.json": owner.format(host="another", pid=1),
            f"{runs}dddddd/plan.json": "{}",
            ".stackproof/internal-error-20260101T000000-1.txt": "x",
        }
    )
    facts = of_runs.look(place)
    assert (facts.number, facts.killed, facts.unpromoted) == (4, ("aaaaaa", "bbbbbb"), ("bbbbbb",))
    assert (facts.elsewhere, facts.going, len(facts.reports)) == (("cccccc",), (), 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a lock")
def test_a_lock_that_a_process_holds_is_told_and_another_is_not(make: Make) -> None:
    place = make()
    cache = place.home / ".cache" / "stackproof" / "wheels"
    for name in ("held", "free"):
        (cache / name).mkdir(parents=True)
        (cache / name / "lock").write_text("")
    place = Place(environ={"HOME": str(place.home)}, project=place.project, home=place.home, path=(), now=place.now)
    with (cache / "held" / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert of_runs.look(place).locked == (("~/.cache/stackproof/wheels/held/lock", os.getpid()),)
    assert of_runs.look(place).locked == ()


# The release.


_POLICY = "version: 1\ncells:\n  - {suite: base, setup: local, stack: 'server:desk'}\n"


def test_expected_tests_that_are_in_no_file_are_named(make: Make) -> None:
    ids = [f"{_TEST}::test_one", f"{_TEST}::test_gone[a]", "tests/integration/test_gone.py::test_one"]
    listed = ", ".join(f'"{name}"' for name in ids)
    expected = f'{{"schema": 1, "cell": "base-local-server-desk", "nodeids": [{listed}], "skips": {{}}, "xfails": []}}'
    place = make({"ci/release.yaml": _POLICY, "ci/expected/base-local-server-desk.json": expected})
    facts = of_release.look(place)
    assert facts.error is None
    assert facts.gone == tuple(sorted(ids[1:]))
    assert ids_of(of_release, place) == {"release.expected", "release.workflow"}


def test_a_cell_without_expected_tests_is_named_and_a_broken_policy_too(make: Make) -> None:
    assert "release.unexpected" in ids_of(of_release, make({"ci/release.yaml": _POLICY}))
    assert "release.policy" in ids_of(of_release, make({"ci/release.yaml": "version: 1\ncels: []\n"}))


@pytest.mark.parametrize(
    ("name", "text", "runs"),
    [
        (".github/workflows/a.yml", "run: stackproof run\n", True),
        (".github/workflows/a.yaml", "run: nox -s integration\n", True),
        (".gitlab-ci.yml", "script: [stackproof verify-release]\n", True),
        (".github/workflows/a.yml", "run: pytest\n", False),
    ],
)
def test_a_workflow_that_runs_us_is_recognised(make: Make, name: str, text: str, runs: bool) -> None:
    assert ("release.workflow" in ids_of(of_release, make({name: text}))) is not runs


def test_the_address_of_a_provider_that_is_set_is_told_by_name(make: Make) -> None:
    said = fine(of_keys, make(environ={"LLM_URL": "http://somebody:pa55word@gateway.example/v1"}))
    assert "LLM_URL is set here, and wins over setup local" in said
    assert "gateway" not in said


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(make: Make) -> None:
    place = make()
    os.mkfifo(place.project / ".env")
    os.mkfifo(place.project / "desk.py")
    assert ids_of(of_keys, place) == set()
    assert ids_of(of_bypass, place) == set()


@pytest.mark.parametrize(
    ("kind", "release", "words"),
    [
        ("Linux", "5.15.153.1-microsoft-standard-WSL2", "WSL 2"),
        ("Linux", "4.4.0-19041-Microsoft", "WSL 1"),
        ("Linux", "6.1.0-28-amd64", None),
        ("Darwin", "24.1.0", "macOS 15.1"),
    ],
)
def test_the_system_is_told_in_words_of_its_people(
    monkeypatch: pytest.MonkeyPatch, kind: str, release: str, words: str | None
) -> None:
    monkeypatch.setattr("platform.system", lambda: kind)
    monkeypatch.setattr("platform.release", lambda: release)
    monkeypatch.setattr("platform.mac_ver", lambda: ("15.1", ("", "", ""), "arm64"))
    found = system.describe()
    assert found.kernel == release
    if words is None:
        assert found.wsl is None
    else:
        assert words in found.words


def test_names_of_files_cannot_speak_to_a_terminal(make: Make) -> None:
    place = make({"recordings/\x1b[31mlocal/a.json": "{"})
    found = examine((BY_NAME["recordings"],), place)
    text = "\n".join(line for _, line in shown.lines(found, width=80))
    assert "\x1b" not in text
    assert "\\x1b[31mlocal" in text
