"""Reports as writers other than pytest make them: no result may get lost in a dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.evidence import junit
from stackproof.evidence.junit import ProblemKind, Report

SUREFIRE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0.2" name="shop.CartTest" time="1,234.5"
  tests="5" errors="1" skipped="1" failures="1" flakes="2">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="adds" classname="shop.CartTest" time="0.01"/>
  <testcase name="wavers" classname="shop.CartTest" time="0.3">
    <flakyFailure message="was 3" type="AssertionError"><stackTrace><![CDATA[at shop]]></stackTrace>
      <system-out><![CDATA[tried]]></system-out></flakyFailure>
    <flakyError message="gone" type="IOException"><stackTrace>at io</stackTrace></flakyError>
  </testcase>
  <testcase name="breaks" classname="shop.CartTest" time="0.4">
    <failure message="was 4" type="AssertionError">at shop</failure>
    <rerunFailure message="was 5" type="AssertionError"><stackTrace>at shop</stackTrace></rerunFailure>
  </testcase>
  <testcase name="throws" classname="shop.CartTest" time="0.1"><error message="null" type="NPE">at x</error></testcase>
  <testcase name="later" classname="shop.CartTest" time="0"><skipped message="no database"/></testcase>
</testsuite>"""

GRADLE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="shop.CartTest" tests="3" skipped="1" failures="1" errors="0" timestamp="2026-01-01T00:00:00"
  hostname="h" time="0.07">
  <properties/>
  <testcase name="adds()" classname="shop.CartTest" time="0.05"/>
  <testcase name="[1] a, b" classname="shop.CartTest" time="0.02"><failure message="x" type="T">x</failure></testcase>
  <testcase name="later()" classname="shop.CartTest" time="0.0"><skipped/></testcase>
  <system-out><![CDATA[out]]></system-out><system-err><![CDATA[]]></system-err>
</testsuite>"""

GOTESTSUM = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="2" errors="0" time="0.012">
  <testsuite tests="3" failures="1" time="0.010000" name="example.org/cart" timestamp="2026-01-01T00:00:00Z">
    <properties><property name="go.version" value="go1.24 linux/amd64"></property></properties>
    <testcase classname="example.org/cart" name="TestAdd" time="0.000000"></testcase>
    <testcase classname="example.org/cart" name="TestAdd/two_of_one" time="0.010000">
      <failure message="Failed" type="">    cart_test.go:7: got 1</failure></testcase>
    <testcase classname="example.org/cart" name="TestLater" time="0.0"><skipped message="-short"></skipped></testcase>
  </testsuite>
  <testsuite tests="0" failures="0" time="0.000000" name="example.org/broken" timestamp="2026-01-01T00:00:00Z">
    <testcase classname="example.org/broken" name="TestMain" time="0.000000"><failure message="Failed" type="">exit 2
      </failure></testcase>
  </testsuite>
</testsuites>"""

GO_JUNIT_REPORT = """<testsuites tests="2" errors="1" skipped="0">
  <testsuite name="cart" tests="1" failures="0" errors="0" id="0" hostname="h" time="0.1">
    <testcase name="TestAdd" classname="cart" time="0.100"></testcase></testsuite>
  <testsuite name="broken" tests="1" failures="0" errors="1" id="1" hostname="h" time="0.0">
    <testcase name="[build failed]" classname="broken"><error message="Build error">undefined: x</error></testcase>
  </testsuite></testsuites>"""

JEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="3" failures="1" errors="0" time="1.2">
  <testsuite name="cart" errors="0" failures="1" skipped="1" timestamp="2026-01-01T00:00:00" time="0.6" tests="3">
    <testcase classname="cart adds" name="cart adds" time="0.001"></testcase>
    <testcase classname="cart takes" name="cart takes" time="0.002"><failure>Error: expect(x)</failure></testcase>
    <testcase classname="cart later" name="cart later" time="0"><skipped/></testcase>
  </testsuite></testsuites>"""

VITEST = """<?xml version="1.0" encoding="UTF-8" ?>
<testsuites name="vitest tests" tests="3" failures="1" errors="0" time="0.5">
  <testsuite name="test/cart.test.ts" timestamp="2026-01-01T00:00:00.000Z" tests="3" failures="1" errors="0"
    skipped="1" time="0.4">
    <testcase classname="test/cart.test.ts" name="cart &gt; adds" time="0.25"><system-out>1\n</system-out></testcase>
    <testcase classname="test/cart.test.ts" name="cart &gt; takes" time="0.15"><failure message="expected 5 to be 4"
      type="AssertionError">AssertionError ❯ test/cart.test.ts:20:28</failure></testcase>
    <testcase classname="test/cart.test.ts" name="cart &gt; later" time="0"><skipped/></testcase>
  </testsuite></testsuites>"""

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="5" failures="1" disabled="1" skipped="1" hostname="" time="3" timestamp="2026">
  <testcase name="good" classname="good" time="1.25" status="run"><properties/><system-out>fine</system-out></testcase>
  <testcase name="bad" classname="bad" time="0.5" status="fail"><failure message="SEGFAULT"/><system-out/></testcase>
  <testcase name="without" classname="without" time="0" status="notrun"><skipped message="Unable to find executable"/>
  </testcase>
  <testcase name="off" classname="off" time="0" status="disabled"><skipped message="Disabled"/></testcase>
  <testcase name="fine" classname="fine" time="0" status="run"/>
</testsuite>"""

GOOGLETEST = """<testsuites tests="3" failures="0" disabled="1" errors="0" time="0." name="AllTests">
  <testsuite name="Cart" tests="3" failures="0" disabled="1" skipped="1" errors="0" time="0.">
    <testcase name="Adds" file="cart.cc" line="7" status="run" result="completed" time="0." classname="Cart"/>
    <testcase name="DISABLED_Takes" status="notrun" result="suppressed" time="0." classname="Cart"/>
    <testcase name="Later" status="run" result="skipped" time="0." classname="Cart"><skipped message="key"/></testcase>
  </testsuite></testsuites>"""

NUNIT = """<testsuites tests="5" failures="1" disabled="2" time="0.5">
  <testsuite tests="5" time="0.5" errors="0" failures="1" skipped="2" name="Shop.Cart">
    <testcase name="Adds" assertions="1" time="0.1" status="Passed" classname="Shop.Cart"/>
    <testcase name="Takes" assertions="1" time="0.1" status="Failed" classname="Shop.Cart"><failure message="was 3">at
      </failure></testcase>
    <testcase name="Later" assertions="0" status="Skipped" classname="Shop.Cart"><skipped message="no"/></testcase>
    <testcase name="Unsure" assertions="0" time="0" status="Inconclusive" classname="Shop.Cart"/>
    <testcase name="Old" executed="True" success="True" result="Success" classname="Shop.Cart"/>
  </testsuite></testsuites>"""

NODE = """<testsuites><testcase name="adds" time="0.1" classname="test"/>
  <testcase name="takes" time="0.1" classname="test" failure="false == true"><failure type="testCodeFailure"
    message="false == true">x</failure></testcase></testsuites>"""

ALL = {
    "surefire": (SUREFIRE, "1 passed, 1 failed, 1 error, 1 flaky, 1 skipped"),
    "gradle": (GRADLE, "1 passed, 1 failed, 1 skipped"),
    "go-junit-report": (GO_JUNIT_REPORT, "1 passed, 1 error"),
    "jest": (JEST, "1 passed, 1 failed, 1 skipped"),
    "vitest": (VITEST, "1 passed, 1 failed, 1 skipped"),
    "ctest": (CTEST, "2 passed, 1 failed, 2 skipped"),
    "googletest": (GOOGLETEST, "1 passed, 2 skipped"),
    "nunit": (NUNIT, "2 passed, 1 failed, 2 skipped"),
    "node": (NODE, "1 passed, 1 failed"),
}


def report(tmp_path: Path, text: str) -> Report:
    path = tmp_path / "report.xml"
    path.write_text(text, encoding="utf-8")
    return junit.read(path)


@pytest.mark.parametrize("writer", ALL)
def test_a_dialect_is_read_and_its_numbers_are_not_held_against_it(tmp_path: Path, writer: str) -> None:
    text, words = ALL[writer]
    found = report(tmp_path, text)
    assert found.counts.words() == words
    assert [problem.text for problem in found.problems] == []


def test_a_package_of_go_that_has_no_test_and_failed_all_the_same_is_said_to_disagree(tmp_path: Path) -> None:
    found = report(tmp_path, GOTESTSUM)
    assert found.counts.words() == "1 passed, 2 failed, 1 skipped"
    assert {problem.kind for problem in found.problems} == {ProblemKind.COUNTS}
    assert "tests='0', its test cases make 1" in found.problems[0].text
    assert "failures='0', its test cases make 1" in found.problems[1].text


@pytest.mark.parametrize("tag", ["error", "failure"])
def test_a_failure_beside_the_cases_is_a_case_of_its_own(tmp_path: Path, tag: str) -> None:
    found = report(
        tmp_path,
        f'<testsuites><testsuite name="db"><testcase classname="a" name="t"/>\n<{tag} message="no server">why</{tag}>'
        "</testsuite></testsuites>",
    )
    assert [
        (case.classname, case.name, case.outcome.bad, case.message, case.text, case.line) for case in found.cases
    ] == [
        ("a", "t", False, "", "", 0),  # that it passed needs no place
        ("db", "outside any test", True, "no server", "why", 2),
    ]
    assert not found.problems


@pytest.mark.parametrize(
    ("attributes", "outcome"),
    [
        ('status="failed"', "failed"),
        ('status="FAIL"', "failed"),
        ('result="Failure"', "failed"),
        ('success="False"', "failed"),
        ('status="error"', "error"),
        ('status="timed out"', "error"),
        ('result="NotRunnable"', "error"),
        ('status="run" result="interrupted"', "error"),
        ('status="notrun"', "skipped"),
        ('status="not-run"', "skipped"),
        ('executed="False"', "skipped"),
        ('result="Ignored"', "skipped"),
        ('status="run" result="completed"', "passed"),
        ('status=""', "passed"),
        ('status="Passed" success="True"', "passed"),
    ],
)
def test_a_word_counts_where_no_mark_does(tmp_path: Path, attributes: str, outcome: str) -> None:
    found = report(tmp_path, f'<testsuite><testcase name="t" {attributes}/></testsuite>')
    assert [case.outcome.value for case in found.cases] == [outcome]
    assert not found.problems


def test_a_mark_counts_more_than_a_word(tmp_path: Path) -> None:
    found = report(tmp_path, '<testsuite><testcase name="t" status="passed"><failure/></testcase></testsuite>')
    assert [case.outcome.value for case in found.cases] == ["failed"]


def test_a_word_that_nobody_knows_is_a_problem_with_its_line(tmp_path: Path) -> None:
    found = report(tmp_path, '<testsuite>\n<testcase name="t" status="purple"/></testsuite>')
    assert [(problem.kind, problem.text) for problem in found.problems] == [
        (ProblemKind.STATUS, "report.xml: line 2 says status='purple', a word that is not known")
    ]


def test_identical_cases_count_once_and_are_said(tmp_path: Path) -> None:
    case = '<testcase classname="a" name="t" time="0.5"/>'
    found = report(tmp_path, f"<testsuite>{case}{case}{case}</testsuite>")
    assert [(case.name, case.seconds) for case in found.cases] == [("t", 0.5)]
    assert found.notes == ("report.xml: a::t is there 3 times and counts once, as passed",)
    assert not found.problems


def test_a_test_that_failed_and_then_passed_under_one_name_is_failed_and_said(tmp_path: Path) -> None:
    found = report(
        tmp_path, '<testsuite><testcase name="t"><failure/></testcase><testcase name="t" time="1"/></testsuite>'
    )
    assert [case.outcome.value for case in found.cases] == ["failed"]
    assert found.notes == ("report.xml: t is there 2 times and counts once, as failed",)


def test_the_same_names_in_two_suites_are_two_tests(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        '<testsuites><testsuite name="a"><testcase name="t"/></testsuite><testsuite name="b"><testcase name="t">'
        "<failure/></testcase></testsuite></testsuites>",
    )
    assert [(case.suite, case.outcome.value) for case in found.cases] == [("a", "passed"), ("b", "failed")]


def test_a_case_inside_a_case_loses_neither(tmp_path: Path) -> None:
    found = report(
        tmp_path, '<testsuite><testcase name="o"><failure/><testcase name="i"/><error/></testcase></testsuite>'
    )
    assert [(case.name, case.outcome.value) for case in found.cases] == [
        ("o", "failed"),
        ("i", "passed"),
        ("outside any test", "error"),
    ]


def test_elements_with_a_prefix_are_read(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        '<j:testsuite xmlns:j="urn:j" tests="1"><j:testcase name="t"><j:failure message="m">x</j:failure></j:testcase>'
        "</j:testsuite>",
    )
    assert [(case.name, case.outcome.value, case.text) for case in found.cases] == [("t", "failed", "x")]
    assert not found.problems


def test_another_kind_of_report_is_named_by_its_root(tmp_path: Path) -> None:
    found = report(tmp_path, '<test-run result="Failed"><test-case name="t" result="Failed"/></test-run>')
    assert [problem.text for problem in found.problems] == ["report.xml is no JUnit report: its root is <test-run>"]
