"""Where recordings lie: looked up by name, written to the run folder first, moved into place when their test passed."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from . import promotion, recording, sidefile
from .identity import Identity
from .recording import Recording
from .scope import STACK, STACK_NAME, Scope

if TYPE_CHECKING:
    from .debug import Trace

COMMON = "common"
MODELS = "models"
STAGED = "staged"
OBSERVED = "observed"
_ABANDONED = 60.0  # seconds after which a file without a recording is nobody's
_NAME = re.compile(r"(?P<scope>[0-9a-f]{12})-(?P<request>[0-9a-f]{20})(?:-(?P<ordinal>\d+))?\.json\Z")


def folder_of(scope_name: str, integration_root: str) -> str:
    """Folder of a scope's recordings below the setup's: that of its test file, or `common`.

    A suite may lie beside the integration root, as tests/live beside tests/integration: its recordings are in `live`.
    """
    if scope_name == STACK_NAME:
        return COMMON
    is_fixture = scope_name.startswith("fixture:")
    base = scope_name.removeprefix("fixture:").partition("::")[0]
    # A fixture's base id may be a folder, a file, or nothing at all; a test's is always its file.
    folder = base if is_fixture and not base.endswith(".py") else os.path.dirname(base)
    root = os.path.normpath(integration_root).strip("/")
    if root == ".":
        return folder or (COMMON if is_fixture else ".")
    if folder == root:
        return "."
    for above in (root, os.path.dirname(root)):
        if above and folder.startswith(above + "/"):
            return folder[len(above) + 1 :]
    return COMMON


class Store:
    """Recordings of one setup below `root`, and the staged ones of this run below `run_dir`."""

    def __init__(
        self,
        root: str,
        setup: str,
        run_dir: str,
        integration_root: str,
        *,
        stack: str | None = None,
        staging: str = STAGED,
    ) -> None:
        """`stack`: who records here; what says that another stack recorded it is never taken for left over.

        `staging`: the folder below `run_dir` for what goes out; what is `OBSERVED` is promoted by nobody.
        """
        self.base = os.path.join(root, setup)
        self._stack = stack
        self._staged = os.path.join(run_dir, staging)
        self._integration_root = integration_root
        self._folders: dict[str, list[str]] = {}
        self.trace: Trace | None = None  # told what is moved and removed

    def folders(self, scope: Scope) -> list[str]:
        """Where a scope is looked up, in this order."""
        found = self._folders.get(scope.name)
        if found is None:
            own = os.path.normpath(os.path.join(self.base, folder_of(scope.name, self._integration_root)))
            common = os.path.join(self.base, COMMON)
            found = self._folders[scope.name] = [own] if own == common else [own, common]
        return found

    def find(self, scope: Scope, identity: Identity, ordinal: int) -> tuple[str, Recording] | None:
        """The n-th recording of a request in its scope: its path and content, else None."""
        name = identity.file_name(ordinal)
        for folder in self.folders(scope):
            path = f"{folder}/{name}"
            found = recording.read_to_replay(path)
            if found is not None:
                return path, found
        return None

    def names_of(self, scope: Scope) -> dict[str, str]:
        """File name → path of everything kept for a scope. Lists a folder: not for the way of every call."""
        prefix = scope.digest[:12] + "-"
        found: dict[str, str] = {}
        for folder in self.folders(scope):
            for name in _listing(folder):
                if name.startswith(prefix) and _NAME.match(name):
                    found.setdefault(name, os.path.join(folder, name))
        return found

    def same_request(self, scope: Scope, identity: Identity) -> Iterator[str]:
        """Paths of recordings of this very request in other scopes of the folder."""
        for folder in self.folders(scope):
            for name in _listing(folder):
                match = _NAME.match(name)
                if match and match["request"] == identity.request[:20] and match["scope"] != identity.scope[:12]:
                    yield os.path.join(folder, name)

    # -- model lists: no scope, no number, one file for each server's set

    def model_lists(self, identity: Identity) -> list[tuple[str, Recording]]:
        """Every recorded set of models for this request, in the order of their names."""
        common = os.path.join(self.base, COMMON)
        prefix = f"{MODELS}-{identity.request[:20]}-"
        paths = [os.path.join(common, name) for name in _listing(common) if name.startswith(prefix)]
        found = [(path, content) for path in paths if (content := recording.read(path)) is not None]
        for path, content in found:
            if not isinstance((content["response"].get("body") or {}).get("json"), dict):
                raise recording.DamagedRecordingError(f"{path} is not a recording: it has no list of models")
        return found

    # -- staging and promotion

    def stage(self, scope: Scope, name: str, content: Recording) -> str:
        """Write a recording to the run folder; returns its path."""
        path = os.path.join(self._staging(scope), name)
        recording.write(path, content)
        return path

    def stage_models(self, name: str, content: Recording) -> str:
        """Write a set of models to the run folder; returns its path."""
        path = os.path.join(self._staged, MODELS, name)
        recording.write(path, content)
        return path

    def staged(self, scope: Scope) -> list[str]:
        """Paths of what was recorded for this attempt of a scope."""
        folder = self._staging(scope)
        return [os.path.join(folder, name) for name in _listing(folder) if _NAME.match(name)]

    def staged_file(self, scope: Scope, name: str) -> Recording | None:
        """What another process has just recorded for a shared scope."""
        return recording.read(os.path.join(self._staging(scope), name))

    def promote(self, scope: Scope, *, replace: bool, prune: bool = True) -> tuple[int, int]:
        """Move a scope's staged recordings into place; (files written, files removed).

        `replace`: they are the scope's set from now on, and numbers of answers that were not kept are closed up.
        With `prune`, what the scope did not ask for again goes.
        """
        staging = self._staging(scope)
        order = promotion.Order(scope=scope.name, names=self._numbered(scope, replace), prune=replace and prune)
        if order.names:
            promotion.begin(staging, order)
            return self._carry_out(staging, order)
        return 0, self._prune(scope, set()) if order.prune else 0

    def promote_rest(self, scope: Scope, *, replace: bool, prune: bool = True) -> tuple[int, int]:
        """Move what was recorded after the scope's promotion: numbers go on, and what was moved then stays.

        What a stack calls while it is torn down comes so late.
        """
        staging = self._staging(scope)
        ended = promotion.ended(staging)
        before = (*ended.names.values(), *ended.kept) if ended else ()
        names = self._numbered(scope, replace, before)
        if names:
            order = promotion.Order(scope=scope.name, names=names, prune=replace and prune, kept=before)
            promotion.begin(staging, order)
            return self._carry_out(staging, order)
        return 0, self._prune(scope, set(before)) if replace and prune else 0

    def was_promoted(self, scope: Scope) -> bool:
        """Whether this attempt's recordings are in place already: what is staged now was recorded too late."""
        return promotion.has_ended(self._staging(scope))

    def finish_promotions(self) -> tuple[int, int]:
        """Carry out what a killed process had begun to move; (files written, files removed)."""
        written = removed = 0
        for staging, order in list(promotion.unfinished(self._staged)):
            counts = self._carry_out(staging, order)
            written, removed = written + counts[0], removed + counts[1]
        return written, removed

    def _numbered(self, scope: Scope, replace: bool, before: Sequence[str] = ()) -> dict[str, str]:
        """Staged file name → its name in place. `before`: names that its earlier recordings have got."""
        taken = Counter(match["request"] for match in map(_NAME.match, before) if match)
        numbered: dict[str, list[tuple[int, str]]] = {}
        for path in self.staged(scope):
            staged = os.path.basename(path)
            match = _NAME.match(staged)
            if match:
                numbered.setdefault(match["request"], []).append((int(match["ordinal"] or 1), staged))
        present = set(self.names_of(scope))
        names: dict[str, str] = {}
        for request, takes in numbered.items():
            for closed, (_, staged) in enumerate(sorted(takes), start=1 + taken[request]):
                # In record-if-missing the files before this one are in place already: their numbers are taken.
                ordinal = closed if replace else self._free(present | {*names.values()}, scope, request)
                names[staged] = Identity(scope=scope.digest, request=request).file_name(ordinal)
        return names

    def _carry_out(self, staging: str, order: promotion.Order) -> tuple[int, int]:
        """Safe to do again from the start, wherever it was cut off: a staged file that is gone is in place."""
        scope = Scope(name=order.scope)
        folder = self.folders(scope)[0]
        written = 0
        for staged, name in order.names.items():
            content = recording.read(os.path.join(staging, staged))
            if content is not None:
                written += self._put(scope, os.path.join(folder, name), content)
        removed = self._prune(scope, {*order.names.values(), *order.kept} if order.prune else None)
        for staged in order.names:
            recording.remove(os.path.join(staging, staged))
        promotion.end(staging)
        return written, removed

    def _put(self, scope: Scope, path: str, content: Recording) -> bool:
        changed = recording.write(path, content)
        if self.trace is not None:
            self.trace.promoted(scope, path, changed=changed)
        return changed

    def _prune(self, scope: Scope, kept: set[str] | None) -> int:
        """Remove what is not `kept` of a scope, and all of it where it lies in a folder that is not the scope's own.

        None keeps every recording. What killed processes left behind goes in either case.
        """
        own, prefix = self.folders(scope)[0], scope.digest[:12] + "-"
        removed = 0
        for folder in self.folders(scope):
            names = _listing(folder)
            for name in names:
                path = os.path.join(folder, name)
                if name.startswith(f".{prefix}") and name.endswith(".tmp"):
                    _remove_abandoned(path)
                elif not name.startswith(prefix):
                    continue
                elif _NAME.match(name):
                    if kept is None or (folder == own and name in kept):
                        continue
                    # Stacks share a test's recordings, and ask in their own words: what one leaves another needs.
                    if not recording.is_of_another(path, self._stack):
                        recording.remove(path)
                        removed += 1
                        if self.trace is not None:
                            self.trace.removed(scope, path, "its scope did not ask for it again")
                elif sidefile.is_one(name) and sidefile.belongs_to(name) not in names:
                    _remove_abandoned(path)
        return removed

    def drop(self, scope: Scope) -> int:
        """Remove what a failed attempt recorded; how many files that were."""
        paths = self.staged(scope)
        for path in paths:
            recording.remove(path)
            if self.trace is not None:
                self.trace.removed(scope, path, "its test did not pass")
        return len(paths)

    def promote_models(self) -> int:
        """Move staged sets of models into place; older sets of the same server and request go."""
        staged, common = os.path.join(self._staged, MODELS), os.path.join(self.base, COMMON)
        written = 0
        names = [name for name in _listing(staged) if name.startswith(f"{MODELS}-")]
        for name in names:
            content = recording.read(os.path.join(staged, name))
            if content is None:
                continue
            written += self._put(STACK, os.path.join(common, name), content)
            prefix = name[: name.rfind("-") + 1]
            for old in _listing(common):
                if (
                    old.startswith(prefix)
                    and old not in names
                    and self._same_server(os.path.join(common, old), content)
                ):
                    recording.remove(os.path.join(common, old))
        return written

    @staticmethod
    def _same_server(path: str, content: Recording) -> bool:
        try:
            other = recording.read(path)
        except recording.DamagedRecordingError:
            return True
        return other is not None and other["request"].get("url") == content["request"].get("url")

    @staticmethod
    def _free(taken: set[str], scope: Scope, request: str) -> int:
        identity = Identity(scope=scope.digest, request=request)
        ordinal = 1
        while identity.file_name(ordinal) in taken:
            ordinal += 1
        return ordinal

    def _staging(self, scope: Scope) -> str:
        # A shared scope is recorded once for all workers, so neither worker nor attempt keeps its files apart.
        attempt = "shared" if scope.is_shared else str(scope.attempt)
        return os.path.join(self._staged, scope.digest[:12], attempt)


def _remove_abandoned(path: str) -> None:
    """Remove what a killed process was writing; not what another is writing now."""
    with contextlib.suppress(FileNotFoundError):
        if time.time() - os.stat(path).st_mtime > _ABANDONED:
            os.unlink(path)


def _listing(folder: str) -> Sequence[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


@dataclass(frozen=True, kw_only=True, slots=True)
class FileName:
    """What the name of a recording says: the first digits of both digests (12 and 20), and its number from 1."""

    scope: str
    request: str
    ordinal: int


def parse_name(name: str) -> FileName | None:
    """Take the name of a recording apart; None for a model list, a side file, or something else."""
    match = _NAME.match(name)
    if match is None:
        return None
    return FileName(scope=match["scope"], request=match["request"], ordinal=int(match["ordinal"] or 1))


def ordinal_of(name: str) -> int:
    """The number in a recording's file name."""
    parsed = parse_name(name)
    return parsed.ordinal if parsed else 1


def digest_of_models(response: dict[str, Any]) -> str:
    """Twelve digits of the set of model ids in a model list."""
    body = response["body"]["json"]
    items = body.get("data") or body.get("models") or []
    return sha256("\n".join(sorted(map(_model_id, items))).encode()).hexdigest()[:12]


def _model_id(item: Any) -> str:
    return str(item.get("id") or item.get("model") or item.get("name")) if isinstance(item, dict) else str(item)


def merge_models(found: Sequence[Recording]) -> Any:
    """One list out of several servers' lists: `data` or `models`, the first one as it is, then what it lacks by id."""
    bodies = [item["response"]["body"]["json"] for item in found]
    merged = dict(bodies[0])
    for key in ("data", "models"):
        lists = [body[key] for body in bodies if isinstance(body.get(key), list)]
        if lists:
            merged[key] = list(lists[0])  # some servers name a model twice in theirs
            seen = set(map(_model_id, lists[0]))
            for item in (item for items in lists[1:] for item in items):
                if _model_id(item) not in seen:
                    seen.add(_model_id(item))
                    merged[key].append(item)
    return merged
