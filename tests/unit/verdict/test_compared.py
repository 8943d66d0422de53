"""What changed since an earlier run, test by test and benchmark by benchmark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof import errors
from stackproof.cli.main import main
from stackproof.evidence import machine
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import compared, publish
from stackproof.verdict.compared import Results, compare

if TYPE_CHECKING:
    from tests.unit.verdict.conftest import Project

HERE = machine.Machine(processor="p", cpus=2, system="s", python="y")


def measured(ratio: float, processor: str = "p") -> BenchmarkFacts:
    floor = tuple(0.01 + 0.0001 * number for number in range(20))
    line = BenchmarkLine(name="turns", turns=tuple(value * ratio for value in floor), floor=floor)
    return BenchmarkFacts(lines={"turns": line}, machine=replace(HERE, processor=processor), date="d")


def results(tests: dict[str, Outcome], *, ratio: float | None = None, cell: str = "c", processor: str = "p") -> Results:
    return Results(
        run_id="abc123",
        commit="f" * 40,
        tests={cell: tests},
        benchmark=None if ratio is None else measured(ratio, processor),
    )


THEN = {
    "breaks": Outcome.PASSED,
    "mended": Outcome.FAILED,
    "stays-bad": Outcome.ERROR,
    "skips": Outcome.PASSED,
    "gone": Outcome.PASSED,
    "same": Outcome.PASSED,
}
NOW = {
    "breaks": Outcome.FAILED,
    "mended": Outcome.FLAKY,
    "stays-bad": Outcome.FAILED,
    "skips": Outcome.SKIPPED,
    "same": Outcome.PASSED,
    "new": Outcome.PASSED,
    "new-and-bad": Outcome.ERROR,
}


def test_every_kind_of_change_is_told_apart() -> None:
    found = compare(results(NOW), results(THEN))
    assert found.newly_failing == ("breaks in c", "new-and-bad in c")
    assert found.fixed == ("mended in c",)
    assert found.newly_skipped == ("skips in c",)
    assert found.removed == ("gone in c",)
    assert found.added == ("new in c",)
    assert compared.lines(found)[0] == (
        "Compared with run abc123 (commit fffffff): 2 newly failing, 1 fixed, 1 newly skipped, 1 removed, 1 added"
    )


def test_no_test_is_said_to_have_changed_where_none_has() -> None:
    assert compared.lines(compare(results(NOW), results(NOW))) == [
        "Compared with run abc123 (commit fffffff): no test or benchmark changed"
    ]


def test_tests_of_a_cell_that_did_not_run_are_not_called_removed() -> None:
    found = compare(results(NOW, cell="one"), results(THEN, cell="two"))
    assert not found.removed
    assert found.cells == ("one is new", "two did not run now")


def test_a_benchmark_is_slower_only_beyond_the_noise_and_only_on_the_same_machine() -> None:
    assert compare(results({}, ratio=1.4), results({}, ratio=1.1)).slower == (
        "turns: +27% in ratio to the floor, slower",
    )
    assert compare(results({}, ratio=1.1), results({}, ratio=1.4)).faster != ()
    assert compare(results({}, ratio=1.1), results({}, ratio=1.1)).slower == ()
    found = compare(results({}, ratio=1.4), results({}, ratio=1.1, processor="q"))
    assert not found.slower
    assert compared.lines(found)[-1].startswith("  benchmarks not comparable: q, 2 CPUs")


def test_what_a_verdict_holds_is_what_it_was_made_of(tmp_path: Path) -> None:
    now = results(NOW, ratio=1.1)
    content = {"kind": "verdict", "run_id": "abc123", "commit": "f" * 40, "results": compared.to_json(now)}
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(content))
    assert compared.read(path) == now


@pytest.mark.parametrize("content", ["", "[]", '{"kind": "verdict"}', '{"results": {}}'])
def test_a_file_that_is_no_verdict_is_a_usage_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(content)
    with pytest.raises(errors.UsageError, match="is no verdict that names its tests"):
        compared.read(path)


def test_the_verdict_of_the_run_before_is_compared_with_and_both_forms_say_it(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    first = project.good_run()
    publish.write(first.folder, first.verdict())
    second = project.run()
    names = ("test_one", "test_two[x]", "test_vision")
    one, two, vision = (f"tests/integration/base/test_chat.py::{name}" for name in names)
    second.cell("library:reference", {one: Outcome.FAILED, two: Outcome.PASSED, vision: Outcome.SKIPPED})
    second.cell("server:reference")
    second.checks()
    second.finish()
    assert main(["verdict", second.run_id], environ={}, project=project.folder) == 1
    shown = capsys.readouterr().out
    assert f"Compared with run {first.run_id}" in shown
    assert f"newly failing: {one} in base-ollama-library-reference" in shown
    content = {}
    for named in (first.run_id, f".stackproof/runs/{first.run_id}/verdict.json"):
        code = main(["verdict", second.run_id, "--json", "--compared-with", named], environ={}, project=project.folder)
        assert code == 1
        content = json.loads(capsys.readouterr().out)
        assert content["compared"]["newly_failing"] == [f"{one} in base-ollama-library-reference"]
        assert content["compared"]["with"]["run_id"] == first.run_id
    published = publish.write(second.folder, second.verdict())
    assert published.compared is not None
    written = json.loads((second.folder / "verdict.json").read_text())
    assert written["compared"]["newly_failing"] == content["compared"]["newly_failing"]
    assert written["results"]["tests"]["base-ollama-library-reference"]["failed"] == [one]


def test_a_first_run_has_nothing_to_be_compared_with(project: Project) -> None:
    run = project.good_run()
    assert publish.write(run.folder, run.verdict()).compared is None
    assert json.loads((run.folder / "verdict.json").read_text())["compared"] is None


def test_a_run_that_does_not_exist_is_a_usage_error(project: Project) -> None:
    run = project.good_run()
    arguments = ["verdict", run.run_id, "--compared-with", "nothing"]
    assert main(arguments, environ={}, project=project.folder) == errors.ExitCode.USAGE


def test_a_verdict_and_rules_in_another_state_are_told() -> None:
    rules = {"source": "PASS", "claim cut": "PASS", "claim gone": "PASS"}
    then = replace(results({}), state="PASS", rules=rules)
    now = replace(results({}), state="FAIL", rules={"source": "PASS", "claim cut": "FAIL", "claim new": "PASS"})
    assert compared.lines(compare(now, then)) == [
        "Compared with run abc123 (commit fffffff): FAIL now, PASS before, 3 rules changed",
        "  claim cut: FAIL now, PASS before",
        "  claim new: PASS now, not asked for before",
        "  claim gone: not asked for now, PASS before",
    ]
    assert compared.as_json(compare(now, then))["verdict"] == "FAIL now, PASS before"
    assert compare(now, results({})).rules == ()


def test_a_rule_that_turns_is_said_of_the_run_before(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    first = project.good_run()
    publish.write(first.folder, first.verdict())
    second = project.run()
    second.cell("library:reference")
    second.cell("server:reference")
    second.checks(ratio=2.0)
    second.finish()
    assert main(["verdict", second.run_id], environ={}, project=project.folder) == 1
    shown = capsys.readouterr().out
    assert "FAIL now, PASS before, 1 slower, 1 rule changed\n  benchmark turns: FAIL now, PASS before\n" in shown


def test_a_verdict_of_another_schema_is_a_usage_error_and_never_the_run_before(project: Project) -> None:
    first = project.good_run()
    publish.write(first.folder, first.verdict())
    path = first.folder / "verdict.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 9}))
    with pytest.raises(errors.UsageError, match="is a verdict of schema 9, and this version reads 1"):
        compared.read(path)
    assert compared.newest_before(project.good_run().folder) is None


def test_a_folder_that_holds_no_run_is_a_usage_error(project: Project) -> None:
    with pytest.raises(errors.UsageError, match="ci holds no run"):
        compared.read(project.folder / "ci")


def test_a_run_is_not_compared_with_one_that_is_weighed_beside_it(project: Project) -> None:
    first = project.good_run()
    publish.write(first.folder, first.verdict())
    second = project.good_run()
    assert compared.newest_before(second.folder) == first.folder / "verdict.json"
    assert compared.newest_before(second.folder, first.folder) is None
