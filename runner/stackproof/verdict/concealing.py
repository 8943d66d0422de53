"""Takes secrets that the run knows, and what looks like one, out of everything that a verdict says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from stackproof.evidence.junit import Case, Report
from stackproof.recorder import redact
from stackproof.verdict.records import Finding, Rule, Verdict
from stackproof.verdict.standing import Standing
from stackproof.verdict.test_rows import TestRow


def conceal_verdict(verdict: Verdict, secrets: Mapping[str, str]) -> Verdict:
    """The same verdict; `secrets` are values by the name of their variable, as `redact.known_values` gives them."""
    return replace(
        verdict,
        rules=tuple(_rule(rule, secrets) for rule in verdict.rules),
        live=tuple(conceal_standing(each, secrets) for each in verdict.live),
    )


def conceal_standing(standing: Standing, secrets: Mapping[str, str]) -> Standing:
    """The same standing with what its models are called and why they failed concealed."""
    if standing.smoke is None:
        return standing
    models = tuple(
        replace(model, model=redact.conceal(model.model, secrets), reason=redact.conceal(model.reason, secrets))
        for model in standing.smoke.models
    )
    return replace(standing, smoke=replace(standing.smoke, models=models))


def conceal_rows(rows: Iterable[TestRow], secrets: Mapping[str, str]) -> tuple[TestRow, ...]:
    """The same rows with names and texts concealed."""
    given = list(rows)
    told = _conceal([[row.name, row.reason, row.text] for row in given], secrets)
    return tuple(
        replace(row, name=name, reason=reason, text=text) for row, (name, reason, text) in zip(given, told, strict=True)
    )


def conceal_report(report: Report, secrets: Mapping[str, str]) -> Report:
    """The same report with its properties concealed; its cases are for `conceal_cases`, a few at a time."""
    return replace(report, properties=_pairs(report.properties, secrets))


def conceal_cases(cases: Iterable[Case], secrets: Mapping[str, str]) -> list[Case]:
    """The same cases with their names, messages, texts, outputs and properties concealed."""
    given = list(cases)
    told = [[case.classname, case.name, case.message, case.text, case.output] for case in given]
    shown = _conceal(told, secrets)
    return [_case(case, texts, secrets) for case, texts in zip(given, shown, strict=True)]


def _conceal(told: list[list[str]], secrets: Mapping[str, str]) -> list[list[str]]:
    """Looked for in all of it at once first: mostly there is nothing, and each text costs more than all together."""
    if redact.find(told, secrets) is None:
        return told
    shown: list[list[str]] = redact.conceal(told, secrets)
    return shown


def _case(case: Case, texts: list[str], secrets: Mapping[str, str]) -> Case:
    classname, name, message, text, output = texts
    return replace(
        case,
        classname=classname,
        name=name,
        message=message,
        text=text,
        output=output,
        properties=_pairs(case.properties, secrets),
    )


def _pairs(pairs: tuple[tuple[str, str], ...], secrets: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, redact.conceal(value, secrets)) for name, value in pairs)


def _rule(rule: Rule, secrets: Mapping[str, str]) -> Rule:
    texts = {
        "title": rule.title,
        "good": rule.good,
        "lead": rule.lead,
        "again": rule.again,
        "more": list(rule.more_again),
    }
    findings = [finding.text for finding in rule.findings]
    told, found = redact.conceal([texts, findings], secrets)
    return replace(
        rule,
        title=told["title"],
        good=told["good"],
        lead=told["lead"],
        again=told["again"],
        more_again=tuple(told["more"]),
        findings=tuple(
            Finding(state=finding.state, text=text, exit_code=finding.exit_code)
            for finding, text in zip(rule.findings, found, strict=True)
        ),
    )
