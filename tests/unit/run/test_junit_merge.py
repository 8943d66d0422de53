"""The reports of several cells become one; a damaged one does not spoil the others."""

from __future__ import annotations

from pathlib import Path

from stackproof.evidence import junit
from stackproof.junit_merge import merge

REPORT = (
    '<testsuites><testsuite name="pytest" tests="1" failures="0" errors="0" skipped="0">'
    '<testcase classname="t" name="test_{}" time="0.1"/></testsuite></testsuites>'
)


def test_no_case_is_lost_and_each_suite_is_named_after_its_cell(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.xml").write_text(REPORT.format(name))
    merge({"cell-a": tmp_path / "a.xml", "cell-b": tmp_path / "b.xml"}, tmp_path / "junit.xml")
    assert [(case.suite, case.name) for case in junit.read(tmp_path / "junit.xml").cases] == [
        ("stackproof / cell-a", "test_a"),
        ("stackproof / cell-b", "test_b"),
    ]


def test_missing_and_damaged_reports_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<testsuites><testsuite")
    merge({"a": tmp_path / "a.xml", "b": tmp_path / "none.xml"}, tmp_path / "junit.xml")
    assert not (tmp_path / "junit.xml").exists()
    (tmp_path / "c.xml").write_text(REPORT.format("c"))
    merge({"a": tmp_path / "a.xml", "c": tmp_path / "c.xml"}, tmp_path / "junit.xml")
    assert len(junit.read(tmp_path / "junit.xml").cases) == 1


def test_a_single_report_is_copied_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<testsuites>\x00 whatever")
    merge({"a": tmp_path / "a.xml"}, tmp_path / "junit.xml")
    assert (tmp_path / "junit.xml").read_bytes() == b"<testsuites>\x00 whatever"
    merge({"a": tmp_path / "none.xml"}, tmp_path / "other.xml")
    assert not (tmp_path / "other.xml").exists()
