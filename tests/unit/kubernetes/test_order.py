"""What becomes of a request for a Job: what runs in a pod, what its secrets are, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog, options, plan
from stackproof.catalog.records import Catalog
from stackproof.cli import kubernetes_order
from stackproof.cli.kubernetes_order import Asked
from stackproof.errors import UsageError
from stackproof.lanes import read
from stackproof.lanes.records import Check, Lane
from stackproof.plan import Plan
from stackproof.shards.kubernetes import JobOrder, Resources, SecretKey, manifest

PROJECT = Path(__file__).parents[3]
IMAGE = "registry.example/team/shards@sha256:" + "0123456789abcdef" * 4
ASKED = Asked(shards=4, image=IMAGE, claim="evidence")


@pytest.fixture(scope="module")
def things() -> Catalog:
    return catalog.load(PROJECT)


@pytest.fixture(scope="module")
def lanes(things: Catalog) -> dict[str, Lane]:
    return dict(read.load(PROJECT, known=things).lanes)


@pytest.fixture
def planned(things: Catalog) -> Callable[..., Plan]:
    """The plan of a run of this project."""

    def make(environ: dict[str, str] | None = None, **given: Any) -> Plan:
        around = environ or {}
        return plan.make(options.resolve(given, around, PROJECT), things, PROJECT, "000000", caller=around)

    return make


def refused(asked: Asked, made: Plan) -> str:
    with pytest.raises(UsageError) as caught:
        kubernetes_order.of_run(asked, made)
    return caught.value.message


def test_a_lane_runs_by_its_name_for_as_long_as_it_may(lanes: dict[str, Lane]) -> None:
    lane = replace(lanes["server"], env={"SOME": "1"}, timeout=7)
    order = kubernetes_order.of_lane(ASKED, lane, ("ci/timings.json",))
    assert order.command == ("lane", "run", "server", "--timings", "ci/timings.json")
    assert (order.shards, order.minutes, order.sealed, order.secrets) == (4, 7, True, ())
    assert order.environment == {"SOME": "1"}


def test_what_a_lane_needs_of_the_image_is_said(lanes: dict[str, Lane]) -> None:
    lane = replace(lanes["server"], python="3.13", node=True, checks=(Check.TYPES,))
    assert kubernetes_order.of_lane(ASKED, lane).needs == ("Python 3.13", "Node.js", "mypy")
    assert kubernetes_order.of_lane(ASKED, lanes["server"]).needs == ()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("docker", "lane 'docker' needs a Docker engine, base × ollama × docker:reference for one, and a pod has none"),
        ("record", "lane 'record' records, and several jobs would write into the same recordings"),
        (
            "live-openai",
            "lane 'live-openai' makes real calls within one budget, which each of several jobs would spend",
        ),
    ],
)
def test_a_lane_that_no_pod_can_run_is_refused(lanes: dict[str, Lane], name: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        kubernetes_order.of_lane(ASKED, lanes[name])
    assert caught.value.message == why


def test_a_run_is_asked_for_in_the_pod_as_here(planned: Callable[..., Plan]) -> None:
    made = planned(
        {"STACKPROOF_SUITE_TIMEOUT": "90"},
        suite="base",
        setup="ollama",
        stack_config="server:reference",
        pattern="it's $HOME",
        timings=("ci/timings.json",),
        pytest_args=("-x",),
    )
    order = kubernetes_order.of_run(ASKED, made)
    assert order.command == (
        "run", "--suite", "base", "--setup", "ollama", "--stack-config", "server:reference",
        "--pattern", "it's $HOME", "--timings", "ci/timings.json", "--suite-timeout", "90", "--", "-x",
    )  # fmt: skip
    assert order.sealed
    assert order.title == "base-ollama-server-reference"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"inference_mode": "record"}, "--inference-mode: recordings are made on one machine, and the pods of a Job"),
        ({"stack_config": "docker:reference"}, "--stack-config: docker:reference needs a Docker engine, and a pod"),
    ],
)
def test_a_run_that_no_pod_can_do_is_refused(planned: Callable[..., Plan], given: dict[str, str], why: str) -> None:
    assert refused(ASKED, planned(**given)).startswith(why)


@pytest.mark.parametrize(
    "image",
    ["shards", "shards:1.2", "registry.example:5000/a/b:latest", "a@sha256:short", f"a b@sha256:{'0' * 64}",
     f"a@sha256:{'0' * 64}\n", f"a@sha512:{'0' * 64}", f"@sha256:{'0' * 64}", f"A@sha256:{'F' * 64}", ""],
)  # fmt: skip
def test_an_image_that_is_not_named_by_its_digest_is_refused(planned: Callable[..., Plan], image: str) -> None:
    said = refused(replace(ASKED, image=image), planned())
    assert said == f"--image: {image!r} is no image by its digest, and a name may mean another image tomorrow"


@pytest.mark.parametrize("name", ["a", "registry.example:5000/a/b:1.2", "docker.io/a_b/c"])
def test_an_image_by_its_digest_is_taken(planned: Callable[..., Plan], name: str) -> None:
    image = f"{name}@sha256:{'0' * 64}"
    assert kubernetes_order.of_run(replace(ASKED, image=image), planned()).image == image


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"image": None}, "--format kubernetes needs --image, the image that runs in the pods"),
        ({"claim": None}, "--format kubernetes needs --claim, the volume that the evidence goes to"),
        ({"claim": "Evidence"}, "--claim: 'Evidence' is no name of a PersistentVolumeClaim"),
        ({"claim": "-a"}, "--claim: '-a' is no name of a PersistentVolumeClaim"),
        ({"namespace": "a.b"}, "--namespace: 'a.b' is no name of a namespace"),
        ({"shards": 100_001}, "--shards: a Job has at most 100000 pods, not 100001"),
        ({"resources": Resources(memory="2GB")}, "--memory: '2GB' is no quantity of Kubernetes"),
        ({"resources": Resources(cpu="one")}, "--cpu: 'one' is no quantity of Kubernetes"),
        ({"resources": Resources(disk="")}, "--disk: '' is no quantity of Kubernetes"),
        ({"secrets": ("providers",)}, "--secret: a replay calls nobody, so its pods need no secret"),
    ],
)
def test_what_the_cluster_would_refuse_is_refused_here(
    planned: Callable[..., Plan], more: dict[str, Any], why: str
) -> None:
    assert refused(replace(ASKED, **more), planned()) == why


def live(planned: Callable[..., Plan], **more: Any) -> Plan:
    return planned(setup="gpt", inference_mode="live", **more)


def test_secrets_that_real_calls_need_are_named_from_the_catalog(planned: Callable[..., Plan]) -> None:
    assert refused(ASKED, live(planned)) == (
        "real calls need OPENAI_API_KEY, and no Secret of the cluster is named that has it"
    )
    order = kubernetes_order.of_run(replace(ASKED, secrets=("providers",)), live(planned))
    assert SecretKey(variable="OPENAI_API_KEY", name="providers", key="OPENAI_API_KEY") in order.secrets
    assert not order.sealed


def test_one_variable_may_come_from_elsewhere(planned: Callable[..., Plan]) -> None:
    asked = replace(ASKED, secrets=("OPENAI_API_KEY=openai.prod/key", "OTHER=x/y"))
    found = {
        secret.variable: (secret.name, secret.key) for secret in kubernetes_order.of_run(asked, live(planned)).secrets
    }
    assert found == {"OPENAI_API_KEY": ("openai.prod", "key"), "OTHER": ("x", "y")}


@pytest.mark.parametrize(
    "text", ["sk-THIS_IS_A_VALUE", "OPENAI_API_KEY=sk-THIS_IS_A_VALUE", "OPENAI_API_KEY=a/", "A B=c/d"]
)
def test_a_value_in_the_place_of_a_name_is_refused_and_not_repeated(planned: Callable[..., Plan], text: str) -> None:
    said = refused(replace(ASKED, secrets=(text,)), live(planned))
    assert "is neither NAME nor VARIABLE=NAME/KEY" in said
    assert "THIS_IS_A_VALUE" not in said


def test_the_value_of_a_secret_is_in_no_manifest(planned: Callable[..., Plan]) -> None:
    value = "sk-never-to-be-seen-anywhere"
    made = live(planned, environ={"OPENAI_API_KEY": value}, env=(f"MY_TOKEN={value}", "PLAIN=shown"))
    order: JobOrder = kubernetes_order.of_run(replace(ASKED, secrets=("providers",)), made)
    text = manifest(order)
    assert value not in text
    assert order.environment == {"PLAIN": "shown"}
    assert {"OPENAI_API_KEY", "MY_TOKEN"} <= {secret.variable for secret in order.secrets}


def test_a_variable_that_is_called_like_a_secret_is_not_dropped_in_silence(planned: Callable[..., Plan]) -> None:
    assert refused(ASKED, planned(env=("MY_TOKEN=abc",))) == (
        "--env: MY_TOKEN is called like a secret, and its value has no place in a manifest"
    )
    asked = replace(ASKED, secrets=("OPENAI_API_KEY=a/b",))
    assert refused(asked, live(planned, env=("MY_TOKEN=abc",))) == (
        "real calls need MY_TOKEN, and no Secret of the cluster is named that has it"
    )


@pytest.mark.parametrize("name", ["POD_NAME", "STACKPROOF_SHARDS"])
def test_what_says_which_pod_it_is_cannot_be_set(planned: Callable[..., Plan], name: str) -> None:
    assert refused(ASKED, planned(env=(f"{name}=3",))) == f"{name} is set for each pod by itself"


def test_a_value_that_comes_from_a_secret_comes_from_nowhere_else(planned: Callable[..., Plan]) -> None:
    asked = replace(ASKED, secrets=("OPENAI_API_KEY=a/b", "MODEL=a/model"))
    order = kubernetes_order.of_run(asked, live(planned, env=("MODEL=x", "OTHER=y")))
    assert order.environment == {"OTHER": "y"}


def test_two_secrets_for_everything_are_one_too_many(planned: Callable[..., Plan]) -> None:
    assert refused(replace(ASKED, secrets=("a", "b")), live(planned)) == (
        "--secret: 'a' and 'b' are both given for all variables"
    )
