"""Any bytes give facts or a named damage; text that is well-formed enough is read whole, in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.evidence import junit, testlog
from stackproof.evidence.junit import ProblemKind, Report

XML = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
WORDS = st.sampled_from(
    [b"<testsuites>", b"<testsuite name='s' tests='1'>", b"<testcase name='t'>", b"<testcase name='t'/>", b"<failure>",
     b"<error message='e'/>", b"</failure>", b"</testcase>", b"</testsuite>", b"</testsuites>", b"<![CDATA[", b"]]>",
     b"&#27;", b"&#x0;", b"&lt;", b"&", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b"<?xml version='1.0' encoding='",
     b"utf-16", b"hex", b"idna", b"'?>", b"<!DOCTYPE t>", b"<skipped type='pytest.xfail'/>", b" status='failed'"]
)  # fmt: skip


def read(data: bytes) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.xml"
        path.write_bytes(data)
        return junit.read(path)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(WORDS, st.binary(max_size=8)), max_size=25).map(b"".join))
def test_any_bytes_give_cases_or_a_named_damage(data: bytes) -> None:
    found = read(data)
    assert found.cases or found.problems or b"<testsuite" in data.replace(b"\0", b"")
    assert all(problem.text.startswith("r.xml") for problem in found.problems)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(XML, XML, XML, st.sampled_from(["", "failure", "error", "skipped"])),
        min_size=1,
        max_size=6,
        unique_by=lambda each: (each[0], each[1]),
    ),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]),
)
def test_whatever_tests_are_called_and_say_every_case_is_read(
    cases: list[tuple[str, str, str, str]], encoding: str
) -> None:
    marks = {mark: f"<{mark}>%s</{mark}>" if mark else "%s" for _, _, _, mark in cases}
    body = "".join(
        f"<testcase classname={quoteattr(classname)} name={quoteattr(name)}>"
        f"{(marks[mark] % escape(text)) if mark else ''}</testcase>"
        for classname, name, text, mark in cases
    )
    found = read(f"<testsuite tests='{len(cases)}'>{body}</testsuite>".encode(encoding))
    assert not [problem for problem in found.problems if problem.kind is not ProblemKind.COUNTS]
    # The parser normalises spaces in names and shows what XML forbids, so two names may become one, and never fewer.
    assert 1 <= len(found.cases) <= len(cases)
    assert found.counts.failed + found.counts.errors >= min(1, sum(mark in ("failure", "error") for *_, mark in cases))


@pytest.mark.parametrize(
    "name", ["hex", "base64", "rot13", "idna", "punycode", "undefined", "utf-7", "cp037", "unicode_escape"]
)
def test_a_declared_encoding_that_is_none_for_such_a_file_costs_nothing(name: str) -> None:
    found = read(f"<?xml version='1.0' encoding='{name}'?><testsuite><testcase name='t'/></testsuite>".encode())
    assert [case.name for case in found.cases] == ["t"]
    assert not found.problems


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-32"])
def test_wide_encodings_are_known_without_a_mark(encoding: str) -> None:
    found = read("<testsuite><testcase name='é🦊'/></testsuite>".encode(encoding))
    assert [case.name for case in found.cases] == ["é🦊"]
    assert not found.problems


def test_an_empty_line_before_the_declaration_costs_nothing() -> None:
    found = read(b"\n  <?xml version='1.0'?><testsuite><testcase name='t'/></testsuite>")
    assert [case.name for case in found.cases] == ["t"]
    assert not found.problems


@pytest.mark.parametrize("at", range(65530, 65542))
def test_the_edge_of_a_piece_cuts_nothing_in_two(at: int) -> None:
    head = b"<testsuite name='"
    data = head + b"x" * (at - len(head)) + "é'><testcase name='a&#27;b&amp;c é'/></testsuite>".encode()
    found = read(data)
    assert [case.name for case in found.cases] == ["a\\x1bb&c é"]
    assert not found.problems


def test_a_report_that_ends_inside_a_case_names_it() -> None:
    found = read(b"<testsuite><testcase name='one'/>\n<testcase name='two'><failure>x")
    assert [case.name for case in found.cases] == ["one"]
    assert "in the middle of the case 'two' of line 2" in found.problems[0].text


CHILD = """
import sys, pathlib
from stackproof.evidence import junit, merge
path = pathlib.Path(sys.argv[1])
def status(key):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
found = junit.read(path)
merge.write(path.with_name("merged.xml"), {"a": found})
print(status("VmHWM") - before, [case.name for case in found.cases])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are in /proc")
def test_sixty_megabytes_of_output_cost_a_process_next_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    with path.open("w", encoding="utf-8") as file:
        file.write('<testsuite><testcase name="t"><system-out>')
        for number in range(60):
            file.write(("y&amp;\x1b é\n" if number % 2 else "yyyyyyyy\n") * (1 << 17))
        file.write('</system-out></testcase><testcase name="u"/></testsuite>')
    assert path.stat().st_size > 60 << 20
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    kibibytes, _, names = done.stdout.partition(" ")
    assert names.strip() == "['t', 'u']"
    assert int(kibibytes) < 12 << 10


PLAIN = (
    '{"event": "test", "nodeid": "a", "outcome": "passed", "duration": 0.5, "reason": null, "text": null, "attempt": 1}'
)
LINES = st.sampled_from(
    ['{"event": "collected", "nodeids": ["a", "b"]}', "[]", "{", "", "{}x",
     " ", '{"event": 3}',
     PLAIN,
     '{"event": "test", "nodeid": "a", "outcome": "passed", "duration": 1e999, "attempt": 2}',
     '{"event": "test", "nodeid": "b", "outcome": "rerun", "duration": "x"}', '{"event": "test", "nodeid": 7}',
     '{"event": "test", "nodeid": "b", "outcome": "failed", "text": "\\ud83d"}', '{"event": "finished"}', "\ufeff{}"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(LINES.map(str.encode), st.binary(max_size=12)), max_size=12))
def test_any_lines_give_a_log(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tests.jsonl"
        path.write_bytes(b"\n".join(lines))
        found = testlog.read(path)
    assert found.present
    assert found.counts.total == len(found.tests) == len(list(found.tests.values()))
    assert (found.damaged == 0) == (found.damaged_at is None)


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12),
    st.sampled_from(["passed", "failed", "rerun"]),
    st.floats(min_value=0, max_value=1e6).map(lambda value: round(value, 4)),
    st.sampled_from([1, 2]),
)
def test_the_line_that_nearly_all_are_is_read_as_any_other_spelling_of_it(
    nodeid: str, outcome: str, duration: float, attempt: int
) -> None:
    other = {"event": "collected", "nodeids": ["another"]}
    fact = {
        "event": "test", "nodeid": nodeid, "outcome": outcome, "duration": duration, "reason": None, "text": None,
        "attempt": attempt,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder) / "one", Path(folder) / "two"
        one.write_text("".join(json.dumps(each) + "\n" for each in (fact, other, fact)))
        turned = [dict(reversed(list(each.items()))) for each in (fact, other, fact)]
        two.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n\n" for each in turned))
        quick, careful = testlog.read(one), testlog.read(two)
    assert dict(quick.tests) == dict(careful.tests)
    assert (quick.collected, quick.last, quick.damaged) == (careful.collected, careful.last, careful.damaged)


def test_lines_are_counted_from_one_and_the_first_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tests.jsonl"
    finished = '{"event": "finished", "exitstatus": 0}'
    path.write_text(f'{{"event": "collected", "nodeids": ["a"]}}\n{PLAIN}\n\n{finished}x\n[]\n{finished} {{}}\n')
    found = testlog.read(path)
    assert (found.damaged, found.damaged_at, found.running, found.last) == (3, 4, (), "a")
    assert found.exitstatus is None
