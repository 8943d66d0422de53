"""A case that did not pass has the line in which it begins, however the file is cut into pieces."""

from __future__ import annotations

import pytest

from stackproof.evidence.junit_reader import Reader

CASES = (
    '<testcase classname="c"\n  name="passed"\n/>',
    '<testcase classname="c"\n  name="failed"\n>\n<failure message="m">one\n&lt; two</failure>\n</testcase>',
    '<testcase classname="c" name="told"><properties><property name="a" value="b"/></properties></testcase>\n\n',
    '<testcase classname="c" name="skipped"><skipped\n/><system-out><![CDATA[\n<testcase>\n]]></system-out></testcase>',
    '\n<!-- < \n --><testcase classname="c" name="passed too"/><testcase classname="c" name="err"><error/></testcase>',
)
FILE = "\n".join(("<testsuites>", '<testsuite name="s">', *CASES, "</testsuite>", "</testsuites>"))


def line_of(name: str) -> int:
    return FILE[: FILE.rindex("<testcase", 0, FILE.index(f'name="{name}"'))].count("\n") + 1


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 64, 1000])
def test_the_line_is_that_of_the_tag(size: int) -> None:
    reader, data = Reader(), FILE.encode()
    # Newer ones wait for more where pieces are smaller than a tag, as those of a file never are.
    at_once = getattr(reader._parser, "SetReparseDeferralEnabled", None)
    if at_once is not None:
        at_once(False)
    for _ in reader.feed(data[at : at + size] for at in range(0, len(data), size)):
        pass
    found = {case.name: case.line for case in reader.cases}
    told = {name: line_of(name) for name in ("failed", "told", "skipped", "err")}
    assert found == {"passed": 0, "passed too": 0, **told}


def test_a_stream_has_the_line_of_every_case() -> None:
    cases: list[tuple[str, int]] = []
    for _ in Reader(give=lambda case: cases.append((case.name, case.line))).feed([FILE.encode()]):
        pass
    assert cases == [(name, line_of(name)) for name, _ in cases]
    assert len(cases) == 6
