"""What the CI system of a run is told of it: notes beside the changed lines, and the page of the job."""

from __future__ import annotations

from collections.abc import Mapping

from stackproof.ci import guard
from stackproof.errors import ExitCode
from stackproof.plaintext import counted
from stackproof.plan import Plan
from stackproof.recorder import redact
from stackproof.run.cell_run import CellOutcome
from stackproof.run.orchestrate import RunOutcome
from stackproof.verdict import github, noted, summary
from stackproof.verdict.github import Annotation
from stackproof.verdict.test_rows import Failure

_WORDS = {ExitCode.PASS: "PASS", ExitCode.NOTHING_RAN: "NOTHING RAN", ExitCode.NOT_PROVEN: "NOT PROVEN"}


def tell(planned: Plan, outcome: RunOutcome, environ: Mapping[str, str], *, notes: bool) -> None:
    """Tell of what failed, on the page of the job and, where `notes` are wanted, beside the changed lines."""
    notes = notes and github.is_wanted(environ)
    if not (notes or summary.wanted(environ)):
        return
    secrets = redact.known_values({name for each in planned.cells for name in each.setup.all_secrets}, environ)
    bad = noted.failed(outcome.run_dir, secrets)
    cells: list[CellOutcome] = list(outcome.cells)
    table = [(each.cell.title, _word(each.exit_code), redact.conceal(each.summary, secrets)) for each in cells]
    again = [redact.conceal(each.again, secrets) for each in cells if each.exit_code is not ExitCode.PASS]
    about = f"Run `{outcome.run_id}`, {len(cells)} of {_all(planned)}."
    page = noted.page(f"Run: {_word(outcome.exit_code)}", about, table, bad, again)
    summary.append(environ, lambda room: summary.fitted(page, room))
    if notes:
        for note in github.chosen(bad, (), _others(cells, bad, secrets), title="Run", where="the run folder"):
            guard.command(note.command())


def _all(planned: Plan) -> str:
    if planned.options.shards is None:
        return counted(len(planned.cells), "cell")
    return counted(len(planned.cells) * planned.options.shards, "shard")


def _others(cells: list[CellOutcome], bad: tuple[Failure, ...], secrets: Mapping[str, str]) -> list[Annotation]:
    """Cells that went wrong without a test that says so."""
    told = {cell for failure in bad for cell in failure.cells}
    return [
        Annotation(
            level="error",
            title=f"{each.cell.title}: {_word(each.exit_code)}",
            message=redact.conceal("\n".join(filter(None, (each.summary, each.hint))), secrets),
        )
        for each in cells
        if each.exit_code is not ExitCode.PASS and each.cell.id not in told
    ]


def _word(code: ExitCode) -> str:
    return _WORDS.get(code, "FAIL")
