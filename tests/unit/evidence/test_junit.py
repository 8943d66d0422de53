"""Reports as other people's tools write them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from stackproof.evidence import junit, merge
from stackproof.evidence.junit import Case, ProblemKind, Report
from stackproof.evidence.outcomes import Outcome


def report(tmp_path: Path, text: str | bytes) -> Report:
    path = tmp_path / "junit.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return junit.read(path)


def outcomes(found: Report) -> dict[str, str]:
    return {f"{case.classname}::{case.name}": case.outcome.value for case in found.cases}


def kinds(found: Report) -> list[ProblemKind]:
    return [problem.kind for problem in found.problems]


def test_a_pytest_report_is_read_case_by_case(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="0"
        failures="1" skipped="3" tests="6" time="0.1">
        <testcase classname="a.test_b" name="test_pass" time="0.010"/>
        <testcase classname="a.test_b" name="test_fail" time="0.020"><failure message="assert 1 == 2">E</failure>
        </testcase>
        <testcase classname="a.test_b" name="test_skip"><skipped type="pytest.skip" message="needs a key"/></testcase>
        <testcase classname="a.test_b" name="test_xfail"><skipped type="pytest.xfail" message="known"/></testcase>
        <testcase classname="a.test_b" name="test_xpass"><skipped
          message="xfail-marked test passes unexpectedly"/></testcase>
        <testcase classname="a.test_b.TestC" name="test_pass" time="0.010"/>
        </testsuite></testsuites>""",
    )
    assert not found.problems
    assert outcomes(found) == {
        "a.test_b::test_pass": "passed",
        "a.test_b::test_fail": "failed",
        "a.test_b::test_skip": "skipped",
        "a.test_b::test_xfail": "xfailed",
        "a.test_b::test_xpass": "xpassed",
        "a.test_b.TestC::test_pass": "passed",
    }
    assert found.cases[1].message == "assert 1 == 2"
    assert found.counts.words() == "2 passed, 1 failed, 1 skipped, 1 expected failure, 1 unexpected pass"


def test_call_and_teardown_of_one_test_fold_to_the_worse(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        """<testsuite tests="1"><testcase classname="a" name="t" time="1"/>
        <testcase classname="a" name="t" time="0.5"><error message="teardown">boom</error></testcase></testsuite>""",
    )
    assert outcomes(found) == {"a::t": "error"}
    assert found.cases[0].seconds == 1.5
    assert not found.problems


def test_two_classes_may_have_a_test_of_one_name(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        """<testsuite><testcase classname="TestA" name="test_get"><failure/></testcase>
        <testcase classname="TestB" name="test_get"/></testsuite>""",
    )
    assert outcomes(found) == {"TestA::test_get": "failed", "TestB::test_get": "passed"}


@pytest.mark.parametrize("tag", ["flakyFailure", "flakyError", "rerunFailure", "rerunError"])
def test_a_rerun_that_passed_is_flaky_and_one_that_failed_is_failed(tmp_path: Path, tag: str) -> None:
    found = report(
        tmp_path,
        f"""<testsuite><testcase name="wavers"><{tag} message="first try"/></testcase>
        <testcase name="breaks"><failure/><{tag}/></testcase></testsuite>""",
    )
    assert outcomes(found) == {"::wavers": "flaky", "::breaks": "failed"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '<testsuites tests="0"><testsuite><testcase name="t"><failure/></testcase></testsuite></testsuites>',
            "tests='0'",
        ),
        ('<testsuite tests="2500" failures="1"/>', "tests='2500'"),
        ('<testsuite failures="0"><testcase name="t"><failure/></testcase></testsuite>', "failures='0'"),
        ('<testsuite errors="2"><testcase name="t"><error/></testcase></testsuite>', "errors='2'"),
        ('<testsuite skipped="1"><testcase name="t"/></testsuite>', "skipped='1'"),
        ('<testsuite tests="many"><testcase name="t"/></testsuite>', "tests='many'"),
    ],
)
def test_attributes_that_disagree_with_the_cases_are_named(tmp_path: Path, text: str, words: str) -> None:
    found = report(tmp_path, text)
    assert ProblemKind.COUNTS in kinds(found)
    assert any(words in problem.text for problem in found.problems)


def test_nested_suites_keep_every_case_and_their_path(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        """<testsuites><testsuite name="outer" tests="3"><testcase name="one"/><testsuite name="inner" tests="2">
        <testcase name="one"/><testcase name="two"/></testsuite></testsuite></testsuites>""",
    )
    assert [(case.suite, case.name) for case in found.cases] == [
        ("outer", "one"),
        ("outer / inner", "one"),
        ("outer / inner", "two"),
    ]
    assert not found.problems


def test_control_characters_and_emoji_lose_no_case(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        '<testsuite><testcase name="t[🦊]"><failure message="&#27;[31m&#x0;red">\x1b[31m\x00 🦊 x</failure></testcase>'
        '<testcase name="u"/></testsuite>',
    )
    assert not found.problems
    assert [case.name for case in found.cases] == ["t[🦊]", "u"]
    assert found.cases[0].text == "\\x1b[31m\\x00 🦊 x"
    assert found.cases[0].message == "\\x1b[31m\\x00red"


@pytest.mark.parametrize("padding", range(0, 24, 3))
def test_a_reference_that_is_cut_by_the_edge_of_a_piece_is_still_cleaned(tmp_path: Path, padding: int) -> None:
    filler = "x" * (65536 - 60 + padding)
    found = report(tmp_path, f'<testsuite name="{filler}"><testcase name="a&#x1b;b&#0000;c"/></testsuite>')
    assert not found.problems
    assert found.cases[0].name == "a\\x1bb\\x00c"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (
            '<?xml version="1.0" encoding="utf-8"?><testsuite><testcase name="é"/></testsuite>'.encode("latin-1"),
            "\ufffd",
        ),
        (
            '<?xml version="1.0" encoding="iso-8859-1"?><testsuite><testcase name="é"/></testsuite>'.encode("latin-1"),
            "é",
        ),
        ('<?xml version="1.0" encoding="nonsense"?><testsuite><testcase name="é"/></testsuite>'.encode(), "é"),
        ('<?xml version="1.0" encoding="utf-16"?><testsuite><testcase name="é"/></testsuite>'.encode("utf-16"), "é"),
        ('<?xml version="1.0" encoding="utf-16"?><testsuite><testcase name="é"/></testsuite>'.encode(), "é"),
        ('\ufeff<testsuite><testcase name="é"/></testsuite>'.encode(), "é"),
    ],
)
def test_a_wrong_encoding_costs_characters_and_never_the_file(tmp_path: Path, data: bytes, name: str) -> None:
    found = report(tmp_path, data)
    assert not found.problems
    assert [case.name for case in found.cases] == [name]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234.5", 1234.5), ("0.25", 0.25), (None, None), ("NaN", None), ("inf", None), ("-1", None), ("soon", None)],
)
def test_a_duration_is_read_or_unknown_and_never_silently_zero(text: str | None, value: float | None) -> None:
    assert junit.seconds(text) == value


def test_entities_and_document_types_are_refused(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        '<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>',
    )
    assert kinds(found) == [ProblemKind.REFUSED]
    assert not found.cases


def test_sixty_megabytes_of_output_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    with path.open("w") as file:
        file.write('<testsuite><testcase name="t"><system-out>')
        for _ in range(60):
            file.write("y" * (1 << 20))
        file.write('</system-out></testcase><testcase name="u"><failure>why</failure></testcase></testsuite>')
    tracemalloc.start()
    try:
        found = junit.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [case.name for case in found.cases] == ["t", "u"]
    assert found.cases[1].text == "why"
    assert peak < 8 << 20


def test_a_report_that_was_cut_off_keeps_what_it_has_and_says_so(tmp_path: Path) -> None:
    found = report(tmp_path, '<testsuite><testcase name="t"><failure>x</failure></testcase><testcase na')
    assert kinds(found) == [ProblemKind.TRUNCATED]
    assert outcomes(found) == {"::t": "failed"}


@pytest.mark.parametrize(
    ("data", "kind"), [(b"", ProblemKind.EMPTY), (b"no xml", ProblemKind.UNREADABLE), (b"<a/>", ProblemKind.UNREADABLE)]
)
def test_what_is_no_report_is_named(tmp_path: Path, data: bytes, kind: ProblemKind) -> None:
    assert kinds(report(tmp_path, data)) == [kind]


def test_a_missing_report_is_named(tmp_path: Path) -> None:
    assert kinds(junit.read(tmp_path / "junit.xml")) == [ProblemKind.MISSING]


def test_both_kinds_of_root_merge_without_losing_a_case_or_a_property(tmp_path: Path) -> None:
    one, two = tmp_path / "one.xml", tmp_path / "two.xml"
    one.write_text(
        '<testsuite name="s"><properties><property name="k" value="v"/></properties>'
        '<testcase name="t"><properties><property name="a" value="b"/></properties></testcase></testsuite>'
    )
    two.write_text(
        '<testsuites><testsuite><testcase name="t"><failure>why\x1b</failure></testcase></testsuite></testsuites>'
    )
    merged = tmp_path / "merged.xml"
    merge.write(merged, {"cell-one": junit.read(one), "cell-two": junit.read(two)})
    found = junit.read(merged)
    assert not found.problems
    assert [(case.suite, case.classname, case.name, case.outcome) for case in found.cases] == [
        ("cell-one", "cell-one", "t", Outcome.PASSED),
        ("cell-two", "cell-two", "t", Outcome.FAILED),
    ]
    assert found.cases[0].properties == (("a", "b"),)
    assert found.properties == (("k", "v"),)
    assert found.cases[1].text == "why\\x1b"


def test_one_report_under_two_names_counts_once(tmp_path: Path) -> None:
    found = report(tmp_path, '<testsuite><testcase name="t"/></testsuite>')
    assert list(merge.unique({"a": found, "b": found})) == ["a"]


def test_merging_folds_what_was_written_apart_and_keeps_what_tests_wrote(tmp_path: Path) -> None:
    path, merged = tmp_path / "one.xml", tmp_path / "merged.xml"
    path.write_text(
        """<testsuite name="s"><testcase classname="a" name="t" time="1"><system-out>one\n&amp; two</system-out>
        </testcase>
        <testcase classname="a" name="u"><system-err>x</system-err></testcase>
        <testcase classname="a" name="t" time="0.5"><error message="q&quot;'&lt;&#10;">]]&gt;</error></testcase>
        <testcase classname="a" name="u"><system-err>x</system-err></testcase></testsuite>"""
    )
    merge.write(merged, {"c": junit.read(path)})
    assert [(case.name, case.outcome.value, case.output) for case in junit.stream(merged)] == [
        ("t", "error", "one\n& two"),
        ("u", "passed", "x"),
    ]
    found = junit.read(merged)
    assert not found.problems
    assert found.cases[0].seconds == 1.5
    assert (found.cases[0].message, found.cases[0].text) == ("q\"'<\n", "]]>")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_survives_merging(tmp_path: Path, outcome: Outcome) -> None:
    case = Case(suite="s", classname="c", name="n", outcome=outcome, message="m", text="x")
    merged = tmp_path / "merged.xml"
    merge.write(merged, {"cell": Report(path=tmp_path / "a.xml", cases=(case,))})
    found = junit.read(merged)
    assert [each.outcome for each in found.cases] == [outcome]
    assert not found.problems
