"""What a test file looks at while it is imported: in the test's own process the setup's variables are there already."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Project

_NEEDS_A_KEY = """
import os
pytestmark = pytest.mark.skipif("PROBE_API_KEY" not in os.environ, reason="asks a real model")

def test_it(ask):
    assert ask("one").status_code == 200
"""
_SEES = """
import os

AT_IMPORT = sorted(name for name in os.environ if name in ("PROBE_API_KEY", "STACKPROOF_RECORDER"))

def test_nothing_of_the_suite_was_there():
    assert AT_IMPORT == []
"""

_LIBRARY = """
import os
import httpx2

def ask(say):
    with httpx2.Client(trust_env=False, verify=False, timeout=60) as client:
        return client.post(os.environ["PROBE_URL"] + "/answers", json={"say": say}).json()["text"]
"""


def without_the_key(project: Project, *arguments: str) -> str:
    """What pytest says where nobody has set the key, not even to nothing."""
    environment = project.environment("replay", "library")
    del environment["PROBE_API_KEY"]
    command = project.command(*arguments)
    ended = subprocess.run(
        command, cwd=project.root, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    return ended.stdout + ended.stderr


def test_tests_that_skip_without_a_key_replay_without_one(project: Project) -> None:
    project.test(_NEEDS_A_KEY)
    assert project.pytest("record").code == 0
    said = without_the_key(project)
    assert "provider calls: 1 replayed" in said
    assert "1 passed" in said


def test_files_of_other_tests_are_imported_without_the_variables_of_the_suite(project: Project) -> None:
    project.test(_NEEDS_A_KEY)
    assert project.pytest("record").code == 0
    for folder in ("unit", "work"):
        path = project.root / f"tests/{folder}/test_{folder}.py"
        path.parent.mkdir()
        path.write_text(_SEES)
    assert "3 passed" in without_the_key(project, "tests")


def test_a_plain_library_is_imported_from_where_its_description_says(project: Project) -> None:
    (project.root / "stacks/tiny/stack.yaml").write_text(
        'description: what its tests import\nmodes: [library]\npython_path: ["lib"]\n'
    )
    (project.root / "stacks/tiny/lib").mkdir()
    (project.root / "stacks/tiny/lib/plain_thing.py").write_text(_LIBRARY)
    project.test("import plain_thing\n\ndef test_it():\n    assert plain_thing.ask('one')\n")
    assert project.pytest("record").has("1 passed")
    assert project.pytest("replay").has("provider calls: 1 replayed")
    assert project.run("replay", stack="library").has("provider calls: 1 replayed", "PASS")
    (project.root / "tests/test_other.py").write_text(_SEES)
    assert "2 passed" in without_the_key(project, "tests")
