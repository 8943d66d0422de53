"""The smoke on the page of a CI run: Markdown in which everything that others wrote stands as code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stackproof.evidence.live import LiveOutcome
from stackproof.live import told
from stackproof.live.written import Smoke
from stackproof.recordings import markdown as markdown_of
from stackproof.verdict import github, summary
from stackproof.verdict.github import Annotation
from stackproof.verdict.test_rows import Failure

_LONGEST = 500


def append(smoke: Smoke, again: str, environ: Mapping[str, str]) -> bool:
    """Append it to the file that GITHUB_STEP_SUMMARY names; whether there is one that can be written."""
    return summary.append(environ, lambda room: summary.fitted(markdown(smoke, again), room))


def markdown(smoke: Smoke, again: str) -> Iterator[str]:
    """A heading, a table of the models, and the command that runs it again."""
    commit = f"Run `{smoke.run_id}`, {smoke.stopped[:10]}. "
    yield f"# Live smoke: {smoke.outcome}"
    yield ""
    yield f"{commit}Used: {smoke.spent.words}, {smoke.asked} requests of them before the tests."
    yield ""
    yield "| model | setup | outcome | tests | requests | retries | tokens | drift | why |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for result in smoke.results:
        title, outcome, *numbers = told.row(result)
        cells = [_code(title), _code(result.setup), outcome, *numbers, _code(result.reason) if result.reason else ""]
        yield f"| {' | '.join(cells)} |"
    yield ""
    if smoke.outcome is not LiveOutcome.PASSED:
        yield f"Again: {markdown_of.code(again, _LONGEST)}"
        yield ""


def _code(text: str) -> str:
    """Text as code in a table's cell: nothing in it is Markdown, HTML or the end of the cell."""
    return markdown_of.code(text, _LONGEST).replace("|", "\\|")


def notes(smoke: Smoke, failures: Sequence[Failure] = ()) -> list[Annotation]:
    """Its failed tests, and each model that was called, or should have been, and did not pass; ten at most."""
    return github.chosen(failures, (), list(_of_models(smoke)), title="Live smoke", where="the summary of the job")


def _of_models(smoke: Smoke) -> Iterator[Annotation]:
    levels = {LiveOutcome.FAILED: "error", LiveOutcome.BLOCKED: "error", LiveOutcome.STOPPED: "warning"}
    for result in smoke.results:
        if (level := levels.get(result.outcome)) is not None:
            yield Annotation(level=level, title=f"live smoke: {result.title}", message=result.reason or result.outcome)
