"""Variables of a pipeline and its jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ci.rehearsal.events import TITLE
from ci.rehearsal.gitlab.config import Raw
from ci.rehearsal.order import Order
from ci.rehearsal.origin import HEAD_BRANCH, NUMBER, Origin

_NAMED = re.compile(r"\$\$|\$(\w+)|\$\{(\w+)\}")
_REQUEST = "merge_request_event"


def predefined(source: str, order: Order, origin: Origin, number: int) -> dict[str, str]:
    """What GitLab itself sets, for a pipeline of a source.

    https://docs.gitlab.com/ci/variables/predefined_variables/
    """
    of_request = source == _REQUEST
    commit = origin.head if of_request else origin.commit
    made = {
        "CI": "true",
        "GITLAB_CI": "true",
        "CI_PIPELINE_ID": str(number),
        "CI_PIPELINE_IID": str(number),
        "CI_PIPELINE_SOURCE": source,
        "CI_COMMIT_SHA": commit,
        "CI_COMMIT_SHORT_SHA": commit[:8],
        "CI_COMMIT_REF_NAME": HEAD_BRANCH if of_request else "main",
        "CI_COMMIT_REF_SLUG": "change" if of_request else "main",
        "CI_COMMIT_REF_PROTECTED": "false" if of_request else "true",
        "CI_COMMIT_BEFORE_SHA": origin.parent,
        "CI_DEFAULT_BRANCH": "main",
        "CI_PROJECT_PATH": order.repository,
        "CI_PROJECT_NAME": order.repository.rpartition("/")[2],
        "CI_PROJECT_NAMESPACE": order.repository.rpartition("/")[0],
        "CI_PROJECT_ID": "1",
        "CI_SERVER": "yes",
        "CI_SERVER_URL": "https://gitlab.example",
        "CI_PROJECT_URL": f"https://gitlab.example/{order.repository}",
    }
    if not of_request:
        return made | {"CI_COMMIT_BRANCH": "main"}
    return made | {
        "CI_MERGE_REQUEST_ID": str(NUMBER),
        "CI_MERGE_REQUEST_IID": str(NUMBER),
        "CI_MERGE_REQUEST_EVENT_TYPE": "detached",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": HEAD_BRANCH,
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": origin.head,
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": origin.commit,
        "CI_MERGE_REQUEST_TITLE": TITLE,
        "CI_OPEN_MERGE_REQUESTS": f"{order.repository}!{NUMBER}",
    }


def expanded(text: str, known: Mapping[str, str], *, below: tuple[str, ...] = ()) -> str:
    """Text with `$NAME` and `${NAME}` in it, also in what these stand for; what is unknown becomes empty."""

    def one(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name is None:
            return "$"
        if isinstance(known.get(name), Raw):
            return known[name]
        # A name inside its own value stays what it is.
        return found[0] if name in below else expanded(known.get(name, ""), known, below=(*below, name))

    return _NAMED.sub(one, text)


def worked_out(known: Mapping[str, str]) -> dict[str, str]:
    """Every variable with what it stands for."""
    return {
        name: value if isinstance(value, Raw) else expanded(value, known, below=(name,))
        for name, value in known.items()
    }


def circles(own: Mapping[str, str], wrong: Callable[[str], None]) -> None:
    """Tell of variables that name themselves: the value above is replaced before it could be looked up."""
    for name, value in own.items():
        if not isinstance(value, Raw) and any(name in (found[1], found[2]) for found in _NAMED.finditer(value)):
            wrong(f"the variable {name} names itself: it replaces what was there, and hands on the text {value!r}")
