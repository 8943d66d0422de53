"""GitLab runs the lanes of the same file, and what it fixes by hand agrees with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackproof.lanes import ci, shown
from stackproof.lanes.records import Matrix, Trigger


def lanes(matrix: Matrix, trigger: Trigger) -> dict[str, Any]:
    """The jobs of the pipeline that `plan` makes."""
    made = yaml.safe_load(ci.as_gitlab(matrix.of(trigger), again="nox -s lane --"))
    return {name: job for name, job in made.items() if name != "variables"}


def test_every_trigger_of_the_file_is_one_of_the_pipeline(gitlab: dict[str, Any]) -> None:
    rules = gitlab["workflow"]["rules"]
    assert {each["variables"]["STACKPROOF_TRIGGER"] for each in rules} == {trigger.value for trigger in Trigger}
    # A merge train is a merge request too, so that it has to come first.
    assert rules[0]["variables"] == {"STACKPROOF_TRIGGER": "merge_group"}


def test_the_lanes_are_made_from_the_file_for_the_trigger_that_there_is(gitlab: dict[str, Any]) -> None:
    *_, last = gitlab["plan"]["script"]
    assert last == 'stackproof lane list --trigger "$STACKPROOF_TRIGGER" --format gitlab >lanes.yml'
    trigger = gitlab["lanes"]["trigger"]
    assert trigger["include"][0] == {"artifact": "lanes.yml", "job": "plan"}
    assert trigger["strategy"] == "depend"
    # What the top and the rules say is handed on. A variable that names itself would arrive as that text.
    assert trigger["forward"] == {"yaml_variables": "true", "pipeline_variables": "true"}
    assert "variables" not in gitlab["lanes"]
    assert ci.LANE in gitlab["variables"]
    # Its `$` is of the lane's job, and the job that starts the lanes would fill in its own name.
    assert gitlab["variables"]["STACKPROOF_PREPARE"]["expand"] == "false"
    assert "rules" not in gitlab["plan"]


def test_every_lane_of_a_trigger_is_a_job_with_its_report(matrix: Matrix) -> None:
    for trigger in Trigger:
        made = lanes(matrix, trigger)
        assert list(made) == [lane.name for lane in matrix.of(trigger)]
        for name, job in made.items():
            assert job["script"] == [f"nox -s lane -- {name}"]
            assert job["artifacts"]["reports"]["junit"].endswith("junit.xml")
            assert job["artifacts"]["when"] == "always"


def test_a_lane_with_shards_is_one_job_that_knows_which_of_them_it_is(
    matrix: Matrix, gitlab: dict[str, Any], tmp_path: Path
) -> None:
    lane = replace(matrix.lanes["library"], shards=2)
    job = yaml.safe_load(ci.as_gitlab([lane], again="nox -s lane --"))["library"]
    assert (job["parallel"], job["script"]) == (2, ["nox -s lane -- library --shard auto"])
    # Then GitLab calls the jobs `library 1/2`, and the machine is made ready for the lane.
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "gitlab-prepare").write_text("#!/usr/bin/env bash\nprintf '%s\\n' \"$@\"\n", encoding="utf-8")
    (tmp_path / "ci" / "gitlab-prepare").chmod(0o755)
    prepare = gitlab["variables"]["STACKPROOF_PREPARE"]["value"]
    for name in ("library", "library 1/2"):
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", *job["before_script"]],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "STACKPROOF_PREPARE": prepare, "CI_JOB_NAME": name},
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stdout.splitlines() == ["--lane", "library"]


def test_secrets_are_those_of_an_environment_and_no_file_names_them(
    matrix: Matrix, gitlab: dict[str, Any], gitlab_verdict: dict[str, Any]
) -> None:
    secrets = {secret for lane in matrix.lanes.values() for secret in lane.secrets}
    text = yaml.safe_dump([gitlab, gitlab_verdict])
    assert [secret for secret in secrets if secret in text] == []
    assert [name for name, job in {**gitlab, "end": gitlab_verdict}.items()
            if isinstance(job, dict) and "environment" in job] == []  # fmt: skip
    for trigger in Trigger:
        for name, job in lanes(matrix, trigger).items():
            environment = job.get("environment", {}).get("name")
            assert environment == matrix.lanes[name].environment
            assert bool(matrix.lanes[name].secrets) <= bool(environment), name


def test_the_verdict_waits_for_every_lane_runs_whatever_they_did_and_has_their_files(
    gitlab: dict[str, Any], gitlab_verdict: dict[str, Any]
) -> None:
    assert {"local": "ci/gitlab-verdict.yml"} in gitlab["lanes"]["trigger"]["include"]
    # The last stage; `needs` and `dependencies` would leave jobs out, whose names nobody knows here.
    assert gitlab_verdict["stage"] == ".post"
    assert not {"needs", "dependencies", "allow_failure", "when"} & gitlab_verdict.keys()
    (rule,) = gitlab_verdict["rules"]
    assert rule["when"] == "always"
    together = {trigger.value for trigger in Trigger if trigger.together}
    assert set(re.findall(r'\$STACKPROOF_TRIGGER == "(\w+)"', rule["if"])) == together
    assert gitlab_verdict["artifacts"]["when"] == "always"
    output = gitlab_verdict["artifacts"]["paths"][0].rstrip("/")
    assert gitlab_verdict["script"][-1] == f"stackproof verdict --output {output} .stackproof/runs/*/"
    assert gitlab_verdict["artifacts"]["reports"]["junit"] == f"{output}/junit.xml"


@pytest.mark.parametrize(("trigger", "named"), [("release", ".stackproof/live"), ("push", "")])
def test_a_release_insists_on_live_smokes_also_where_none_were_kept(
    gitlab_verdict: dict[str, Any], tmp_path: Path, trigger: str, named: str
) -> None:
    (tmp_path / "ci").mkdir()
    for path, script in (
        (tmp_path / "ci" / "gitlab-live-evidence", "echo live-openai has kept nothing"),
        (tmp_path / "stackproof", 'echo "weighed with ${STACKPROOF_LIVE_EVIDENCE-}."'),
    ):
        path.write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
    # GitLab runs the lines of a job in one shell.
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(gitlab_verdict["script"])],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "STACKPROOF_TRIGGER": trigger},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1] == f"weighed with {named}."


def test_what_a_lane_records_is_handed_over_as_a_patch_and_not_weighed(
    gitlab_child: dict[str, Any], matrix: Matrix, tmp_path: Path
) -> None:
    assert matrix.lanes["record"].record is not None
    (tmp_path / "stackproof").write_text('#!/usr/bin/env bash\necho "$*" >"${@: -1}"\n', encoding="utf-8")
    (tmp_path / "stackproof").chmod(0o755)
    (script,) = gitlab_child["default"]["after_script"]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    for name, left in (("record", {"recorded", "recordings.patch"}), ("library", {"runs"})):
        place = tmp_path / name / ".stackproof"
        (place / "runs" / "1a2b3c").mkdir(parents=True)
        environment = {"PATH": path, "CI_JOB_NAME": name}
        subprocess.run(["bash", "-e", "-c", script], cwd=place.parent, env=environment, check=True, timeout=120)
        assert {path.name for path in place.iterdir()} == left
    # Nor where no patch could be made of it.
    (tmp_path / "stackproof").write_text("#!/usr/bin/env bash\nexit 6\n", encoding="utf-8")
    place = tmp_path / "refused" / ".stackproof"
    (place / "runs" / "1a2b3c").mkdir(parents=True)
    subprocess.run(["bash", "-e", "-c", script], cwd=place.parent, env={"PATH": path, "CI_JOB_NAME": "record"},
                   check=False, timeout=120)  # fmt: skip
    assert {path.name for path in place.iterdir()} == {"recorded"}


def test_every_job_has_an_end(gitlab: dict[str, Any], gitlab_verdict: dict[str, Any]) -> None:
    jobs = {name: job for name, job in {**gitlab, "end": gitlab_verdict}.items()
            if isinstance(job, dict) and "script" in job}  # fmt: skip
    assert jobs.keys() >= {"plan", "lint", "tests", "end"}
    assert [name for name, job in jobs.items() if not re.fullmatch(r"\d+ minutes", job.get("timeout", ""))] == []


def test_nothing_may_fail_in_silence(gitlab: dict[str, Any]) -> None:
    assert [name for name, job in gitlab.items() if isinstance(job, dict) and "allow_failure" in job] == []


def test_live_evidence_is_what_the_live_lanes_kept_and_no_run_folder(
    project: Path, tmp_path: Path, matrix: Matrix
) -> None:
    (tmp_path / "ci").mkdir()
    shutil.copy(project / "ci" / "gitlab-live-evidence", tmp_path / "ci")
    with zipfile.ZipFile(tmp_path / "kept.zip", "w") as file:
        file.writestr(".stackproof/live/gpt.json", "{}")
        file.writestr(".stackproof/runs/1a2b3c/manifest.json", "{}")
    lanes = tmp_path / "lanes.json"
    lanes.write_text(shown.as_json(matrix.lanes.values()), encoding="utf-8")
    programs = {
        "stackproof": f'cat "{lanes}"',
        # It gives what it is asked for in the place that it is told, for one lane alone.
        "curl": f"""
            for url in "$@"; do :; done
            while [ "$1" != --output ]; do shift; done
            echo "$url" >>"{tmp_path}/asked"
            case "$url" in *job=live-openai*) cp "{tmp_path}/kept.zip" "$2" ;; *) exit 22 ;; esac
        """,
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    given = {"CI_JOB_TOKEN": "t", "CI_API_V4_URL": "https://gitlab.example.org/api/v4", "CI_PROJECT_ID": "5"}
    done = subprocess.run(
        [tmp_path / "ci" / "gitlab-live-evidence"],
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CI_DEFAULT_BRANCH": "main", **given},
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    live = [lane.name for lane in matrix.lanes.values() if lane.smoke is not None]
    assert [re.findall(r"job=([a-z-]+)&", line)[0] for line in (tmp_path / "asked").read_text().splitlines()] == live
    assert done.stdout.splitlines() == [f"{name} has kept nothing" for name in live if name != "live-openai"]
    assert [path.name for path in (tmp_path / ".stackproof").rglob("*.json")] == ["gpt.json"]
