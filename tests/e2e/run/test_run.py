"""A run from the command line to its exit code: what is said, what is written, what is never green."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

REQUEST = """
import os, urllib.request

def test_the_stack_answers():
    url = os.environ["STACKPROOF_API_BASE_URL"] + "/anything"
    assert urllib.request.urlopen(url, timeout=60).status == 200
"""


def test_a_run_that_passes_says_so_and_leaves_its_evidence(project: Project) -> None:
    project.tests(REQUEST)
    done = project.run()
    assert done.code == 0, done.output
    assert "● toy ready in " in done.output
    assert "PASS  base × local × server:toy in " in done.output
    files = {path.name for path in project.cell_dir().iterdir()}
    assert {"cell.json", "outcome.json", "result.json", "junit.xml", "pytest.log", "stack.log", "tests.jsonl"} <= files
    assert {"plan.json", "manifest.json", "junit.xml"} <= {path.name for path in project.run_dir().iterdir()}
    assert (project.root / ".stackproof" / ".gitignore").read_text() == "*\n"
    assert not (project.run_dir() / "owner.json").exists()


def test_the_log_of_the_stack_starts_with_its_first_line_and_probes_name_the_run(project: Project) -> None:
    assert project.run().code == 0
    log = (project.cell_dir() / "stack.log").read_text().splitlines()
    assert log[0] == "starting"
    assert f"/health {project.run_dir().name}" in log


def test_a_failing_test_is_shown_with_the_command_that_runs_it_again(project: Project) -> None:
    project.tests("def test_sums():\n    assert 1 + 1 == 3\n")
    done = project.run("--setup", "local")
    assert done.code == 1, done.output
    assert "✗ tests/integration/base/test_it.py::test_sums" in done.output
    assert "assert (1 + 1) == 3" in done.output
    assert "FAIL  base × local × server:toy in " in done.output
    assert "again: stackproof run --setup local" in done.output


@pytest.mark.parametrize("talking", [(), ("--verbose",), ("--", "-s")], ids=["plain", "verbose", "uncaptured"])
def test_json_is_one_object_and_nothing_else(project: Project, talking: tuple[str, ...]) -> None:
    done = project.run("--json", *talking)
    facts = json.loads(done.output)
    assert facts["exit_code"] == 0
    (cell,) = facts["cells"]
    assert cell["id"] == "base-local-server-toy"
    assert cell["result"]["counts"]["passed"] == 1


@pytest.mark.parametrize(
    ("tests", "code", "said"),
    [
        ("import os\ndef test_one(): pass\ndef test_two(): os._exit(0)\n", 1, "::test_two: 1 of 2 tests have a result"),
        ("import os\ndef test_one(): os._exit(1)\n", 1, "without finishing, inside of"),
        ("import nothing_of_that_name\n", 1, "could not be collected"),
        ("", 3, "no test was collected"),
        ("import pytest\n@pytest.mark.skip(reason='later')\ndef test_one(): pass\n", 3, "nothing ran: 1 skipped"),
        ("import pytest\ndef test_one(): pytest.exit('enough', returncode=0)\n", 3, "no test has a result"),
        ("import os, signal\ndef test_one(): os.kill(os.getpid(), signal.SIGKILL)\n", 1, "was ended by SIGKILL"),
        ("import pytest\n@pytest.mark.xfail\ndef test_one(): assert 0\n", 7, "no test passed: 1 expected failure"),
        (
            "import os, shutil\ndef test_one(): shutil.rmtree(os.environ['STACKPROOF_RUN_DIR'])\n",
            7,
            "the log of its tests is missing",
        ),
    ],
)
def test_what_proves_nothing_is_never_green(project: Project, tests: str, code: int, said: str) -> None:
    project.tests(tests)
    done = project.run()
    assert done.code == code, done.output
    assert said in done.output
    assert "PASS" not in done.output


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_tests_that_are_only_set_up_are_none_that_passed(project: Project, option: str) -> None:
    project.environ["PYTEST_ADDOPTS"] = option
    done = project.run()
    assert done.code == 3, done.output
    assert "nothing ran: 1 skipped" in done.output


def test_a_conftest_that_does_not_import_is_named(project: Project) -> None:
    project.tests("import nothing_of_that_name\n", name="conftest.py")
    done = project.run()
    assert done.code == 2, done.output
    assert "pytest could not start (exit code 4)" in done.output
    assert "No module named 'nothing_of_that_name'" in done.output


def test_an_argument_that_pytest_does_not_know_is_a_usage_error(project: Project) -> None:
    done = project.run("--", "--no-such-option")
    assert done.code == 2, done.output
    assert "pytest could not start (exit code 4): its command line" in done.output
    assert "unrecognized arguments: --no-such-option" in done.output


def test_collect_only_lists_node_ids_and_starts_nothing(project: Project) -> None:
    project.stack("toy", before="raise SystemExit(9)")
    done = project.run("--collect-only")
    assert done.code == 0, done.output
    assert "tests/integration/base/test_it.py::test_passes" in done.output
    assert not (project.cell_dir() / "stack.log").exists()


def test_json_of_collect_only_is_one_object_with_the_node_ids(project: Project) -> None:
    done = project.run("--collect-only", "--json")
    (cell,) = json.loads(done.output)["cells"]
    assert cell["tests"] == ["tests/integration/base/test_it.py::test_passes"]
    assert cell["exit_code"] == 0


def test_a_suite_that_takes_too_long_is_stopped_and_named_and_writes_its_report(project: Project) -> None:
    # pytest starts and gets to the second test within the time, and the test itself does not end within that of `run`.
    project.tests("import time\ndef test_quick(): pass\ndef test_hangs(): time.sleep(900)\n")
    done = project.run("--suite-timeout", "15")
    assert done.code == 1, done.output
    assert "the suite took more than 15 s and was stopped inside of" in done.output
    assert "test_quick" in (project.cell_dir() / "junit.xml").read_text()


def test_a_test_that_takes_too_long_fails_alone(project: Project) -> None:
    project.tests("import time\ndef test_hangs(): time.sleep(900)\ndef test_quick(): pass\n")
    done = project.run("--timeout", "4")
    assert done.code == 1, done.output
    assert "Timeout (>4.0s)" in done.output
    assert "1 passed, 1 failed" in done.output


def test_the_post_command_runs_while_the_stack_is_up_and_its_failure_counts(project: Project) -> None:
    reach = "python3 -c 'import os, urllib.request as r;r.urlopen(os.environ[\"STACKPROOF_API_BASE_URL\"], timeout=60)'"
    assert project.run("--post-command", reach).code == 0
    done = project.run("--post-command", f"{reach}; echo not good; exit 3")
    assert done.code == 1, done.output
    assert "the post-command exited with code 3" in done.output
    assert "not good" in done.output


def test_a_secret_given_on_the_command_line_reaches_the_tests_unchanged_and_no_file(project: Project) -> None:
    project.tests("import os\ndef test_value(): assert len(os.environ['TOOL_API_KEY'].split()) == 2\n")
    done = project.run("--env", 'TOOL_API_KEY=open sesame"$x')
    assert done.code == 0, done.output
    written = [path for path in project.run_dir().rglob("*") if path.is_file()]
    assert [path for path in written if b"sesame" in path.read_bytes()] == []
    assert "sesame" not in done.output


def test_a_stack_that_dies_under_the_tests_is_named_though_they_pass(project: Project) -> None:
    # It ends when it is asked a second time, the first having been whether it is ready.
    project.stack("toy", before="Handler.log_message = lambda self, *_: self.path == '/end' and os._exit(7)")
    project.tests(
        "import contextlib, os, urllib.request\n"
        "def test_patient():\n"
        "    with contextlib.suppress(OSError):\n"
        "        urllib.request.urlopen(os.environ['STACKPROOF_API_BASE_URL'] + '/end', timeout=60)\n"
    )
    done = project.run()
    assert done.code == 1, done.output
    assert "toy exited with code 7 while the tests ran" in done.output


def test_only_the_last_twenty_runs_are_kept(project: Project) -> None:
    runs = project.root / ".stackproof" / "runs"
    for number in range(25):
        (runs / f"old{number:03}").mkdir(parents=True)
    assert project.run().code == 0
    assert len(list(runs.iterdir())) == 20
    assert project.run_dir().exists()


def test_a_replay_is_sealed_where_the_machine_permits_and_says_so(project: Project) -> None:
    project.tests(
        "import socket, subprocess, sys\n"
        "def test_no_way_out():\n"
        "    code = \"import socket; socket.create_connection(('192.0.2.1', 9), timeout=30)\"\n"
        "    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
        "    assert 'unreachable' in done.stderr\n"
    )
    done = project.run("--seal", "require")
    if done.code == 7:
        pytest.skip("this machine permits no network namespaces")
    assert done.code == 0, done.output
    assert "sealed (network namespace)" in done.output
    assert project.outcome()["sealed"] == "namespace"
    unsealed = project.run("--seal", "never", "--file", "tests/integration/base/test_it.py::test_no_way_out")
    assert project.outcome()["sealed"] != "namespace"
    assert "sealed (network namespace)" not in unsealed.output


def test_two_runs_at_once_share_nothing(project: Project) -> None:
    project.tests(REQUEST)
    first, second = project.start(), project.start()
    outputs = [project.finish(first), project.finish(second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert len(list((project.root / ".stackproof" / "runs").iterdir())) == 2


def test_workers_share_the_stack_and_the_count(project: Project) -> None:
    project.tests(REQUEST + "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_n(n): pass\n")
    done = project.run("-n", "2")
    assert done.code == 0, done.output
    assert "base 7/7  7 passed" in done.output


def test_several_stacks_are_cells_of_one_run_and_one_report(project: Project) -> None:
    other = project.stack("other")
    done = project.run("--stack-config", f"server:toy,{other}")
    assert done.code == 0, done.output
    assert done.output.count("PASS  ") == 2
    report = (project.run_dir() / "junit.xml").read_text()
    assert 'name="base-local-server-toy"' in report
    assert 'name="base-local-server-other"' in report


def test_a_stack_that_does_not_start_ends_the_run_before_the_next_cell(project: Project) -> None:
    project.stack("broken", before="sys.exit(3)")
    done = project.run("--stack-config", "server:broken,server:toy")
    assert done.code == 5, done.output
    assert "● toy ready" not in done.output


def test_node_ids_are_relative_to_the_project_whatever_lies_above_it(project: Project) -> None:
    (project.root / "tests" / "pytest.ini").write_text("[pytest]\n")
    done = project.run("--collect-only")
    assert "tests/integration/base/test_it.py::test_passes" in done.output
