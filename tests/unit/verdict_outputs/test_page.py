"""The page as a file: hostile text is text, secrets are absent, and it stays small however much there is to say."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.unit.verdict_outputs.conftest import STARTED, Made, Test, example, rule

from stackproof.evidence import benchmark, jsonfile, recordings, steps
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.machine import Machine
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict.records import failed, remark

FILE = "tests/integration/base/test_chat.py"


class Read(HTMLParser):
    """Elements, links and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.scripts: list[str] = []
        self._raw = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._raw = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._raw = ""

    def handle_data(self, data: str) -> None:
        if self._raw:
            self.scripts.append(data)
        else:
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())

    @property
    def data(self) -> Any:
        (found,) = [text for text in self.scripts if text.startswith('{"files"')]
        return json.loads(found)


HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}{% raw %}"
    "<!--<script x ]]>\x00\x1b[31m\u202egnp.exe\u2066\ud800\x85&lt;javascript:alert(3) {evil}"
)


def hostile(made: Made) -> Made:
    """The text wherever a test, a log or a file can put one."""
    test = Test(name=f"{FILE}::test_a[{HOSTILE}]", outcome=Outcome.FAILED, text=f"{HOSTILE}\n{HOSTILE * 3000}")
    tests = [test, Test(name=HOSTILE), Test(name=f"{FILE}::test_s", outcome=Outcome.SKIPPED, reason=HOSTILE)]
    tests.append(Test(name=f"{FILE}::{HOSTILE}", outcome=Outcome.FLAKY, attempts=2))
    folder = made.cell("server:hostile", tests, failed(HOSTILE), remark(HOSTILE))
    miss = {"kind": "no-match", "test_id": test.name, "message": HOSTILE}
    jsonfile.write_text(folder / "misses.jsonl", json.dumps(miss) + "\n")
    (folder / "stack.log").write_bytes(HOSTILE.encode("utf-8", "surrogatepass") * 5000)
    result = jsonfile.read(folder / "result.json") or {}
    jsonfile.write(folder / "result.json", {**result, "versions": {HOSTILE: HOSTILE}})
    made.rules.append(rule(f"claim:{HOSTILE}", failed(HOSTILE), title=HOSTILE))
    made.checks()
    looked = recordings.RecordingFacts(files=1, damaged=(HOSTILE,), secrets=(HOSTILE,))
    jsonfile.write(made.folder / "checks/recordings.json", recordings.to_json(looked))
    before: dict[str, Any] = {
        "kind": "verdict",
        "run_id": HOSTILE,
        "verdict": HOSTILE,
        "commit": HOSTILE,
        "stopped": STARTED,
    }
    before["results"] = {"tests": {HOSTILE: {"passed": [HOSTILE]}, "base-ollama-server-hostile": {"passed": [HOSTILE]}}}
    gone = {"id": HOSTILE, "title": HOSTILE, "state": HOSTILE, "findings": [{"state": "FAIL", "text": HOSTILE}]}
    jsonfile.write(made.folder.parent / "other/verdict.json", {**before, "rules": [gone, {}, 3]})
    made.more = {"run_id": HOSTILE}
    return made


def test_hostile_text_is_text_everywhere(made: Made) -> None:
    page = hostile(made).page()
    read = Read(page)
    tags = [tag for tag, _ in read.elements]
    assert tags.count("script") == 3
    assert "img" not in tags
    assert not [name for _, given in read.elements for name in given if name.startswith("on")]
    for character in "\x00\x1b\u202e\u2066\x85\ud800":
        assert character not in page
    assert "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}{% raw %}" in read.text
    assert "\\x00\\x1b[31m\\u202egnp.exe\\u2066\\ud800" in read.text
    assert read.data["tests"][1][1].startswith("</script><script>alert(1)")


def test_one_huge_line_does_not_make_a_huge_page(made: Made) -> None:
    assert len(hostile(made).page()) < 250_000


def test_nothing_in_the_page_is_from_elsewhere(made: Made) -> None:
    read = Read(example(made, "fail").page())
    for tag, given in read.elements:
        assert tag not in ("iframe", "object", "embed", "base")
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert (given.get(name) or "#").startswith(("#", "data:image/svg+xml,")), (tag, given)
    policy = next(given["content"] or "" for tag, given in read.elements if given.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not [given for _, given in read.elements if "style" in given]


def test_every_link_leads_somewhere_and_every_id_is_one(made: Made) -> None:
    read = Read(hostile(example(made, "fail")).page())
    ids = [given["id"] for _, given in read.elements if "id" in given]
    assert len(ids) == len(set(ids))
    links = {(given.get("href") or "") for tag, given in read.elements if tag == "a"}
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert "" not in links
    for name in ("aria-labelledby", "for"):
        assert {given[name] for _, given in read.elements if given.get(name)} <= set(ids)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("pass", "7 rules asked, and all are green: this commit may be released."),
        ("fail", "1 rule of 8 failed."),
        ("unproven", "Nothing failed, but 1 rule of 8 could not be proven."),
    ],
)
def test_the_verdict_and_why_come_first(made: Made, kind: str, sentence: str) -> None:
    text = Read(example(made, kind).page()).text
    words = {"pass": "PASS", "fail": "FAIL", "unproven": "NOT PROVEN"}[kind]
    assert f"{words} {sentence}" in text
    assert ("mypy has not run" in text) is (kind == "unproven")


def test_a_page_without_scripts_tells_what_matters(made: Made) -> None:
    text = Read(example(made, "fail").page()).text
    for told in (
        "assert 1 == 2",
        "nearest: recordings/ollama/base/9c1f-3f9a.json",
        "ERROR no recording for POST /v1/chat/completions",
        "2 flaky: passed only when they ran again",
        "2 skipped: setup ollama names no vision model",
        "1.15 × floor, 95 % interval 1.12 to 1.17",
        "what it does not say",
        "ollama 41 96.0 kB 2026-10-01 2026-12-01 61 days",
        "machine p, 2 CPUs, Linux",
        "are not signed",
    ):
        assert told in text, told


def test_what_is_known_as_a_secret_is_in_no_output(made: Made) -> None:
    secret, shaped = "correct horse battery staple", "sk-" + "a1b2c3d4" * 4
    text = f"E   assert '{secret}' == '{shaped}'\n{FILE}:3: AssertionError"
    test = Test(name=f"{FILE}::test_a[{secret}]", outcome=Outcome.FAILED, text=text)
    skipped = Test(name=f"{FILE}::test_b", outcome=Outcome.SKIPPED, reason=secret)
    folder = made.cell("server:reference", [test, skipped], failed(f"it failed: {secret}"), remark(shaped))
    miss = {"kind": "no-match", "test_id": test.name, "message": f"sent {secret}"}
    jsonfile.write_text(folder / "misses.jsonl", json.dumps(miss) + "\n")
    jsonfile.write_text(folder / "stack.log", f"started with {secret}\n")
    published = made.publish(secrets={"API_KEY": secret}, environ={"GITHUB_ACTIONS": "true"})
    names = [path for path in made.folder.rglob("*") if path.is_file() and "cells" not in path.parts]
    names = [path for path in names if path.name != "manifest.json"]
    assert len(names) == 7
    for path in names:
        content = path.read_text()
        assert secret not in content, path
        assert shaped not in content, path
        assert "***" in content.replace("\\", "") or path.name == "svr.json"
    assert "***" in published.verdict.rules[0].findings[0].text


def test_twenty_thousand_tests_stay_small(made: Made) -> None:
    for stack in ("library:reference", "server:reference"):
        made.cell(stack, many(10_000))
    page = made.page()
    assert len(page) < 2_000_000
    read = Read(page)
    assert len(read.data["tests"]) == 20_000
    assert page.count("<li") < 1_500, "what passed is not spelt out"


def many(number: int) -> list[Test]:
    """Tests of a large suite: most pass, some fail with a page of text, some are skipped."""
    found = []
    for index in range(number):
        name = f"tests/integration/area_{index % 40}/test_module_{index % 400}.py::TestClass::test_case[{index}-value]"
        match index % 100:
            case 7:
                text = "line of the failure\n" * 300 + f"E   assert {index} == 0"
                found.append(Test(name=name, outcome=Outcome.FAILED, text=text))
            case 8 | 9:
                found.append(Test(name=name, outcome=Outcome.SKIPPED, reason=f"needs model {index % 5}"))
            case _:
                found.append(Test(name=name, seconds=index / 1000))
    return found


def test_the_run_before_is_compared_with(made: Made, tmp_path: Path) -> None:
    before = Made(folder=tmp_path / "runs/000001", more={"run_id": "000001"})
    before.rules = [rule("types"), rule("gone")]
    before.cell("server:reference", [Test(name=f"{FILE}::test_two"), Test(name=f"{FILE}::test_gone")])
    before.checks()
    before.publish()
    bad = Test(name=f"{FILE}::test_two", outcome=Outcome.FAILED, text="E   assert 1 == 2")
    made.rules = [rule("types", failed("a.py:3: wrong"))]
    made.cell("server:reference", [bad], failed("test_two failed"))
    made.cell("library:reference", [Test(name=f"{FILE}::test_two")])
    made.checks()
    text = Read(made.page()).text
    for told in (
        "Compared with run 000001 of commit 4c1d9e2 , 2 min 41 s: PASS",
        "types PASS FAIL",
        "base × ollama × library:reference not there PASS",
        "No longer asked for: gone.",
        f"1 newly failing {FILE}::test_two in base-ollama-server-reference",
        f"1 removed {FILE}::test_gone in base-ollama-server-reference",
        "base-ollama-library-reference is new.",
        "turns: +0% in ratio to the floor, within the noise",
        "2 findings not there before a.py:3: wrong test_two failed",
    ):
        assert told in text, told
    assert "Since the last verdict" not in Read(before.page()).text


def test_a_run_folder_with_nothing_in_it_has_a_page(made: Made) -> None:
    text = Read(made.page()).text
    assert "NOT PROVEN There is no rule, and so nothing is proven." in text
    assert "No test says how long it took." in text


def test_the_longest_steps_of_the_release_are_told(made: Made) -> None:
    steps.write(made.folder, {"types": 131.0, "recordings": 2.5})
    text = Read(made.page()).text
    assert "types 2 min 11 s recordings 2.5 s" in text


def test_a_benchmark_without_a_floor_has_its_numbers_and_no_plot(made: Made) -> None:
    line = BenchmarkLine(name="alone", turns=(0.010, 0.012, 0.014), floor=())
    machine = Machine(processor="p", cpus=2, system="Linux", python="CPython 3.11.7")
    facts = BenchmarkFacts(lines={"alone": line}, machine=machine, date="2026-12-01T10:22:00+00:00")
    jsonfile.write(made.folder / "checks/benchmark.json", benchmark.to_json(facts))
    page = made.page()
    text = Read(page).text
    assert "turn 12.0 ms 14.0 ms 14.0 ms" in text
    assert "median 12.0 ms, P95 14.0, max 14.0, 3 samples." in text
    assert "<circle class=" not in page
