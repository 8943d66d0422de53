"""`result.json` of cells that ended well, badly, or not at all."""

from __future__ import annotations

from pathlib import Path

from stackproof import __version__, catalog, options, plan
from stackproof.evidence import cell, git, jsonfile, read
from stackproof.evidence.outcomes import Counts


def planned(project: Path) -> plan.Cell:
    (project / "tests/integration/base").mkdir(parents=True, exist_ok=True)
    (project / "tests/suites.yaml").write_text(
        "suites:\n  base: {description: d, roots: [tests/integration/base], default_setup: ollama}\n"
    )
    chosen = options.resolve({"suite": "base", "setup": "ollama", "stack_config": "server:reference"}, {}, project)
    return plan.make(chosen, catalog.load(project), project, "abc123").cells[0]


def write(project: Path, folder: Path) -> read.CellFacts:
    cell.write_result(
        folder,
        cell=planned(project),
        project=project,
        recordings=project / "recordings",
        run_id="abc123",
        command="again",
        source=git.SourceState(commit="c" * 40, dirty=True),
        policy="p",
    )
    found = read.read(folder.parent.parent).cells
    return found[folder.name]


def test_a_result_says_what_it_belongs_to(tmp_path: Path) -> None:
    folder = tmp_path / "run/cells/base-ollama-server-reference"
    jsonfile.write(folder / "outcome.json", {"exit_code": 0, "error": None, "sealed": "tripwire", "signal": None})
    jsonfile.write_text(
        folder / "tests.jsonl",
        '{"event":"collected","nodeids":["a::b"]}\n{"event":"test","nodeid":"a::b","outcome":"passed"}\n'
        '{"event":"calls","replayed":2,"missed":0}\n{"event":"finished","exitstatus":0}\n',
    )
    facts = write(tmp_path, folder)
    assert (facts.result, facts.commit, facts.dirty, facts.policy) == (True, "c" * 40, True, "p")
    assert (facts.suite, facts.setup, facts.stack, facts.inference_mode) == ("base", "ollama", "reference", "replay")
    assert (facts.exit_code, facts.error, facts.sealed, facts.command) == (0, None, "tripwire", "again")
    result = jsonfile.read(folder / "result.json") or {}
    assert result["versions"]["stackproof"] == __version__
    assert result["calls"]["replayed"] == 2
    assert Counts(**result["counts"]) == Counts(collected=1, passed=1)


def test_a_cell_that_was_killed_is_written_down_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "run/cells/base-ollama-server-reference"
    folder.mkdir(parents=True)
    facts = write(tmp_path, folder)
    assert facts.error is not None
    assert (facts.error.kind, facts.exit_code, facts.sealed) == ("killed", None, None)
    assert facts.report.problems


def test_a_result_in_another_cells_folder_is_no_result(tmp_path: Path) -> None:
    folder = tmp_path / "run/cells/base-ollama-library-reference"
    folder.mkdir(parents=True)
    assert not write(tmp_path, folder).result
