"""Which CI system reads the output, as its own variables say."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from stackproof.option_values import truthy


class Kind(StrEnum):
    """GitHub and GitLab read marks in the output; another system is only known to be no person."""

    GITHUB = "github"
    GITLAB = "gitlab"
    OTHER = "other"
    NONE = "none"

    @property
    def reads_marks(self) -> bool:
        """Whether a line of the output may be taken for more than text."""
        return self in (Kind.GITHUB, Kind.GITLAB)


def of(environ: Mapping[str, str]) -> Kind:
    """By GITHUB_ACTIONS and GITLAB_CI, which nobody else sets, and CI, which all of them do.

    https://docs.github.com/en/actions/reference/workflows-and-actions/variables,
    https://docs.gitlab.com/ci/variables/predefined_variables/
    """
    if truthy(environ.get("GITHUB_ACTIONS")):
        return Kind.GITHUB
    if truthy(environ.get("GITLAB_CI")):
        return Kind.GITLAB
    return Kind.OTHER if truthy(environ.get("CI")) else Kind.NONE


def shows_more(environ: Mapping[str, str]) -> bool:
    """Whether it shows more than the output: notes beside the changed lines, or a page of the job."""
    return of(environ) is Kind.GITHUB or bool(environ.get("GITHUB_STEP_SUMMARY"))
