"""The pods of a Job, as containers of this machine: their evidence makes a verdict, and half of it never counts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from stackproof.shards import kubernetes

SHARDS = 3


def runs(claim: Path) -> list[Path]:
    """What counts on a claim, as the documentation has it: <job>/<index>/<run>."""
    return sorted(claim.glob("[!.]*/[!.]*/[!.]*"))


@pytest.fixture(scope="module")
def stored(cluster: Any) -> Path:
    """The claim once a pod was lost in the middle, and all shards have run, two of them in its time."""
    claim: Path = cluster.claim("stored")
    slow = cluster.manifest("--env", "SLOW=900")
    lost = cluster.pod(slow, SHARDS - 1, claim)
    job = cluster.manifest()
    others = [cluster.pod(job, index, claim) for index in range(SHARDS)]
    lost.wait_for("podtoy ready in")
    lost.lose()
    for pod in others:
        done = pod.ended()
        assert done.code == 0, done.said
        assert "the run ended with 0; its evidence is in /results/" in done.said
        assert "sealed (network namespace)" in done.said
    return claim


def test_a_pod_that_was_lost_leaves_nothing_that_counts(cluster: Any, stored: Path) -> None:
    slow = cluster.manifest("--env", "SLOW=900")["metadata"]["name"]
    assert not any(slow in path.as_posix() for path in runs(stored))
    assert list(stored.glob("*/.part/*")) == []


def test_all_shards_together_are_a_pass(cluster: Any, stored: Path) -> None:
    found = runs(stored)
    assert [path.parent.name for path in found] == ["0", "1", "2"]
    done = cluster.weigh(*found, cluster.checks)
    assert done.code == 0, done.said
    assert "PASS" in done.said.splitlines()[0]
    own = [json.loads(path.read_text())["own"] for run in found for path in run.glob("cells/*/shard.json")]
    assert sum(own) == 6


def test_a_shard_that_is_left_out_is_named(cluster: Any, stored: Path) -> None:
    first, _, last = runs(stored)
    done = cluster.weigh(first, last, cluster.checks)
    assert done.code == 7, done.said
    assert "NOT PROVEN" in done.said.splitlines()[0]
    assert "shard 2/3" in done.said


def test_evidence_that_is_cut_is_not_taken_for_whole(cluster: Any, stored: Path, tmp_path: Path) -> None:
    first, second, last = runs(stored)
    cut = tmp_path / second.name
    shutil.copytree(second, cut)
    (cut / "manifest.json").unlink()
    done = cluster.weigh(first, cut, last, cluster.checks)
    assert done.code == 7, done.said


def test_the_pods_of_a_lane_bring_its_cells_and_its_checks(cluster: Any) -> None:
    claim = cluster.claim("lane")
    job = cluster.manifest(lane="all", shards=2)
    for done in [pod.ended() for pod in [cluster.pod(job, index, claim) for index in range(2)]]:
        assert done.code == 0, done.said
    found = runs(claim)
    assert [path.parent.name for path in found] == ["0", "1"]
    weighed = cluster.weigh(*found)
    assert weighed.code == 0, weighed.said
    assert cluster.weigh(found[0]).code == cluster.weigh(found[1]).code == 7


def test_tests_that_fail_are_a_result_and_no_failure_of_the_pod(cluster: Any) -> None:
    claim = cluster.claim("failed")
    done = cluster.pod(cluster.manifest("--env", "BROKEN=yes", shards=1), 0, claim).ended()
    assert done.code == 0, done.said
    assert "the run ended with 1; its evidence is in /results/" in done.said
    weighed = cluster.weigh(*runs(claim), cluster.checks)
    assert weighed.code == 1, weighed.said


def test_a_command_that_is_wrong_ends_the_job_and_stores_nothing(cluster: Any) -> None:
    claim = cluster.claim("wrong")
    job = cluster.manifest("--", "--no-such-option-of-pytest")
    # As if the image were of another commit, in which the suite has another name.
    args = job["spec"]["template"]["spec"]["containers"][0]["args"]
    args[args.index("--suite") + 1] = "gone"
    done = cluster.pod(job, 0, claim).ended()
    ends = [rule for rule in job["spec"]["podFailurePolicy"]["rules"] if rule["action"] == "FailJob"]
    assert done.code in ends[0]["onExitCodes"]["values"], done.said
    assert "unknown suite 'gone'" in done.said
    assert runs(claim) == []


def test_the_image_runs_as_whom_the_manifest_says(cluster: Any) -> None:
    job = cluster.manifest()
    assert job["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == kubernetes.USER
