"""Which shard a job of a CI system is, as the system's own variables say: `--shard auto`.

Sources, by system: https://docs.gitlab.com/ci/variables/predefined_variables/,
https://devcenter.heroku.com/articles/heroku-ci-parallel-test-runs,
https://circleci.com/docs/reference/variables/, https://buildkite.com/docs/pipelines/configure/environment-variables,
https://learn.microsoft.com/azure/devops/pipelines/test/parallel-testing-any-test-runner,
https://docs.semaphoreci.com/reference/env-vars,
https://support.atlassian.com/bitbucket-cloud/docs/set-up-or-run-parallel-steps/,
https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackproof.errors import UsageError
from stackproof.shards.records import Shard, require_some


@dataclass(frozen=True, kw_only=True, slots=True)
class Variables:
    """How one system tells. first: what it calls the first shard. when: a variable that only this system sets."""

    system: str
    index: str
    total: str
    first: int
    when: str | None = None


# Heroku comes before GitLab: it has the same names, and counts from 0.
KNOWN = (
    Variables(system="Heroku CI", index="CI_NODE_INDEX", total="CI_NODE_TOTAL", first=0, when="HEROKU_TEST_RUN_ID"),
    Variables(system="GitLab", index="CI_NODE_INDEX", total="CI_NODE_TOTAL", first=1),
    Variables(system="CircleCI", index="CIRCLE_NODE_INDEX", total="CIRCLE_NODE_TOTAL", first=0),
    Variables(system="Buildkite", index="BUILDKITE_PARALLEL_JOB", total="BUILDKITE_PARALLEL_JOB_COUNT", first=0),
    Variables(system="Azure Pipelines", index="SYSTEM_JOBPOSITIONINPHASE", total="SYSTEM_TOTALJOBSINPHASE", first=1),
    Variables(system="Semaphore", index="SEMAPHORE_JOB_INDEX", total="SEMAPHORE_JOB_COUNT", first=1),
    Variables(
        system="Bitbucket Pipelines", index="BITBUCKET_PARALLEL_STEP", total="BITBUCKET_PARALLEL_STEP_COUNT", first=0
    ),
    Variables(system="Kubernetes", index="JOB_COMPLETION_INDEX", total="STACKPROOF_SHARDS", first=0),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A shard and where it is from: `CI_NODE_INDEX, CI_NODE_TOTAL`."""

    shard: Shard
    source: str


def read(environ: Mapping[str, str]) -> Told:
    """The shard that this job is. UsageError when nobody says, or what is said cannot be."""
    told = [_told(each, environ) for each in KNOWN if _speaks(each, environ)]
    if not told:
        raise UsageError(
            "--shard auto: no variable of a CI system says which shard this job is",
            hint="say it: --shard 1/3; `stackproof docs shards` lists the variables that are known",
        )
    first = told[0]
    for other in told[1:]:
        if other.shard != first.shard:
            raise UsageError(
                f"--shard auto: {first.source} say {first.shard}, and {other.source} say {other.shard}",
                hint="say which it is: --shard I/N, or unset the others",
            )
    return first


def _speaks(known: Variables, environ: Mapping[str, str]) -> bool:
    if known.when is not None and not environ.get(known.when):
        return False
    if known.system == "GitLab" and environ.get("HEROKU_TEST_RUN_ID"):
        return False
    # How many shards there are is also asked for by who starts them: alone it says nothing of this job.
    return bool(environ.get(known.index)) or (bool(environ.get(known.total)) and known.total != "STACKPROOF_SHARDS")


def _told(known: Variables, environ: Mapping[str, str]) -> Told:
    index, total = environ.get(known.index, ""), environ.get(known.total, "")
    source = f"{known.index} and {known.total}"
    if not index and total == "1":
        # GitLab says so in every job that is not parallel.
        return Told(shard=Shard(index=1, total=1), source=source)
    if not index or not total:
        lacking, there = (known.index, known.total) if not index else (known.total, known.index)
        raise UsageError(
            f"--shard auto: {there} is {environ[there]!r} ({known.system}), and {lacking} is not set",
            hint=f"set {lacking} too, or say which shard this is: --shard I/N",
        )
    for name, value in ((known.index, index), (known.total, total)):
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise UsageError(
                f"--shard auto: {name} is {value!r} ({known.system}), which is not a number",
                hint="say which shard this is: --shard I/N",
            )
    require_some(int(total), where=f"--shard auto: {known.total}")
    number = int(index) - known.first + 1
    if not 1 <= number <= int(total):
        last = int(total) - 1 + known.first
        raise UsageError(
            f"--shard auto: {known.index} is {index} and {known.total} is {total}, "
            f"where {known.system} counts from {known.first} to {last}",
            hint="say which shard this is: --shard I/N",
        )
    return Told(shard=Shard(index=number, total=int(total)), source=source)
