"""The manifest against the schemas of the newest Kubernetes versions that `kubernetes-validate` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from stackproof.shards.kubernetes import JobOrder, SecretKey, manifest

validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
NEWEST = list(dict.fromkeys(validate.utils.major_minor(each) for each in validate.utils.all_versions()))[-3:]

KEY = SecretKey(variable="OPENAI_API_KEY", name="providers", key="openai", optional=True)
ORDERS: list[dict[str, Any]] = [
    {},
    {"shards": 1, "namespace": "ci", "environment": {"SOME": "yes"}, "needs": ("node",)},
    {"sealed": False, "secrets": (KEY,), "parallelism": 2},
    {"shards": 100_000, "parallelism": 4096, "title": "lane " + "x.Y" * 100},
]


def test_three_versions_are_tried() -> None:
    assert len(NEWEST) == 3


@pytest.mark.parametrize("version", NEWEST)
@pytest.mark.parametrize("more", ORDERS, ids=["plain", "one", "live", "large"])
def test_each_document_is_as_that_version_wants_it(
    order: Callable[..., JobOrder], version: str, more: dict[str, Any]
) -> None:
    documents = [each for each in yaml.safe_load_all(manifest(order(**more))) if each]
    assert documents
    for document in documents:
        assert validate.validate(document, version, strict=True) == version


@pytest.mark.parametrize("version", NEWEST)
def test_a_field_that_is_none_would_be_seen(order: Callable[..., JobOrder], version: str) -> None:
    job = [each for each in yaml.safe_load_all(manifest(order())) if each][-1]
    job["spec"]["backoffLimitPerIndexes"] = 2
    with pytest.raises(validate.ValidationError):
        validate.validate(job, version, strict=True)
