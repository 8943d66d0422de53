"""The merged report names the file of each test, where GitLab looks for it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from stackproof.evidence import jsonfile, junit, merge, nodeids

CASES = """\
<testsuites><testsuite name="pytest" tests="3">
<testcase classname="tests.base.test_a.TestB" name="test_c[x::y/z.py]" time="0.1"/>
<testcase classname="tests.base.test_a" name="test_d" time="0.1"/>
<testcase classname="somewhere.else" name="test_e" time="0.1"/>
</testsuite></testsuites>
"""


def test_as_the_log_beside_its_report_tells(tmp_path: Path) -> None:
    report = tmp_path / "cells" / "c" / "junit.xml"
    jsonfile.write_text(report, CASES)
    ids = ["tests/base/test_a.py::TestB::test_c[x::y/z.py]", "tests/base/test_a.py::test_d"]
    jsonfile.write_text(report.with_name("tests.jsonl"), json.dumps({"event": "collected", "nodeids": ids}))
    merge.write(tmp_path / "junit.xml", {"c": junit.read(report)})
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - of our own making
    assert suite.attrib["name"] == "c"
    found = {case.attrib["name"]: case.attrib.get("file") for case in suite}
    assert found == {"test_c[x::y/z.py]": "tests/base/test_a.py", "test_d": "tests/base/test_a.py", "test_e": None}
    # It stays a report that is read as any other.
    assert junit.read(tmp_path / "junit.xml").counts.passed == 3


def test_a_file_has_one_name_whatever_stands_in_brackets() -> None:
    assert nodeids.files(["a/test_b.py::test_c[d::e]", "a/test_b.py::TestF::test_g"]) == {
        "a.test_b": "a/test_b.py",
        "a.test_b.TestF": "a/test_b.py",
    }
