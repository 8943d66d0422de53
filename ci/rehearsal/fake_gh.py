"""Stands for `gh` in a rehearsal: issues, comments and labels are files, and every call is noted.

Run as a program of its own, by whatever Python: nothing but the standard library. It plays the commands that workflows
need and refuses all others, so that nothing is thought to work which was never tried. What the token may do is asked of
REHEARSAL_PERMISSIONS (`contents=read,issues=write`), as in a private repository; another token than the job's own may
do anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

TOKEN = "ghs_" + "rehearsal" * 4
_BOT = {"login": "github-actions[bot]", "type": "Bot"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """state: a folder with issues.json, labels.json, comments.json, pulls.json, runs.json. artifacts: <run>/<name>."""

    state: Path
    artifacts: Path


class RefusedError(Exception):
    """What gh prints before it ends with 1, or with another code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


class State:
    """Lists in files, and the notes of what was asked."""

    def __init__(self, place: Place) -> None:
        self._folder, self.artifacts = place.state, place.artifacts

    def load(self, name: str) -> list[dict[str, Any]]:
        """All of a kind."""
        path = self._folder / f"{name}.json"
        found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        return found

    def save(self, name: str, items: list[dict[str, Any]]) -> None:
        """Keep all of a kind."""
        (self._folder / f"{name}.json").write_text(json.dumps(items, indent=1))

    def note(self, words: Sequence[str]) -> None:
        """Keep what was asked, without what it was said with: a body may be long."""
        with (self._folder / "asked.jsonl").open("a") as file:
            file.write(json.dumps(list(words)) + "\n")

    def asked(self) -> list[list[str]]:
        """What was asked so far."""
        path = self._folder / "asked.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main(words: Sequence[str], place: Place) -> int:
    """Play one call."""
    state = State(place)
    state.note(words)
    name = "api" if words[:1] == ["api"] else " ".join(words[:2])
    try:
        _token()
        _command(name)(list(words[1 if name == "api" else 2 :]), state)
    except RefusedError as error:
        print(f"gh: {error}", file=sys.stderr)
        return error.code
    return 0


def _command(name: str) -> Callable[[list[str], State], None]:
    if name not in _COMMANDS:
        raise RefusedError(f"the rehearsal does not play `gh {name}`", 2)
    return _COMMANDS[name]


def _token() -> str:
    token = os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN") or ""
    if not token:
        raise RefusedError("in a workflow, set the GH_TOKEN environment variable: GH_TOKEN: ${{ github.token }}", 4)
    return token


def allow(scope: str, level: str) -> None:
    """Refuse what the job's own token may not do."""
    if _token() != TOKEN:
        return
    pairs = os.environ.get("REHEARSAL_PERMISSIONS", "").split(",")
    if f"{scope}=write" not in pairs and f"{scope}={level}" not in pairs:
        raise RefusedError(f"HTTP 403: Resource not accessible by integration (needs {scope}: {level})")


def _repository(given: str | None) -> None:
    """gh asks the folder's remote where nobody names a repository."""
    if given or os.environ.get("GH_REPO"):
        return
    done = subprocess.run(["git", "remote", "get-url", "origin"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError("failed to run git: fatal: not a git repository (set GH_REPO, or use --repo)")


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"gh {name}", add_help=False, allow_abbrev=False)
    parser.add_argument("--repo", "-R")
    return parser


def _print(value: Any, fields: str | None, jq: str | None, *, many: bool = True) -> None:
    if fields is None:
        return
    wanted = fields.split(",")
    for item in value if many else [value]:
        for field in wanted:
            if field not in item:
                raise RefusedError(f"Unknown JSON field: {field!r}")
    cut = [{field: item[field] for field in wanted} for item in (value if many else [value])]
    _out(cut if many else cut[0], jq)


def _out(value: Any, jq: str | None) -> None:
    text = json.dumps(value)
    if jq is None:
        print(text)
        return
    program = shutil.which("jq")
    if program is None:
        raise RefusedError("this machine has no jq, which plays --jq here", 2)
    done = subprocess.run([program, "-r", jq], input=text, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    if done.returncode:
        raise RefusedError(f"--jq: {done.stderr.strip()}")


def _issue_list(words: list[str], state: State) -> None:
    parser = _parser("issue list")
    for name in ("--label", "--state", "--limit", "--json", "--jq", "--search", "--author"):
        parser.add_argument(name, action="append" if name == "--label" else "store")
    given = parser.parse_args(words)
    _repository(given.repo)
    allow("issues", "read")
    if given.search:
        raise RefusedError("the rehearsal does not play --search", 2)
    wanted = set(given.label or ())
    found = [
        one
        for one in state.load("issues")
        if (given.state or "open").lower() in ("all", one["state"].lower())
        and wanted <= {label["name"] for label in one["labels"]}
    ]
    _print(found[: int(given.limit or 30)], given.json, given.jq)


def _issue_create(words: list[str], state: State) -> None:
    parser = _parser("issue create")
    parser.add_argument("--title", required=True)
    parser.add_argument("--body")
    parser.add_argument("--body-file")
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--assignee", action="append", default=[])
    given = parser.parse_args(words)
    _repository(given.repo)
    allow("issues", "write")
    labels = [name for one in given.label for name in one.split(",")]
    for label in labels:
        if label not in [one["name"] for one in state.load("labels")]:
            raise RefusedError(f"could not add label: {label!r} not found")
    issues = state.load("issues")
    number = len(issues) + 101
    url = f"https://github.com/{os.environ.get('GITHUB_REPOSITORY', '')}/issues/{number}"
    body = _body(given)
    labelled = [{"name": label} for label in labels]
    made = {"number": number, "title": given.title, "body": body, "state": "OPEN", "labels": labelled, "url": url}
    state.save("issues", [*issues, {**made, "author": _BOT, "createdAt": "2026-01-01T00:00:00Z"}])
    print(url)


def _body(given: argparse.Namespace) -> str:
    if given.body_file:
        return sys.stdin.read() if given.body_file == "-" else Path(given.body_file).read_text()
    if given.body is None:
        raise RefusedError("must provide `--body` when not running interactively")
    return str(given.body)


def _issue(words: list[str], state: State, what: str) -> None:
    parser = _parser(f"issue {what}")
    parser.add_argument("number")
    for name in ("--body", "--body-file", "--comment", "--reason", "--title", "--add-label"):
        parser.add_argument(name)
    given = parser.parse_args(words)
    _repository(given.repo)
    allow("issues", "write")
    number, issues = int(given.number.rpartition("/")[2]), state.load("issues")
    one = next((one for one in issues if one["number"] == number), None)
    if one is None:
        raise RefusedError(f"Could not resolve to an issue with the number of {number}.")
    if what == "comment" or given.comment:
        _comment(state, number, given.comment or _body(given))
    if what == "edit":
        one["title"] = given.title or one["title"]
        one["body"] = _body(given) if given.body or given.body_file else one["body"]
    elif what != "comment":
        one["state"] = "CLOSED" if what == "close" else "OPEN"
    state.save("issues", issues)


def _comment(state: State, number: int, body: str) -> dict[str, Any]:
    comments = state.load("comments")
    made = {"id": 9000 + len(comments), "number": number, "body": body, "user": _BOT}
    state.save("comments", [*comments, made])
    return made


def _label_create(words: list[str], state: State) -> None:
    parser = _parser("label create")
    parser.add_argument("name")
    parser.add_argument("--force", "-f", action="store_true")
    parser.add_argument("--description", "-d")
    parser.add_argument("--color", "-c")
    given = parser.parse_args(words)
    _repository(given.repo)
    allow("issues", "write")
    labels = state.load("labels")
    if given.name in [one["name"] for one in labels]:
        if not given.force:
            raise RefusedError(f"label with name {given.name!r} already exists; use `--force` to update its color")
        return
    state.save("labels", [*labels, {"name": given.name}])


def _run_list(words: list[str], state: State) -> None:
    parser = _parser("run list")
    for name in ("--workflow", "--branch", "--status", "--limit", "--json", "--jq", "--event", "--commit", "--created"):
        parser.add_argument(name)
    given = parser.parse_args(words)
    _repository(given.repo)
    allow("actions", "read")
    since = (given.created or "").removeprefix(">=")
    if since and not re.fullmatch(r"\d{4}-\d\d-\d\d", since):
        raise RefusedError(f"the rehearsal does not play --created {given.created}", 2)
    found = [
        one
        for one in state.load("runs")
        if one["createdAt"][:10] >= since
        and (not given.workflow or given.workflow in (one["workflowName"], one["file"].rpartition("/")[2]))
        and (not given.branch or given.branch == one["headBranch"])
        and (not given.event or given.event == one["event"])
        and (not given.commit or given.commit == one["headSha"])
        and (not given.status or given.status in (one["status"], one["conclusion"]))
    ]
    _print(found[: int(given.limit or 20)], given.json, given.jq)


def _run_download(words: list[str], state: State) -> None:
    parser = _parser("run download")
    parser.add_argument("id")
    parser.add_argument("--name", "-n", action="append", default=[])
    parser.add_argument("--pattern", "-p", action="append", default=[])
    parser.add_argument("--dir", "-D", default=".")
    given = parser.parse_args(words)
    _repository(given.repo)
    allow("actions", "read")
    folder = state.artifacts / given.id
    have = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    chosen = [
        name
        for name in have
        if (not given.name and not given.pattern)
        or name in given.name
        or any(fnmatchcase(name, pattern) for pattern in given.pattern)
    ]
    if not chosen:
        raise RefusedError("no artifact matches any of the names" if have else "no valid artifacts found to download")
    for name in chosen:
        # One that is named is laid out as it is; others lie each in a folder of its name.
        to = Path(given.dir) if len(given.name) == 1 and not given.pattern else Path(given.dir) / name
        shutil.copytree(folder / name, to, dirs_exist_ok=True)


def _workflow_run(words: list[str], state: State) -> None:
    parser = _parser("workflow run")
    parser.add_argument("name")
    parser.add_argument("--ref", "-r")
    parser.add_argument("--field", "-f", "-F", "--raw-field", action="append", default=[])
    given = parser.parse_args(words)
    _repository(given.repo)
    allow("actions", "write")
    started = state.load("started")
    state.save("started", [*started, {"workflow": given.name, "ref": given.ref, "fields": given.field}])


def _setup_git() -> None:
    """Credentials for git: from now on a push is as far as the token permits."""
    config = ["git", "config", "--global"]
    subprocess.run([*config, "--unset-all", f"url.{os.environ['REHEARSAL_NO_PUSH']}.pushInsteadOf"], check=False)


def _api(words: list[str], state: State) -> None:
    parser = argparse.ArgumentParser(prog="gh api", add_help=False, allow_abbrev=False)
    parser.add_argument("path")
    parser.add_argument("--method", "-X")
    parser.add_argument("--field", "-F", action="append", default=[])
    parser.add_argument("--raw-field", "-f", action="append", default=[])
    parser.add_argument("--jq", "-q")
    parser.add_argument("--header", "-H", action="append")
    for name in ("--paginate", "--silent", "--slurp"):
        parser.add_argument(name, action="store_true")
    given = parser.parse_args(words)
    fields = dict(one.split("=", 1) for one in [*given.raw_field, *given.field])
    for name, value in fields.items():
        if value.startswith("@") and f"{name}={value}" in given.field:
            fields[name] = sys.stdin.read() if value == "@-" else Path(value[1:]).read_text()
    method = given.method or ("POST" if fields else "GET")
    path, _, query = given.path.lstrip("/").partition("?")
    fields |= dict(one.split("=", 1) for one in query.split("&") if "=" in one)
    answer = _answer(method, path, fields, state)
    if not given.silent and answer is not None:
        _out(answer, given.jq)


def _answer(method: str, path: str, fields: dict[str, str], state: State) -> Any:
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    rest = path.removeprefix(f"repos/{repository}/").removeprefix("repos/{owner}/{repo}/")
    if rest == path:
        raise RefusedError(f"HTTP 404: Not Found ({path})")
    if (found := re.fullmatch(r"(?:issues|pulls)/(\d+)/comments", rest)) and method in ("GET", "POST"):
        number = int(found[1])
        _allow_either("write" if method == "POST" else "read")
        if method == "POST":
            return _comment(state, number, fields["body"])
        return [one for one in state.load("comments") if one["number"] == number]
    if (found := re.fullmatch(r"issues/comments/(\d+)", rest)) and method == "PATCH":
        _allow_either("write")
        comments = state.load("comments")
        for one in comments:
            if one["id"] == int(found[1]):
                one["body"] = fields["body"]
                state.save("comments", comments)
                return one
        raise RefusedError(f"HTTP 404: Not Found ({path})")
    if rest == "pulls" and method == "GET":
        allow("pull-requests", "read")
        heads = fields.get("head")
        return [one for one in state.load("pulls") if heads in (None, _head(one))]
    if (found := re.fullmatch(r"pulls/(\d+)", rest)) and method == "GET":
        allow("pull-requests", "read")
        for one in state.load("pulls"):
            if one["number"] == int(found[1]):
                return one
        raise RefusedError(f"HTTP 404: Not Found ({path})")
    raise RefusedError(f"the rehearsal does not play {method} {path}", 2)


def _head(pull: dict[str, Any]) -> str:
    return f"{pull['head']['repo']['owner']['login']}:{pull['head']['ref']}"


def _allow_either(level: str) -> None:
    """Comments on a pull request are an issue's: either permission will do."""
    try:
        allow("issues", level)
    except RefusedError:
        allow("pull-requests", level)


_COMMANDS: dict[str, Callable[[list[str], State], None]] = {
    "api": _api,
    "auth setup-git": lambda _words, _state: _setup_git(),
    "issue close": lambda words, state: _issue(words, state, "close"),
    "issue comment": lambda words, state: _issue(words, state, "comment"),
    "issue create": _issue_create,
    "issue edit": lambda words, state: _issue(words, state, "edit"),
    "issue list": _issue_list,
    "issue reopen": lambda words, state: _issue(words, state, "reopen"),
    "label create": _label_create,
    "run download": _run_download,
    "run list": _run_list,
    "workflow run": _workflow_run,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[3:], Place(state=Path(sys.argv[1]), artifacts=Path(sys.argv[2]))))
