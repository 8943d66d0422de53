"""The checks together: deadlines, failures of their own, exit codes, and how it all is shown."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor import of_keys, shown, sources
from stackproof.doctor.checks import BY_NAME, CHECKS, Check
from stackproof.doctor.examine import Examination, Examined, examine
from stackproof.doctor.finding import Finding, Level, missing, odd, ok
from stackproof.doctor.place import Place
from stackproof.errors import ExitCode, UsageError

Make = Callable[..., Place]


@dataclass(frozen=True, kw_only=True, slots=True)
class Given(Check):
    """A check that does what it is told."""

    does: Callable[[], tuple[Finding, ...]] = tuple

    def run(self, place: Place) -> tuple[Finding, ...]:
        return self.does()


def _check(does: Callable[[], tuple[Finding, ...]], name: str = "docker", deadline: float = 60.0) -> Given:
    return Given(name=name, asks="the engine", does=does, deadline=deadline)


def test_a_check_that_does_not_end_is_a_finding_and_the_others_are_there(make: Make) -> None:
    forever = threading.Event()

    def waits() -> tuple[Finding, ...]:
        forever.wait(300)
        return ()

    hangs = _check(waits, deadline=0.2)
    fine = _check(lambda: (ok("python.version", "Python", "is fine"),), name="python")
    began = time.monotonic()
    found = examine((hangs, fine), make())
    forever.set()
    assert time.monotonic() - began < 60
    assert [each.id for each in found.findings] == ["docker.late", "python.version"]
    assert found.findings[0].level is Level.ODD
    assert found.findings[0].remedy == "is something it asks for hanging? once more: stackproof doctor --only docker"


def test_a_check_that_fails_is_a_finding_without_the_words_of_its_error(make: Make) -> None:
    def fails() -> tuple[Finding, ...]:
        raise ValueError("sk-proj-Ab3dEf6hIj9kLm2n")

    def refuses() -> tuple[Finding, ...]:
        raise UsageError("a.yaml:3: no", hint="correct it")

    failed, refused = examine((_check(fails), _check(refuses, name="project")), make()).findings
    assert (failed.id, failed.level) == ("docker.failed", Level.ODD)
    assert "(ValueError at " in failed.says
    assert "test_examining:" in failed.says
    assert "sk-proj" not in repr(failed)
    assert (refused.id, refused.says, refused.remedy) == ("project.failed", "a.yaml:3: no", "correct it")


def test_checks_of_a_project_are_left_out_outside_of_one(make: Make, tmp_path: Path) -> None:
    place = make()
    outside = Place(environ={}, project=tmp_path, home=tmp_path, path=(), now=place.now)
    (tmp_path / "home" / "desk").rename(tmp_path / "elsewhere")
    names = {each.check.name for each in examine((BY_NAME["keys"], BY_NAME["project"]), outside).checks}
    assert names == {"project"}


def test_the_exit_code_is_that_of_what_stands_in_the_way() -> None:
    strange = odd("runs.killed", "run a", "was killed", "nothing")
    assert _of(strange).exit_code is ExitCode.PASS
    assert _of(strange, missing("recordings.none", "setup a", "has none", "record")).exit_code is ExitCode.NOT_PROVEN


def _of(*findings: Finding) -> Examination:
    by_check: dict[str, list[Finding]] = {}
    for finding in findings:
        by_check.setdefault(finding.check, []).append(finding)
    checks = [Examined(check=BY_NAME[name], findings=tuple(items), seconds=0.5) for name, items in by_check.items()]
    return Examination(checks=tuple(checks))


def test_an_engine_that_is_not_there_is_in_the_way_of_a_run_that_needs_it_alone(make: Make) -> None:
    environ = {"DOCKER_HOST": "unix:///not/there.sock"}
    in_containers = {
        "stacks/desk/stack.yaml": "description: d\nmodes: [docker]\ndocker: {image: 'desk:1'}\n",
        "pyproject.toml": '[tool.stackproof]\nstack_config = "docker:desk"\n',
    }
    (needed,) = examine((BY_NAME["docker"],), make(in_containers, environ=environ)).findings
    assert (needed.level, needed.id) == (Level.MISSING, "docker.engine")
    assert "there is no such socket; a plain run needs it for base × local × docker:desk" in needed.says


def test_a_context_that_nobody_has_made_is_told(make: Make) -> None:
    (found,) = examine(
        (BY_NAME["docker"],), make(environ={"DOCKER_CONTEXT": "farm", "DOCKER_CONFIG": "/not/there"})
    ).findings
    assert found.says.startswith("there is no Docker context 'farm' (DOCKER_CONTEXT)")
    assert "docker context ls" in (found.remedy or "")


def test_lines_fit_80_columns_and_commands_stay_whole() -> None:
    long = (
        "a sentence of many words that goes on and on for longer than any terminal is wide, and says what is the matter"
    )
    command = "stackproof run --setup local --inference-mode record"
    found = _of(
        ok("python.version", "Python 3.12.4", "is fine"),
        odd("runs.killed", "run a", long, f"one thing, and then another thing, and `{command}`, which is a command"),
    )
    lines = [line for _, line in shown.lines(found, width=80)]
    assert max(len(line) for line in lines) <= 80
    assert any(f"`{command}`" in line for line in lines)
    assert lines[0] == "✓ python      Python 3.12.4 is fine"
    assert lines[-1] == "nothing stands in the way of a replay; 1 thing is odd"


def test_a_path_is_never_cut() -> None:
    path = "tests/integration/a-test-with-a-long-name/test_it.py:17"
    for before in range(60):
        found = _of(odd("runs.killed", "run a", f"{'x' * before} {path}", "nothing"))
        assert any(path in line for _, line in shown.lines(found, width=80)), before


def test_what_is_in_order_is_one_entry_and_what_is_not_has_one_each() -> None:
    found = _of(
        ok("keys.none", "setup a", "needs no key"),
        ok("keys.replay", "a replay", "needs no key"),
        odd("keys.value", "A", "is blank", "set it"),
        missing("recordings.none", "setup b", "has none", "record"),
    )
    assert [(level, line) for level, line in shown.lines(found, width=80)][:5] == [
        (Level.OK, "✓ keys        setup a needs no key; a replay needs no key"),
        (Level.ODD, "! keys        A is blank"),
        (None, "              → set it"),
        (Level.MISSING, "✗ recordings  setup b has none"),
        (None, "              → record"),
    ]
    assert shown.summary(found) == "1 thing stands in the way of a replay; 1 thing is odd"


def test_json_has_every_finding_with_its_id() -> None:
    found = _of(ok("keys.none", "setup a", "needs no key"), missing("recordings.none", "setup b", "has none", "record"))
    facts = json.loads(json.dumps(shown.as_json(found, project="~/desk", is_project=True)))
    assert (facts["schema"], facts["kind"], facts["exit_code"]) == (1, "doctor", 7)
    assert facts["counts"] == {"ok": 1, "odd": 0, "missing": 1}
    assert facts["findings"][1] == {
        "id": "recordings.none",
        "check": "recordings",
        "level": "missing",
        "subject": "setup b",
        "says": "has none",
        "remedy": "record",
    }
    assert shown.as_json(found, project="/elsewhere", is_project=False)["project"] is None


def test_a_project_of_many_files_is_read_for_as_long_as_there_is_time(make: Make) -> None:
    place = make({f"desk/m{number}.py": "import grpc\n" for number in range(30)})
    assert sources.read(place.project, limit=10).whole is False
    assert len(sources.read(place.project, limit=10).files) == 10
    assert sources.read(place.project, seconds=0).whole is False
    assert sources.read(place.project, seconds=300).whole is True


def test_names_of_checks_fit_their_column() -> None:
    assert max(len(check.name) for check in CHECKS) == 10
    assert of_keys.State.SET.wrong is False
