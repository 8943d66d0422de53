"""Accepted type errors are borne, counted, and only ever get fewer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.verdict.conftest import Project, Run, rule

from stackproof.cli.main import main
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence.typecheck import Message, TypecheckFacts, TypecheckState
from stackproof.verdict import accepted
from stackproof.verdict.accepted import Accepted, beyond, counted, lowered
from stackproof.verdict.records import State


def error(message: str = "wrong", *, file: str = "pkg/a.py", line: int = 1, code: str | None = "misc") -> Message:
    return Message(file=file, line=line, severity="error", message=message, code=code)


ERRORS = st.lists(
    st.builds(
        error, st.sampled_from(["wrong", "x"]), file=st.sampled_from(["pkg/a.py", "pkg/b.py"]), line=st.integers(1, 9)
    )
)


@given(ERRORS, ERRORS)
def test_what_is_accepted_only_gets_fewer(first: list[Message], second: list[Message]) -> None:
    before = counted(first)
    after = lowered(second, before)
    assert all(count <= before[kind] for kind, count in after.items())
    assert not beyond(first, before)
    assert len(beyond(second, after)) == len(beyond(second, before))
    assert len(beyond(second, before)) >= len(second) - len(first)
    assert lowered(second, after) == after


def test_an_error_is_known_by_file_code_and_message_and_not_by_its_line() -> None:
    kinds = counted([error('Name "x" already defined on line 3', line=9)])
    assert not beyond([error('Name "x" already defined on line 4', line=10)], kinds)
    for other in (error("other"), error(file="pkg/b.py"), error(code=None)):
        assert beyond([other], counted([error()])) == (other,)
    assert beyond([error(line=1), error(line=2)], counted([error()])) == (error(line=2),)


def run_with(project: Project, errors: Sequence[Message]) -> Run:
    run = project.run()
    run.cell("library:reference")
    run.cell("server:reference")
    state = TypecheckState.ERRORS if errors else TypecheckState.SUCCESS
    facts = TypecheckFacts(
        state=state, exit_code=int(bool(errors)), files=("pkg/a.py",), roots=("pkg",), messages=tuple(errors)
    )
    run.checks(types=facts)
    run.finish()
    return run


def policy_update(project: Project, run: Run, *options: str) -> int:
    return main(["policy", "update", run.run_id, *options], environ={}, project=project.folder)


def test_errors_are_accepted_only_when_somebody_says_so(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(project, [error(), error(line=7), error("x")])
    assert policy_update(project, run) == ExitCode.PASS
    assert "types: 3 other errors are not accepted; --accept-types would" in capsys.readouterr().out.splitlines()
    assert not (project.folder / accepted.FILE).exists()
    assert policy_update(project, run, "--accept-types") == ExitCode.PASS
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "types: 3 errors accepted",
        "  +2 pkg/a.py: wrong  [misc]",
        "  +1 pkg/a.py: x  [misc]",
    ]
    assert accepted.load(project.folder) == {
        Accepted(file="pkg/a.py", code="misc", message="wrong"): 2,
        Accepted(file="pkg/a.py", code="misc", message="x"): 1,
    }
    project.commit()
    assert main(["policy", "check"], environ={}, project=project.folder) == ExitCode.PASS


def test_a_run_with_accepted_errors_is_green_and_says_so_and_one_more_fails(project: Project) -> None:
    policy_update(project, run_with(project, [error(), error("x")]), "--accept-types")
    project.commit()
    verdict = run_with(project, [error(line=5)]).verdict()
    types = rule(verdict, "types")
    assert verdict.state is State.PASS
    assert types.good == "no other error in 1 file; 1 accepted"
    assert types.excludes.endswith("and what ci/expected/types.json accepts")
    assert [finding.text for finding in types.findings] == [
        "accepted, 1 of 1: pkg/a.py: wrong",
        "accepted and gone, 1 times (stackproof policy update): pkg/a.py: x",
    ]
    worse = run_with(project, [error(), error(line=5)]).verdict()
    assert worse.state is State.FAIL
    assert rule(worse, "types").summary == "1 error in 1 file; first pkg/a.py:5"


def test_an_update_takes_out_what_is_gone_and_lets_nothing_in(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    policy_update(project, run_with(project, [error(), error(), error("x")]), "--accept-types")
    project.commit()
    run = run_with(project, [error(), error("new")])
    capsys.readouterr()
    assert policy_update(project, run, "--dry-run") == ExitCode.PASS
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == ["--- a/ci/expected/types.json", "+++ b/ci/expected/types.json"]
    assert '-      "count": 2,' in shown
    assert '+      "count": 1,' in shown
    assert sum(accepted.load(project.folder).values()) == 3
    policy_update(project, run)
    assert accepted.load(project.folder) == {Accepted(file="pkg/a.py", code="misc", message="wrong"): 1}
    policy_update(project, run_with(project, []))
    assert not (project.folder / accepted.FILE).exists()


def test_a_run_in_which_mypy_broke_changes_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    policy_update(project, run_with(project, [error()]), "--accept-types")
    run = run_with(project, [])
    broken = TypecheckFacts(state=TypecheckState.TOOL_FAILURE, exit_code=2, reason="it broke", roots=("pkg",))
    run.checks(types=broken)
    policy_update(project, run)
    assert "types: not proven in this run, left as they are" in capsys.readouterr().out
    run.checks(types=replace(broken, state=TypecheckState.SUCCESS, roots=("elsewhere",)))
    policy_update(project, run)
    assert accepted.load(project.folder) == counted([error()])


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": 2, "accepted": []}', '{"schema": 1}', '{"schema": 1, "accepted": [{"file": "a"}]}']
)
def test_a_file_that_is_no_list_of_accepted_errors_is_refused(project: Project, text: str) -> None:
    project.write("ci/expected/types.json", text)
    with pytest.raises(UsageError, match=r"ci/expected/types.json is no list of accepted type errors"):
        accepted.load(project.folder)
    with pytest.raises(UsageError, match="no list"):
        project.good_run().verdict()


def test_the_check_alone_bears_the_same_errors(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write("pkg/a.py", "x: int = 'a'\n")
    message = 'Incompatible types in assignment (expression has type "str", variable has type "int")'
    kind = Accepted(file="pkg/a.py", code="assignment", message=message)
    project.write("ci/expected/types.json", json.dumps(accepted.content({kind: 1})))
    assert main(["typecheck", "pkg"], environ={}, project=project.folder) == ExitCode.PASS
    assert capsys.readouterr().out == "✓ types  no other error in 1 file; 1 accepted in ci/expected/types.json\n"
    project.write("pkg/a.py", "x: int = 'a'\ny: int = 'a'\n")
    assert main(["typecheck", "pkg"], environ={}, project=project.folder) == ExitCode.TESTS
    assert "1 error in 1 file; first pkg/a.py:2; 1 accepted" in capsys.readouterr().out
