"""What a person is shown of a smoke: what it will do, what was skipped and why, a table, and one last line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from stackproof.evidence.live import DriftCounts, LiveOutcome
from stackproof.live.choosing import Choice
from stackproof.live.opt_in import VARIABLE, NotWanted
from stackproof.live.order import Limits, SmokeOrder
from stackproof.live.planning import TIMEOUT
from stackproof.live.preflight import Asked
from stackproof.live.results import ModelResult
from stackproof.live.written import Smoke
from stackproof.plaintext import counted, duration, number, one_line, plain
from stackproof.plan import Plan

_MOST = 60  # lines of skipped tests
_MARKS = {
    LiveOutcome.PASSED: "●",
    LiveOutcome.SKIPPED: "–",
    LiveOutcome.STOPPED: "?",
    LiveOutcome.BLOCKED: "✗",
    LiveOutcome.FAILED: "✗",
}
_WORDS = {
    LiveOutcome.PASSED: "PASSED",
    LiveOutcome.SKIPPED: "NOTHING WAS CALLED",
    LiveOutcome.STOPPED: "STOPPED",
    LiveOutcome.BLOCKED: "BLOCKED",
    LiveOutcome.FAILED: "FAILED",
}


def head(order: SmokeOrder, choice: Choice, plan: Plan, today: date) -> Iterator[str]:
    """What will be done, and where each choice came from."""
    yield f"stackproof smoke · run {plan.run_id} · {plan.options.inference_mode} · {today.isoformat()}"
    cell = plan.cells[0]
    models = [f"{model.title} (setup {model.setup})" for model in choice.models]
    missing = [f"{each.title or each.provider} (setup {each.setup})" for each in choice.missing]
    stack_from = "--stack-config" if order.stack_config else plan.options.origin("stack_config")
    if order.stack_config is None and stack_from == "--stack-config":
        stack_from = "default"  # ours, put in place of that of a run
    rows = [
        ("suite", f"{cell.suite.name}, {', '.join(cell.paths)}", "default" if order.suite == "live" else "--suite"),
        *(("model", each, VARIABLE) for each in models),
        *(("model", each, "is not called") for each in missing),
        ("stack", ", ".join(dict.fromkeys(each.stack_config for each in plan.cells)), stack_from),
        ("budget", budget(order.budget), "default" if order.budget == Limits() else "given"),
        ("test", f"{number(order.timeout or TIMEOUT)} s at most", "default" if order.timeout is None else "--timeout"),
    ]
    if order.provider_service is not None:
        rows.append(("calls", f"go to {order.provider_service}, started for this run", "--provider-service"))
    width = max(len(value) for _, value, _ in rows)
    for word, value, source in rows:
        yield f"  {word:<6} {value:<{width}}   {source}"
    for title in choice.left_out:
        yield f"  {title} is of none of the setups {', '.join(order.setups)}: it is left out"


def budget(limits: Limits) -> str:
    """`60 requests, 60,000 tokens, 900 s`."""
    return f"{limits.max_requests:,} requests, {limits.max_tokens:,} tokens, {number(limits.max_seconds)} s"


def skipped(missing: Sequence[NotWanted], tests: Sequence[str], suite: str) -> Iterator[str]:
    """Each test that makes no call, with the reason; where that would be too many lines, one for each model."""
    if not tests or len(missing) * len(tests) > _MOST:
        what = f" ({counted(len(tests), 'test')})" if tests else ""
        for each in missing:
            yield f"– {suite} with {each.title or each.provider}{what}   skipped: {each.reason}"
        return
    for each in missing:
        for nodeid in tests:
            name = nodeid if len(missing) == 1 else f"{nodeid}  {each.title or each.provider}"
            yield f"– {one_line(name)}   skipped: {each.reason}"


def preflight(asked: Asked) -> Iterator[str]:
    """One line for each model of a provider; of one that is blocked, what to do."""
    for finding in asked.findings.values():
        mark = "●" if finding.fine else "✗"
        again = f", {counted(asked.requests, 'request')}" if asked.retries else ""
        yield f"{mark} {plain(finding.sentence)}   {duration(asked.seconds)}{again}"
        if finding.hint is not None and not finding.fine:
            yield f"  {plain(finding.hint)}"


def table(results: Sequence[ModelResult]) -> Iterator[str]:
    """Columns, aligned by spaces; below them what is the matter with each model whose tests ran and that did not pass.

    Of one that was blocked beforehand that was said where it was found. And which hosts are not those of a setup.
    """
    heads = ["model", "outcome", "tests", "requests", "retries", "tokens", "drift"]
    rows = [heads, *map(row, results)]
    widths = [max(len(line[column]) for line in rows) for column in range(len(heads))]
    for line in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    for result in results:
        began = result.tests.total > 0 or result.outcome is LiveOutcome.STOPPED
        if result.reason is not None and began:
            yield f"{_MARKS[result.outcome]} {result.title} {result.outcome}: {plain(result.reason)}"
    for setup, hosts in dict.fromkeys((each.setup, each.called) for each in results if not each.own_address):
        if hosts:
            called = plain(" and ".join(hosts))
            yield f"– {called} was called, which setup {setup} does not name: this is no evidence of its providers"


def row(result: ModelResult) -> list[str]:
    """The cells of a model's row."""
    ran = result.tests.total > 0
    return [
        result.title,
        result.outcome.value,
        result.tests.words() if ran else "–",
        _requests(result) if ran else "–",
        str(result.retries) if ran else "–",
        f"{sum(result.tokens):,}" if ran else "–",
        drift(result.drift),
    ]


def _requests(result: ModelResult) -> str:
    return f"{result.requests} ({result.refused} refused)" if result.refused else str(result.requests)


def drift(found: DriftCounts | None) -> str:
    """`2 breaking, 1 additive`; `none`; and `–` where nothing was compared."""
    if found is None:
        return "–"
    parts = {
        "breaking": found.breaking,
        "additive": found.additive,
        "note": found.note,
        "unrecorded": found.unrecorded,
    }
    return ", ".join(f"{number} {word}" for word, number in parts.items() if number) or "none"


def last(smoke: Smoke, order: SmokeOrder) -> str:
    """The one loud line."""
    word = _WORDS[smoke.outcome]
    if smoke.outcome is LiveOutcome.SKIPPED:
        reasons = "; ".join(dict.fromkeys(result.reason or "" for result in smoke.results))
        return f"{word}: {reasons or 'it was stopped before that'}" + (" (--require)" if order.require else "")
    good = sum(result.outcome is LiveOutcome.PASSED for result in smoke.results)
    beforehand = f" ({smoke.asked} of them before the tests)" if smoke.asked else ""
    spent = smoke.spent.words.replace(" requests", f" requests{beforehand}", 1)
    missing = [result for result in smoke.results if result.outcome is LiveOutcome.SKIPPED]
    left_out = ""
    if missing:
        said = "; ".join(dict.fromkeys(result.reason or "" for result in missing))
        left_out = f"; {counted(len(missing), 'model')} not called{' (--require)' if order.require else ''}: {said}"
    return f"LIVE SMOKE {word}: {good} of {counted(len(smoke.results), 'model')} passed; {spent}{left_out}"


def short(path: Path, project: Path) -> str:
    """A path as somebody in the project's folder would type it."""
    whole, root = path.absolute(), project.absolute()
    return (whole.relative_to(root) if whole.is_relative_to(root) else whole).as_posix()
