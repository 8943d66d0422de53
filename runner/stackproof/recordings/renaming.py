"""A test, file, folder, fixture, parameter or model has another name: what that makes of scopes, ids and requests.

Answers stay as they are. The model that an answer names is the one that answered, and ids in it may have travelled into
other recordings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, assert_never
from urllib.parse import quote

from stackproof.errors import UsageError
from stackproof.recorder.identity import Form
from stackproof.recorder.interaction import request_of
from stackproof.recorder.miss import form_of
from stackproof.recorder.recording import Recording
from stackproof.recordings.query import is_below, owner_of

_FIXTURE = "fixture:"


class Kind(StrEnum):
    """What was renamed."""

    FOLDER = "folder"
    FILE = "file"
    TEST = "test"
    FIXTURE = "fixture"
    PARAMETER = "parameter"
    MODEL = "model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Renaming:
    """From `old` to `new`. longer: models whose names begin with the old one: `gpt-4o` is no part of `gpt-4o-mini`."""

    kind: Kind
    old: str
    new: str
    longer: frozenset[str] = frozenset()

    def beside(self, models: frozenset[str]) -> Renaming:
        """The same where there are these models, too."""
        return replace(self, longer=frozenset(name for name in models if name.startswith(f"{self.old}-")))

    def of(self, name: str) -> str:
        """The new name of a scope or a test; the same one where it is not concerned."""
        match self.kind:
            case Kind.FOLDER | Kind.FILE | Kind.TEST:
                if not name.startswith(_FIXTURE):
                    return self._below(name)
                base = owner_of(name)
                return _FIXTURE + self._below(base) + name[len(_FIXTURE) + len(base) :]
            case Kind.FIXTURE:
                is_one = name == self.old or name.startswith(f"{self.old}[")
                return self.new + name[len(self.old) :] if is_one else name
            case Kind.PARAMETER | Kind.MODEL:
                head, bracket, parameter = name.partition("[")
                return head + bracket + self._in_parameter(parameter) if name.endswith("]") else name
        assert_never(self.kind)

    def _below(self, owner: str) -> str:
        exact = "]" in (self.old[-1:], self.new[-1:])
        concerned = owner == self.old if exact else is_below(owner, self.old)
        return self.new + owner[len(self.old) :] if concerned else owner

    def _in_parameter(self, parameter: str) -> str:
        # pytest joins the ids of several parameters with dashes; tests name a model provider/model.
        before = r"(?<![^-/])" if self.kind is Kind.MODEL else r"(?<![^-])"
        others = "".join(rf"(?!{re.escape(name[len(self.old) :])}(?![^\-\]]))" for name in sorted(self.longer))
        return re.sub(rf"{before}{re.escape(self.old)}(?![^\-\]]){others}", lambda _: self.new, parameter)


def of_names(old: str, new: str) -> Renaming:
    """What was renamed, by what the two names look like; `[new]` alone is another parameter of the old one's test.

    UsageError when they are names of different things.
    """
    if new.startswith("[") and old.endswith("]"):
        new = old.partition("[")[0] + new
    old, new = (name.removeprefix("./").rstrip("/") for name in (old, new))
    kinds = [_kind(name) for name in (old, new)]
    if kinds[0] is not kinds[1]:
        raise UsageError(
            f"{old} is a {kinds[0].value} and {new} is a {kinds[1].value}",
            hint="a folder becomes a folder, a file (….py) a file, a test or class (….py::…) a test or class; "
            "--parameter and --model rename those",
        )
    if old == new:
        raise UsageError(f"{old} is already called {new}", hint="stackproof recordings rename OLD NEW")
    return Renaming(kind=kinds[0], old=old, new=new)


def _kind(name: str) -> Kind:
    if not name or name.startswith(("/", "../")):
        raise UsageError(
            f"{name!r} is no name of a test, file or folder",
            hint="names are relative to the project, as tests/integration/test_chat.py::test_hello",
        )
    if name.startswith(_FIXTURE):
        return Kind.FIXTURE
    if "::" in name:
        return Kind.TEST
    return Kind.FILE if name.endswith(".py") else Kind.FOLDER


def renamed(content: Recording, renaming: Renaming) -> Recording:
    """The recording under the new name; the same object where it is not concerned."""
    told = {key: content.get(key) for key in ("scope", "test_id")}
    names = {key: renaming.of(name) for key, name in told.items() if isinstance(name, str)}
    request = content["request"]
    if renaming.kind is Kind.MODEL:
        form = form_of(request)
        asked = _for_model(form, renaming.old, renaming.new)
        request = request if asked == form else with_form(request, asked)
    if request is content["request"] and all(name == told[key] for key, name in names.items()):
        return content
    return {**content, **names, "request": request}


def with_form(request: dict[str, Any], form: Form) -> dict[str, Any]:
    """The request of a recording with another form, and what follows from it.

    `unfolded`, the digest of the request before rules folded it, goes: it cannot be told from the folded form.
    """
    before = request_of(form_of(request), "")["url"]
    url = str(request.get("url"))
    made = request_of(form, url.removesuffix(before))
    if not url.endswith(before):
        made["url"] = url
    rest = {key: value for key, value in request.items() if key not in made and key != "unfolded"}
    return {**made, "headers": request.get("headers", {}), **rest}


def _for_model(form: Form, old: str, new: str) -> Form:
    def named(value: Any) -> Any:
        return new if value == old else value

    query = form["query"]
    if ["model", old] in (query or ()):
        query = sorted([key, named(value) if key == "model" else value] for key, value in query)
    return {
        **form,
        "path": _in_path(form["path"], old, new),
        "query": query,
        "body": _in_body(form["body"], named),
    }


def _in_path(path: str, old: str, new: str) -> str:
    for mine, theirs in ((old, new), (quote(old, safe=""), quote(new, safe=""))):
        found = re.search(rf"/(?:models?|deployments)/(?P<name>{re.escape(mine)})(?![^/:?])", path)
        if found is not None:
            path = path[: found.start("name")] + theirs + path[found.end("name") :]
    return path


def _in_body(body: Any, named: Callable[[Any], Any]) -> Any:
    if not isinstance(body, dict):
        return body
    if isinstance(value := body.get("json"), dict) and "model" in value:
        return {**body, "json": {**value, "model": named(value["model"])}}
    if "form" in body:
        return {**body, "form": [[key, named(value) if key == "model" else value] for key, value in body["form"]]}
    if "multipart" in body:
        return {
            **body,
            "multipart": [
                {**part, "text": named(part["text"])} if part.get("name") == "model" and "text" in part else part
                for part in body["multipart"]
            ],
        }
    return body
