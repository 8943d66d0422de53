"""What docs/how-to/kubernetes.md says of the command and the manifest is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from stackproof.cli import kubernetes_plan
from stackproof.shards import kubernetes

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", [each for each in kubernetes_plan.parameters() if each.opts[0].startswith("--")])
def test_every_option_of_a_job_is_explained(option: object) -> None:
    assert f"`{option.opts[0]}" in PAGE  # type: ignore[attr-defined]


def test_the_objects_beside_the_job_fit_it() -> None:
    found = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    claim = next(each for each in found if each.get("kind") == "PersistentVolumeClaim")
    pod = next(each for each in found if each.get("kind") == "Pod")
    assert pod["spec"]["securityContext"]["runAsUser"] == kubernetes.USER
    (volume,) = pod["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    (mount,) = pod["spec"]["containers"][0]["volumeMounts"]
    assert (mount["mountPath"], mount["readOnly"]) == (kubernetes.RESULTS, True)


def test_the_objects_beside_the_job_are_as_kubernetes_wants_them() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    found = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    kinds = [each for each in found if "kind" in each]
    assert len(kinds) == 2
    for each in kinds:
        assert validate.validate(each, validate.utils.latest_version(), strict=True)
