"""What is run in place of a page's own commands: in this process, planned, or with names filled in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.docs import inside, planning
from tests.e2e.docs.fold import marked
from tests.e2e.docs.forms import untyped
from tests.e2e.docs.projects import Room


def test_what_starts_nothing_is_a_call_with_its_variables() -> None:
    call = inside.read("A_KEY=b stackproof recordings diff \\\n    'x y' --limit 10   # said of it")
    assert call is not None
    assert (call.words, dict(call.variables)) == (("recordings", "diff", "x y", "--limit", "10"), {"A_KEY": "b"})
    assert call.reads


@pytest.mark.parametrize(
    "line",
    [
        "stackproof run --suite base",
        "stackproof lane run desk --shard 1/2",
        "stackproof stack up server:reference",
        "stackproof verdict --json | python -c 'pass'",
        "stackproof completion bash > there",
        "stackproof verdict $(ls)",
        "git status",
        "python -m stackproof lane list",
    ],
)
def test_what_starts_more_or_takes_a_shell_is_none(line: str) -> None:
    assert inside.read(line) is None


@pytest.mark.parametrize(
    "line", ["stackproof recordings rename a b", "stackproof timings --output x", "stackproof init"]
)
def test_what_may_change_a_project_does_not_share_one(line: str) -> None:
    call = inside.read(line)
    assert call is not None
    assert not call.reads


def test_a_call_has_the_folder_the_variables_and_the_files_of_its_room(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    call = inside.read("stackproof verdict runs/*/")
    assert call is not None
    code, printed = inside.run(call, Room(root=tmp_path, environ={"NO_COLOR": "1"}))
    assert code != 0
    assert printed
    assert inside.named("runs/*/", tmp_path) == ["runs/a/", "runs/b/"]
    assert inside.named("runs", tmp_path) == []


@pytest.mark.parametrize(
    ("line", "plan"),
    [
        ("stackproof run --suite base", "stackproof run --suite base --dry-run"),
        ("nox -s integration -- --setup x -- -x   # said", "stackproof run --setup x --dry-run -- -x"),
        ("pip install nox && python -m nox -s integration -- --setup x", "stackproof run --setup x --dry-run"),
        ("A_URL=~/b stackproof run", "A_URL=/home/reader/b stackproof run --dry-run"),
        ("stackproof run … --strict", ""),
        ("stackproof lane run x", ""),
        ("nox -s lint", ""),
    ],
)
def test_a_run_has_a_plan(line: str, plan: str) -> None:
    assert planning.plan_of(line) == plan


def test_the_head_of_a_run_ends_where_it_starts() -> None:
    head = ["stackproof 0.1.0 · run abcdef · replay", "  suite  base   --suite", "  from   recordings/x, 1 file"]
    assert planning.head([*head, "● ready in 1 s", "  else   where"]) == head
    assert planning.head(["…", *head]) == []


def test_what_a_form_has_and_nobody_types_is_found() -> None:
    form = ["stackproof claims list [--json]   all of them", "stackproof claims show NAME [--json]   one"]
    assert list(untyped(form, ["stackproof claims list --json", "stackproof claims show x --json"])) == []
    assert list(untyped(form, ["stackproof claims list", "stackproof claims show x --json"])) == [
        "stackproof claims list is not typed with --json"
    ]
    assert list(untyped(form, ["stackproof claims list --json"])) == [
        "stackproof claims show is not typed",
        "stackproof claims show is not typed with --json",
    ]


def test_words_behind_marks_are_told_once() -> None:
    assert marked(["✓ python  3.11", "      more", "! release  a", "✗ release  b"]) == ["python", "release"]
