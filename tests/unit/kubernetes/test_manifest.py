"""What the manifest asks of a cluster, beyond what a schema can check."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from stackproof.shards.kubernetes import OF_THE_POD, RESULTS, JobOrder, Resources, SecretKey, manifest

Parsed = Callable[..., tuple[dict[str, Any], dict[str, Any] | None]]
Order = Callable[..., JobOrder]

HOSTILE = (
    "yes", "null", "1e3", "0x1f", "- a", "a: b", "# no", "'", '"', "\\", "{{ x }}", "{% if %}", "$(HOME)", "$$", "a\nb",
    "%", "\t", "é×😀", "*a", "&a", "!a", "", " ", "...", "---", "\u2028",
)  # fmt: skip


def expanded(text: str) -> str:
    """What a pod gets of an argument, where none of the variables that it names is set."""
    return text.replace("$$", "$")


def container(job: dict[str, Any]) -> dict[str, Any]:
    only = job["spec"]["template"]["spec"]["containers"]
    assert len(only) == 1
    found = only[0]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("shards", "parallelism", "at_once"), [(1, None, 1), (8, None, 8), (8, 3, 3), (8, 20, 8)])
def test_every_shard_is_an_index(parsed: Parsed, shards: int, parallelism: int | None, at_once: int) -> None:
    job, _ = parsed(shards=shards, parallelism=parallelism)
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == shards
    assert spec["parallelism"] == at_once
    variables = {each["name"]: each for each in container(job)["env"]}
    assert variables["STACKPROOF_SHARDS"]["value"] == str(shards)
    # Kubernetes sets the index itself; one that stood here would be the same in all pods.
    assert "JOB_COMPLETION_INDEX" not in variables


def test_the_deadline_of_the_job_has_room_for_every_pod_and_attempt(parsed: Parsed) -> None:
    job, _ = parsed(shards=8, parallelism=3, minutes=10, retries=2)
    assert job["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 600
    assert job["spec"]["activeDeadlineSeconds"] >= 3 * 3 * 600


def test_nothing_runs_as_root_or_with_more_rights_than_it_needs(parsed: Parsed) -> None:
    job, _ = parsed()
    pod = job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(job)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert not any("hostPath" in volume for volume in pod["volumes"])


def test_each_volume_is_mounted_and_results_go_to_the_claim(parsed: Parsed) -> None:
    job, _ = parsed(claim="evidence-of.ci")
    volumes = {each["name"]: each for each in job["spec"]["template"]["spec"]["volumes"]}
    mounts = {each["name"]: each["mountPath"] for each in container(job)["volumeMounts"]}
    assert set(volumes) == set(mounts)
    assert volumes["results"]["persistentVolumeClaim"] == {"claimName": "evidence-of.ci"}
    evidence = next(each["value"] for each in container(job)["env"] if each["name"] == "EVIDENCE")
    assert evidence == f"{RESULTS}/{job['metadata']['name']}"
    assert mounts["results"] == RESULTS


def test_a_wrong_command_ends_the_job_and_a_disruption_costs_no_attempt(parsed: Parsed) -> None:
    job, _ = parsed(shards=8, retries=4)
    assert job["spec"]["backoffLimitPerIndex"] == 4
    assert 1 <= job["spec"]["maxFailedIndexes"] <= 8
    rules = {rule["action"]: rule for rule in job["spec"]["podFailurePolicy"]["rules"]}
    assert 2 in rules["FailJob"]["onExitCodes"]["values"]
    assert rules["FailJob"]["onExitCodes"]["containerName"] == container(job)["name"]
    assert rules["Ignore"]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_secrets_are_there_by_name_and_nothing_of_their_values(parsed: Parsed) -> None:
    job, _ = parsed(
        sealed=False,
        secrets=(
            SecretKey(variable="OPENAI_API_KEY", name="providers", key="openai"),
            SecretKey(variable="GEMINI_API_KEY", name="providers", key="GEMINI_API_KEY", optional=True),
        ),
    )
    variables = {each["name"]: each for each in container(job)["env"]}
    assert variables["OPENAI_API_KEY"]["valueFrom"] == {"secretKeyRef": {"name": "providers", "key": "openai"}}
    assert variables["GEMINI_API_KEY"]["valueFrom"]["secretKeyRef"]["optional"] is True
    assert "value" not in variables["OPENAI_API_KEY"]


def test_a_replay_has_no_way_out(parsed: Parsed) -> None:
    job, policy = parsed(sealed=True)
    assert policy is not None
    assert policy["spec"]["egress"] == []
    assert "Egress" in policy["spec"]["policyTypes"]
    selected = policy["spec"]["podSelector"]["matchLabels"].items()
    assert selected <= job["spec"]["template"]["metadata"]["labels"].items()
    # Another Job's pods are none of its business.
    other, _ = parsed(sealed=True, shards=9)
    assert not selected <= other["spec"]["template"]["metadata"]["labels"].items()


def test_real_calls_find_their_way_out(parsed: Parsed) -> None:
    _, policy = parsed(sealed=False)
    assert policy is None


def test_what_a_pod_uses_is_limited_as_it_is_asked_for(parsed: Parsed) -> None:
    job, _ = parsed(resources=Resources(cpu="500m", memory="3Gi", disk="1Gi"))
    resources = container(job)["resources"]
    assert resources["requests"] == {"cpu": "500m", "memory": "3Gi", "ephemeral-storage": "1Gi"}
    assert resources["limits"] == resources["requests"]


@pytest.mark.parametrize("text", HOSTILE)
def test_words_that_mean_something_to_yaml_or_kubernetes_arrive_as_they_are(parsed: Parsed, text: str) -> None:
    job, _ = parsed(
        title=f"lane {text}", command=("run", "--pattern", text, "--", "-k", text), environment={"SOME": text}
    )
    # The first words, `shard`, are the shell's own name.
    assert [expanded(word) for word in container(job)["args"]] == [
        "python", "-m", "stackproof", "run", "--pattern", text, "--shard", "auto", "--", "-k", text,
    ]  # fmt: skip
    assert expanded(next(each["value"] for each in container(job)["env"] if each["name"] == "SOME")) == text


@pytest.mark.parametrize("title", ["lane Server.EU", "x" * 300, "---", "Ünïcode × lane", "lane a_b c", "9"])
def test_names_are_fit_for_dns_whatever_the_lane_is_called(parsed: Parsed, title: str) -> None:
    job, policy = parsed(title=title, shards=100_000)
    name = job["metadata"]["name"]
    assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])", name)
    # A pod is called <job>-<index>-<5 characters>, and its host name is a label of DNS.
    assert len(f"{name}-99999-abcde") <= 63
    assert policy is not None
    for key, value in job["spec"]["template"]["metadata"]["labels"].items():
        assert re.fullmatch(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?", value), key


def test_what_is_ordered_otherwise_has_another_name(order: Order) -> None:
    orders = [
        order(),
        order(title="lane Server"),
        order(title="lane.server"),
        order(shards=9),
        order(image="registry.example/team/shards@sha256:" + "f" * 64),
        order(command=("lane", "run", "server", "--timings", "ci/timings.json")),
    ]
    assert len({each.name for each in orders}) == len(orders)


def test_the_same_order_gives_the_same_text(order: Order) -> None:
    assert manifest(order()) == manifest(order())
    assert manifest(order(environment={"A": "1", "B": "2"})) == manifest(order(environment={"B": "2", "A": "1"}))


def test_kubernetes_finds_nothing_to_replace_in_the_script(parsed: Parsed) -> None:
    job, _ = parsed()
    script = container(job)["command"][2]
    assert "$(" not in script
    assert "$$" not in script


@pytest.mark.parametrize(("given", "words"), [({}, []), ({"PYTEST_ADDOPTS": "-x"}, ["-x"])])
def test_pytest_keeps_its_cache_where_it_may_write(parsed: Parsed, given: dict[str, str], words: list[str]) -> None:
    job, _ = parsed(environment=given)
    (found,) = [each["value"] for each in container(job)["env"] if each["name"] == "PYTEST_ADDOPTS"]
    option, cache, *rest = found.split()
    assert (option, rest) == ("-o", words)
    assert any(cache.startswith(f"cache_dir={mount['mountPath']}/") for mount in container(job)["volumeMounts"])


def test_no_variable_is_there_twice(parsed: Parsed) -> None:
    job, _ = parsed(environment={"HOME": "/results", "PYTEST_ADDOPTS": "-x", "SOME": "x"})
    names = [each["name"] for each in container(job)["env"]]
    assert sorted(set(names)) == sorted(names)
    assert set(OF_THE_POD) - set(names) == {"JOB_COMPLETION_INDEX"}


def test_what_the_image_has_to_have_is_said_where_it_is_read(order: Order) -> None:
    text = manifest(order(needs=("python3.12", "node")))
    assert "# The image has to have python3.12, node." in text
    assert [each["kind"] for each in yaml.safe_load_all(text) if each] == ["NetworkPolicy", "Job"]
