"""With --strict, a shard fails for what nobody used where it can know that, and names the rest for all shards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

TESTS = """
@pytest.fixture(scope="module")
def used(ask):
    names = []
    yield names
    for name in names:
        ask(f"the end of {name}")

def test_a(ask, used):
    used.append("a")
    ask("a")
    ask("a, too")

def test_b(ask, used):
    used.append("b")
    ask("b")
"""


def calls(project: Project) -> dict[str, Any]:
    events = map(json.loads, (project.cell / "tests.jsonl").read_text().splitlines())
    facts: dict[str, Any] = [event for event in events if event["event"] == "calls"][-1]
    return facts


def test_what_a_fixture_of_several_shards_has_left_is_named_and_fails_none_of_them(
    project: Project, probe: Probe
) -> None:
    project.test(TESTS)
    recorded = project.run("record", stack="library")
    assert recorded.code == 0, recorded.out
    assert len(project.files()) == 5
    undecided = set()
    for shard in ("1/2", "2/2"):
        ended = project.run("replay", "--strict", "--shard", shard, stack="library")
        assert ended.code == 0, ended.out
        facts = calls(project)
        assert facts["unused"] == 0
        undecided |= set(facts["undecided_files"])
    # Each of them is used in the other shard.
    ends = [
        path.relative_to(project.root / "recordings") for path in project.files() if "the end of" in path.read_text()
    ]
    assert undecided == {path.as_posix() for path in ends}
    assert len(ends) == 2


def test_what_a_test_of_the_shard_has_left_fails_it_and_only_it(project: Project, probe: Probe) -> None:
    project.test(TESTS)
    assert project.run("record", stack="library").code == 0
    project.test(TESTS.replace('    ask("a, too")\n', ""))
    ended = {shard: project.run("replay", "--strict", "--shard", shard, stack="library") for shard in ("1/2", "2/2")}
    assert sorted(each.code for each in ended.values()) == [0, 6], [each.out for each in ended.values()]
    (failed,) = [each for each in ended.values() if each.code]
    assert "1 recording of tests that passed was not used (--strict)" in failed.out
    assert "test_a" not in "".join(each.out for each in ended.values() if not each.code)
