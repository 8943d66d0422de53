"""`stackproof plan --format kubernetes`, as somebody types it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from stackproof.cli.main import main

IMAGE = "registry.example/team/shards@sha256:" + "0123456789abcdef" * 4
JOB = ("--format", "kubernetes", "--image", IMAGE, "--claim", "evidence")
FILES = {
    "tests/suites.yaml": "suites:\n  base: {description: d, roots: [tests/integration/base], default_setup: local}\n",
    "tests/integration/base/test_a.py": "",
    "stacks/setups.yaml": "local: {description: d, env: {}}\n",
    "stacks/toy/stack.yaml": 'description: d\nmodes: [server]\ncommand: ["{python}"]\n',
    "ci/timings.json": "{}",
    "ci/release.yaml": 'version: 1\ncells: [{suite: base, setup: local, stack: "server:toy"}]\n',
    "ci/matrix.yaml": (
        "version: 1\nlanes:\n"
        "  all: {description: d, triggers: [push], cells: {release: {}}, timeout: 9, shards: 5}\n"
        "  some: {description: d, triggers: [schedule], schedule: '7 1 * * *', cells: {release: {}}}\n"
    ),
    ".gitignore": ".stackproof/\n",
}
Plan = Callable[..., tuple[int, str, str]]


@pytest.fixture
def planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Plan:
    """Run `stackproof plan` in a small project; its exit code, output and complaint."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["plan", *words], environ={}, project=tmp_path)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_a_lane_becomes_a_job(planned: Plan) -> None:
    code, text, _ = planned("--lane", "all", "--shards", "3", "--timings", "ci/timings.json", *JOB)
    assert code == 0
    job = [each for each in yaml.safe_load_all(text) if each][-1]
    assert (job["kind"], job["spec"]["completions"]) == ("Job", 3)
    args = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["python", "-m", "stackproof", "lane", "run", "all", "--timings", "ci/timings.json",
                    "--shard", "auto"]  # fmt: skip
    assert job["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 9 * 60


def test_a_lane_that_says_how_many_needs_not_be_told(planned: Plan) -> None:
    _, text, _ = planned("--lane", "all", *JOB)
    assert [each for each in yaml.safe_load_all(text) if each][-1]["spec"]["completions"] == 5
    code, _, said = planned("--lane", "some", *JOB)
    assert (code, said.splitlines()[0]) == (2, "✗ --format kubernetes needs --shards, the number of pods")


def test_a_run_becomes_a_job(planned: Plan) -> None:
    words = ("--suite", "base", "--stack-config", "server:toy", "--pattern", "a or b", "--shards", "2")
    code, text, _ = planned(*words, *JOB, "--parallelism", "1", "--", "-x")
    assert code == 0
    job = [each for each in yaml.safe_load_all(text) if each][-1]
    assert job["spec"]["parallelism"] == 1
    args = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[3:] == ["run", "--suite", "base", "--stack-config", "server:toy", "--pattern", "a or b",
                        "--shard", "auto", "--", "-x"]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--suite", "base"), "✗ --suite is for --format kubernetes alone"),
        (("--lane", "all", "--claim", "a"), "✗ --claim is for --format kubernetes alone"),
        (("--lane", "all", "x"), "✗ unexpected argument 'x'"),
        (("--lane", "all", "--suite", "base", *JOB), "✗ --lane says what runs, and so does --suite"),
        (("--lane", "all", *JOB, "--", "-x"), "✗ --lane says what runs, and so does an argument of pytest"),
        (("--lane", "all", *JOB[:2], "--image", "shards:1", "--claim", "a"),
         "✗ --image: 'shards:1' is no image by its digest, and a name may mean another image tomorrow"),
        (("--lane", "all", "--timings", ".stackproof/runs", *JOB),
         "✗ --timings: .stackproof/runs will not be in the image, which holds the files that Git keeps"),
        (("--lane", "all", "--timings", "../x", *JOB),
         "✗ --timings: ../x will not be in the image, which holds the files that Git keeps"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence(planned: Plan, words: tuple[str, ...], why: str) -> None:
    code, text, said = planned(*words)
    assert (code, text, said.splitlines()[0]) == (2, "", why)


def test_help_keeps_what_is_for_pods_apart(planned: Plan) -> None:
    _, text, _ = planned("--help")
    own, pods = text.split("For --format kubernetes:")
    assert "--lane" in own
    assert "--image" not in own
    assert "--claim" in pods
