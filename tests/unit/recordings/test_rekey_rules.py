"""Rules that were added, changed or removed, and files that lie where nothing looks: what becomes of their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackproof.cli import main as cli
from stackproof.errors import ExitCode
from stackproof.recorder import recording
from stackproof.recorder.identity import digest
from stackproof.recorder.miss import form_of
from stackproof.recordings.relocating import place

Command = Callable[..., int]
TEST = "tests/integration/base/test_a.py::test_one"
_SUITES = """
suites:
  base: {{description: d, roots: [tests/integration/base], default_setup: s, rules: {suite}}}
  all: {{description: d, roots: [tests/integration], default_setup: s, rules: {other}}}
"""
_SETUPS = """
s: {{description: d, env: {{P_URL: "http://127.0.0.1:9/v1"}}, providers: {{p: {{variable: P_URL}}}}, rules: {rules}}}
"""


def content(number: float, *, scope: str = TEST, text: str = "hi", date: str = "01", **more: Any) -> dict[str, Any]:
    """A whole recording of a request with a number in it."""
    return {
        "format": 1, "test_id": scope, "scope": scope,
        "request": {
            "provider": "p", "method": "POST", "url": "{P_URL}/x", "path": "/x", "query": [], "endpoint": "/x",
            "model": None, "headers": {}, "body": {"json": {"n": number}},
        },
        "response": {
            "status": 200, "headers": {}, "is_streaming": False, "body": {"json": {"text": text}}, "complete": True,
            "is_exception": False, "exception": None,
        },
        "rules": [], "provenance": {"recorded_at": f"2026-01-{date}T00:00:00+00:00"}, "id_normalization_mapping": {},
        **more,
    }  # fmt: skip


class Project:
    """A project in which rules can be changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rules("[]")

    def rules(self, setup: str, suite: str = "[]", other: str = "[]") -> None:
        """Say which rules are in force."""
        for name, text in (
            ("stacks/setups.yaml", _SETUPS.format(rules=setup)),
            ("tests/suites.yaml", _SUITES.format(suite=suite, other=other)),
        ):
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)

    def keep(self, made: dict[str, Any], ordinal: int = 1, name: str | None = None) -> str:
        """Write a recording where it belongs, or under another name."""
        name = name or place("s", made, ordinal, "tests/integration")
        recording.write(str(self.root / "recordings" / name), made)
        return name

    def rekey(self, *argv: str) -> int:
        """The command's exit code."""
        return cli.main(["recordings", "rekey", *argv], environ={}, project=self.root)

    def read(self, name: str) -> dict[str, Any]:
        """A recording."""
        found = recording.read(str(self.root / "recordings" / name))
        assert found is not None
        return found

    def answers(self, number: float) -> list[str]:
        """What a test would hear that asks this again and again."""
        told: list[str] = []
        while True:
            name = place("s", content(number), len(told) + 1, "tests/integration")
            found = recording.read(str(self.root / "recordings" / name))
            if found is None:
                return told
            told.append(found["response"]["body"]["json"]["text"])

    def files(self) -> dict[str, bytes]:
        """Every file."""
        root = self.root / "recordings"
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_new_rule_gives_a_file_the_name_that_is_looked_up(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = content(0.123456789)
    old = project.keep(plain)
    project.keep(content(0.5, text="not concerned"))
    project.rules("[{name: floats}]")
    before = project.files()
    assert project.rekey("--dry-run") == ExitCode.PASS
    assert project.files() == before
    assert capsys.readouterr().out.endswith("rule floats changes 1 request\nSummary: 1/2 files would be re-keyed\n")
    assert project.rekey() == ExitCode.PASS
    new = place("s", content(0.12346), 1, "tests/integration")
    assert sorted(project.files()) == sorted({*before, new} - {old})
    made = project.read(new)
    assert made["request"]["body"] == {"json": {"n": 0.12346}}
    assert made["request"]["unfolded"] == digest(form_of(plain["request"]))
    assert made["rules"] == ["floats"]
    assert made["response"] == plain["response"]
    once = project.files()
    capsys.readouterr()
    assert project.rekey() == ExitCode.PASS
    assert project.files() == once
    assert capsys.readouterr().out == "Summary: 0/2 files re-keyed\n"


def test_numbers_follow_the_old_order(project: Project) -> None:
    for ordinal in (1, 2, 3):
        project.keep(content(0.1234567, text=f"{ordinal}"), ordinal)
    project.rules("[]", suite="[{name: floats}]", other="[{name: floats}]")
    assert project.rekey() == ExitCode.PASS
    assert project.answers(0.12346) == ["1", "2", "3"]


def test_requests_that_become_equal_with_other_answers_are_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [project.keep(content(0.1234561, text="a")), project.keep(content(0.1234562, text="b"))]
    project.rules("[{name: floats}]")
    before = project.files()
    assert project.rekey() == ExitCode.RECORDINGS
    err = capsys.readouterr().err
    assert "nothing was moved: rule floats makes different requests of one scope equal" in err
    assert all(f"recordings/{name}" in err for name in names)
    assert project.files() == before


def test_those_with_equal_answers_are_numbered(project: Project) -> None:
    project.keep(content(0.1234561))
    project.keep(content(0.1234562))
    project.rules("[{name: floats}]")
    assert project.rekey() == ExitCode.PASS
    assert project.answers(0.12346) == ["hi", "hi"]


def test_a_rule_for_requests_in_a_certain_order_numbers_them_by_date(project: Project) -> None:
    project.keep(content(0.12346, text="third", date="03"))
    project.keep(content(0.12346, text="fourth, recorded anew since", date="09"), 2)
    project.keep(content(0.1234561, text="second", date="02"))
    project.keep(content(0.1234562, text="first", date="01"))
    project.rules("[{name: floats, repeat: ordinal}]")
    assert project.rekey() == ExitCode.PASS
    assert project.answers(0.12346) == ["first", "second", "third", "fourth, recorded anew since"]
    once = project.files()
    assert project.rekey() == ExitCode.PASS
    assert project.files() == once


def test_what_a_removed_rule_folded_must_be_recorded_anew(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    name = project.keep(content(0.12346, rules=["floats"]))
    before = project.files()
    assert project.rekey() == ExitCode.RECORDINGS
    out = capsys.readouterr().out
    assert "✗ 1 file folded by rule floats, which is not in force any more" in out
    assert "--setup s --file tests/integration/base/test_a.py --pattern test_one --inference-mode record" in out
    assert out.endswith("Summary: 0/1 files re-keyed, 1 to record anew\n")
    assert project.files() == before
    assert project.rekey("--json") == ExitCode.RECORDINGS
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["record_anew"][0]["file"], told["record_anew"][0]["rules"]) == (1, name, ["floats"])


def test_suites_that_fold_a_test_differently_are_named(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    name = project.keep(content(0.1234567))
    project.rules("[]", suite="[{name: floats}]")
    assert project.rekey() == ExitCode.RECORDINGS
    assert f"✗ recordings/{name}: suites base and all fold it differently" in capsys.readouterr().out
    assert list(project.files()) == [name]


def test_files_under_wrong_names_go_where_look_up_goes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.keep(content(1, text="a"), name="s/base/000000000000-00000000000000000000-2.json")
    project.keep(content(2, text="b"), name="s/elsewhere/by-hand.json")
    assert project.rekey() == ExitCode.PASS
    assert "2 files lay where nothing looks for them" in capsys.readouterr().out
    assert project.answers(2) == ["b"]
    assert place("s", content(1), 2, "tests/integration") in project.files()
    assert not (project.root / "recordings/s/elsewhere").exists()


def test_a_wrong_name_whose_right_one_has_another_answer_is_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.keep(content(1, text="a"))
    project.keep(content(1, text="b"), name="s/elsewhere/by-hand.json")
    before = project.files()
    assert project.rekey() == ExitCode.RECORDINGS
    assert "recordings/s/elsewhere/by-hand.json would become" in capsys.readouterr().err
    assert project.files() == before


def test_two_files_that_bear_each_others_names_are_put_right(project: Project) -> None:
    names = [place("s", content(n), 1, "tests/integration") for n in (1, 2)]
    project.keep(content(1, text="one"), name=names[1])
    project.keep(content(2, text="two"), name=names[0])
    assert project.rekey() == ExitCode.PASS
    assert (project.answers(1), project.answers(2)) == (["one"], ["two"])


def test_damage_and_unknown_setups_are_told_and_left(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.keep(content(1), name="gone/base/by-hand.json")
    broken = project.keep(content(1))
    (project.root / "recordings" / broken).write_text("{")
    assert project.rekey() == ExitCode.RECORDINGS
    out = capsys.readouterr().out
    assert f"✗ recordings/{broken} cannot be read" in out
    assert "warning: there is no setup gone any more" in out


def test_accepting_without_a_run_is_refused(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.keep(content(1))
    assert project.rekey("--accept", "body.json.n") == ExitCode.USAGE
    assert "--run last" in capsys.readouterr().err
