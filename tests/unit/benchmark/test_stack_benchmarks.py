"""Benchmarks that stacks bring with them."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.checks import benchmark, stack_benchmarks
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import benchmark as facts_of

TURNS = {"name": "turns", "turns": [0.012] * 20, "floor": [0.010] * 20}
POLICY = """\
version: 1
cells: [{suite: s, setup: t, stack: "library:shop"}]
benchmarks: {"shop:turns": {gate: GATE}}
"""


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    (tmp_path / "stacks/shop").mkdir(parents=True)
    bench(tmp_path, f"json.dump({{'lines': [{TURNS}]}}, open(sys.argv[1], 'w'))")
    return tmp_path


def bench(project: Path, program: str, more: str = "") -> None:
    """Give the shop a benchmark that runs `program`."""
    (project / "stacks/shop/bench.py").write_text(f"import json, os, sys, time\n{program}\n")
    (project / "stacks/shop/stack.yaml").write_text(
        "description: d\nmodes: [library]\napp: shop:app\npython_path: ['.']\n"
        f"benchmark:\n  command: ['{{python}}', '{{folder}}/bench.py', '{{result}}']\n{more}"
    )


def measured(project: Path) -> stack_benchmarks.Measured:
    stack = catalog.load(project).stacks["shop"]
    assert stack.benchmark is not None
    folder = project / "scratch"
    folder.mkdir(exist_ok=True)
    return stack_benchmarks.measured(stack, stack.benchmark, project=project, folder=folder, environ=os.environ)


def test_a_stack_of_ones_own_is_measured_instead_of_the_recorder(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert benchmark.run(project, []) == ExitCode.PASS
    (kept,) = project.glob(".stackproof/runs/*/checks/benchmark.json")
    facts = facts_of.read(kept)
    assert facts is not None
    assert list(facts.lines) == ["shop:turns"]
    assert facts.lines["shop:turns"].samples == 20
    assert "benchmark shop:turns  1.20 × floor (no gate" in capsys.readouterr().out


@pytest.mark.parametrize(("gate", "code"), [("1.30", ExitCode.PASS), ("1.10", ExitCode.TESTS)])
def test_the_policy_gates_it_like_any_other(project: Path, gate: str, code: ExitCode) -> None:
    (project / "ci").mkdir()
    (project / "ci/release.yaml").write_text(POLICY.replace("GATE", gate))
    assert benchmark.run(project, []) == code


def test_a_name_that_nothing_measures_is_told_beside_what_was_measured(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "ci").mkdir()
    (project / "ci/release.yaml").write_text(POLICY.replace("GATE", "1.30").replace("shop:turns", "shop:turn"))
    assert benchmark.run(project, []) == ExitCode.NOT_PROVEN
    told = "? benchmark shop:turn  not proven: nothing of that name was measured, but shop:turns\n"
    assert told in capsys.readouterr().out


def test_only_what_is_asked_for_is_run(project: Path) -> None:
    stacks = stack_benchmarks.of_project(project)
    assert list(stacks) == ["shop"]
    assert list(stack_benchmarks.wanted(stacks, ["shop:turns"])) == ["shop"]
    assert not stack_benchmarks.wanted(stacks, ["turns", "shop", "office:turns"])


def test_stacks_that_come_with_stackproof_are_not_part_of_a_projects_release(tmp_path: Path) -> None:
    assert catalog.load(tmp_path).stacks
    assert not stack_benchmarks.of_project(tmp_path)


def test_its_surroundings_are_the_callers_and_its_own_folders(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "stacks/shop/shop_turns.py").write_text("SECONDS = 0.5\n")
    bench(
        project,
        "import shop_turns\n"
        "named = 'seen' if os.environ.get('SHOP_ORDERS') and 'STACKPROOF_RUN_DIR' not in os.environ else 'missed'\n"
        "line = {'name': named, 'turns': [shop_turns.SECONDS], 'floor': [0.1]}\n"
        "json.dump({'lines': [line]}, open(sys.argv[1], 'w'))",
    )
    monkeypatch.setenv("SHOP_ORDERS", "3")
    monkeypatch.setenv("STACKPROOF_RUN_DIR", "of another run")
    (line,) = measured(project).lines
    assert (line.name, line.turns) == ("shop:seen", (0.5,))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit('no database')", "the benchmark of shop exited with code 1: no database"),
        ("pass", "the benchmark of shop left no JSON object at {result}"),
        ("open(sys.argv[1], 'w').write('[1, 2]')", "the benchmark of shop left no JSON object at {result}"),
        ("json.dump({'lines': []}, open(sys.argv[1], 'w'))", "the benchmark of shop measured nothing"),
        ("json.dump({'lines': [{'name': 'x'}]}, open(sys.argv[1], 'w'))", "is no list of times (KeyError: 'turns')"),
    ],
)
def test_what_goes_wrong_is_one_sentence(project: Path, program: str, said: str) -> None:
    bench(project, program)
    found = measured(project)
    assert found.lines == ()
    assert found.problem is not None
    assert said in found.problem


def test_one_that_does_not_end_is_ended_with_its_children(project: Path) -> None:
    begun = project / "scratch/shop.json.pid"
    for timeout in (2, 20, 120):
        bench(
            project,
            "import subprocess\n"
            "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
            "open(sys.argv[1] + '.pid', 'w').write(str(child.pid))\n"
            "time.sleep(600)",
            more=f"  timeout: {timeout}\n",
        )
        found = measured(project)
        assert found.problem == f"the benchmark of shop took more than {timeout} s"
        if begun.exists() and begun.read_text():  # or the machine needs longer to begin
            break
    if sys.platform == "linux":
        deadline = time.monotonic() + 60
        while _runs(int(begun.read_text())):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return False


def test_a_benchmark_that_is_missing_is_not_proven(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench(project, "raise SystemExit('no database')")
    assert benchmark.run(project, []) == ExitCode.NOT_PROVEN
    assert "no database" in capsys.readouterr().out


def test_a_command_says_where_the_result_goes(project: Path) -> None:
    text = (project / "stacks/shop/stack.yaml").read_text().replace("{result}", "out.json")
    (project / "stacks/shop/stack.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"stack\.yaml:6: 'command' of 'benchmark' of stack 'shop' must say"):
        catalog.load(project)


def test_what_was_measured_can_be_read_again(project: Path) -> None:
    benchmark.run(project, [])
    (kept,) = project.glob(".stackproof/runs/*/checks/benchmark.json")
    assert json.loads(kept.read_text())["lines"][0]["turns"] == TURNS["turns"]
