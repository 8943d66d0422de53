"""Markdown: whole in its file, cut by use where there is a limit, and never more than text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.unit.verdict_outputs.conftest import Made, Test, rule

from stackproof.verdict import markdown, publish
from stackproof.verdict.records import failed, not_proven, remark


def large(made: Made) -> Made:
    made.rules.append(rule("green", *(remark(f"remark {number} {'r' * 300}") for number in range(4000))))
    made.rules.append(rule("open", *(not_proven(f"gap {number} {'g' * 300}") for number in range(4000))))
    made.rules.append(rule("red", *(failed(f"failure {number} {'f' * 100}") for number in range(2000))))
    return made


def test_a_summary_fits_and_keeps_what_is_most_useful(made: Made) -> None:
    verdict = large(made).verdict()
    whole, cut = markdown.to_markdown(verdict), markdown.to_markdown(verdict, limit=1 << 20)
    assert len(whole.encode()) > 2 << 20
    assert len(cut.encode()) <= 1 << 20
    assert cut.index("| ✗ | red |") < cut.index(": failure 1999 ") < cut.index("- not proven: gap 0 ")
    assert "remark 0 " not in cut
    assert cut.rstrip().endswith("lines left out. All of it is in verdict.md of the run folder.")


def test_what_fits_is_whole(made: Made) -> None:
    made.cell("server:reference", [Test(name="tests/test_a.py::test_a")])
    verdict = made.verdict()
    assert markdown.to_markdown(verdict, limit=1 << 20) == markdown.to_markdown(verdict)


def test_what_other_steps_wrote_counts(made: Made, tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    page.write_bytes(b"x" * (1_000_000))
    assert publish.summarise(large(made).verdict(), {"GITHUB_STEP_SUMMARY": str(page)})
    assert page.stat().st_size <= 1 << 20
    assert "Release verdict: FAIL" in page.read_text()


def test_one_finding_cannot_push_out_all_others(made: Made) -> None:
    made.rules.append(rule("red", failed("x" * 3_000_000), failed("the other one")))
    cut = markdown.to_markdown(made.verdict(), limit=1 << 20)
    assert "the other one" in cut


def test_hostile_text_stays_text(made: Made) -> None:
    text = "</td><script>alert(1)</script> **bold** [a](http://x) | `c` $x$ ~~s~~ &amp; \x1b[31m\x00 \u202egnp"
    made.rules.append(rule("red", failed(text), title="a|b\n# heading"))
    shown = markdown.to_markdown(made.verdict())
    assert "<script" not in shown
    assert "\\*\\*bold\\*\\* \\[a\\](http://x)" in shown
    assert "\\`c\\` \\$x\\$ \\~\\~s\\~\\~ &amp;amp; \\\\x1b" in shown
    assert "\u202e" not in shown
    assert "\x00" not in shown
    assert "a\\|b \\# heading" in shown


def test_a_command_cannot_close_its_fence(made: Made) -> None:
    made.rules.append(rule("red", failed("x")))
    made.rules[-1] = replace(made.rules[-1], again="nox ```` \n```\n# out")
    shown = markdown.to_markdown(made.verdict())
    assert "`````\nnox ```` ``` # out\n`````" in shown
