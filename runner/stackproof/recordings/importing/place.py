"""Write imported calls into our tree: the same format, the same names, and nothing that the source does not say.

An answer stays as it was, ids and times included: a later request of the source carries the ids that an earlier answer
gave. Only what our format never keeps is left out (headers off the allow-list, values of secret fields).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from stackproof.catalog.records import SuiteSpec
from stackproof.recorder import interaction, recording, redact, rules
from stackproof.recorder.identity import Identity, describe, digest
from stackproof.recorder.interaction import Call, Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.normalise import Ids
from stackproof.recorder.recording import Recording
from stackproof.recorder.settings import Settings
from stackproof.recorder.store import COMMON, MODELS, digest_of_models, folder_of
from stackproof.recorder.take import Response
from stackproof.recordings.importing.answer import response_of
from stackproof.recordings.importing.imported import Imported, RefusedSource, Source
from stackproof.recordings.importing.report import Fate
from stackproof.recordings.query import suites_of

# Bytes that a file system takes in a path below the folder, and in one name of it.
_PATH, _NAME = 1000, 255
Rules = tuple[Mapping[str, Any], ...]


class Place:
    """Takes the calls of one import in their order. Nothing is written when `dry`.

    environ: where the values of a setup's secrets are looked up, which must not be in anything that is written.
    suites: those whose rules say what of a request is compared.
    """

    def __init__(
        self,
        root: Path,
        *,
        integration_root: str,
        overwrite: bool = False,
        dry: bool = False,
        environ: Mapping[str, str] | None = None,
        suites: Mapping[str, SuiteSpec] | None = None,
    ) -> None:
        self._root = root
        self._environ = environ or {}
        self._suites = suites or {}
        self._integration_root = integration_root
        self._overwrite = overwrite
        self._dry = dry
        self._taken: dict[tuple[str, str, str], list[str]] = {}  # setup, scope, request -> digests of answers, in order
        self._unfolded: dict[tuple[str, str, str], str] = {}
        self._lists: set[Path] = set()

    def put(self, source: Source, item: Imported, form: str) -> Fate:
        """Write one call of `source`, which is of format `form`. RefusedSource says why that cannot be."""
        call = _call(item, self._active(item))
        response = response_of(item.answer)
        content = _compose(call, response, item, source, form)
        found = redact.find(content, redact.known_values(item.setup.all_secrets, self._environ))
        if found is not None:
            raise RefusedSource(f"{found[0]} is in {found[1]}")
        if interaction.is_model_list(call, response):
            return self._put_list(item, call, content)
        key = (item.setup.name, call.identity.scope, call.identity.request)
        self._refuse_folded(key, call)
        takes = self._taken.setdefault(key, [])
        essence = sha256(recording.dumps(content["response"]).encode()).hexdigest()
        if essence in takes and not item.repeats:
            return Fate.FOLDED
        fate = self._write(self._folder(item) / call.identity.file_name(len(takes) + 1), content)
        takes.append(essence)
        return fate

    def _folder(self, item: Imported) -> Path:
        """Where the recordings of the call's scope lie. A node id comes from a file, and may say anything."""
        below = folder_of(item.scope.name, self._integration_root)
        parts = below.split("/")
        is_path = below.isprintable() and len(below.encode()) <= _PATH and max(len(x.encode()) for x in parts) <= _NAME
        if ".." in parts or below.startswith("/") or not is_path:
            raise RefusedSource("its test's path leads out of the folder of recordings, or is none")
        return self._root / item.setup.name / below

    def _active(self, item: Imported) -> Rules:
        """The rules of a run that replays it: its setup's, and those of the first suite that its test belongs to."""
        found = suites_of(item.scope.name, {name: suite.roots for name, suite in self._suites.items()})
        return item.setup.rules + (self._suites[found[0]].rules if found else ())

    def _put_list(self, item: Imported, call: Call, content: Recording) -> Fate:
        """A model list belongs to no scope and has no number: `common/models-<request>-<digest of its ids>.json`."""
        name = f"{MODELS}-{call.identity.request[:20]}-{digest_of_models(content['response'])}.json"
        path = self._root / item.setup.name / COMMON / name
        if path in self._lists:
            return Fate.FOLDED
        self._lists.add(path)
        return self._write(path, content)

    def _refuse_folded(self, key: tuple[str, str, str], call: Call) -> None:
        """Two different requests that only a rule makes equal must not share their answers' order by accident."""
        plain = digest(call.plain)
        narrow = [str(rule["name"]) for rule in call.acted if rule.get("repeat") != "ordinal"]
        if self._unfolded.setdefault(key, plain) != plain and narrow:
            raise RefusedSource(f"its request equals another one of the same test only by rule {', '.join(narrow)}")

    def _write(self, path: Path, content: Recording) -> Fate:
        try:
            present = recording.read(str(path))
        except recording.DamagedRecordingError:
            present = {}
        if present is not None:
            if present and _same(present, content):
                return Fate.PRESENT
            if not self._overwrite:
                raise RefusedSource("another recording is in its place; --overwrite replaces it")
        if not self._dry:
            recording.write(str(path), content)
        return Fate.WRITTEN


def _call(item: Imported, active: Rules) -> Call:
    plain = describe(
        provider=item.target.provider,
        method=item.method,
        path=item.target.path,
        query=item.target.query,
        content_type=item.content_type,
        body=item.body,
    )
    form = rules.apply(plain, active) if active else plain
    return Call(
        request=Request(method=item.method, url="", headers={}, body=item.body),
        target=item.target,
        plain=plain,
        form=form,
        scope=item.scope,
        identity=Identity(scope=item.scope.digest, request=digest(form)),
        acted=rules.acted(plain, active) if active else (),
    )


def _compose(call: Call, response: Response, item: Imported, source: Source, form: str) -> Recording:
    settings = Settings(mode=Mode.RECORD, recordings="", setup=item.setup.name, run_dir="", run_id="")
    composed = interaction.compose(call, response, Ids(call.identity.request, 1), settings)
    # Who recorded it, when and with what is the source's to say: nothing of this machine and day gets in.
    origin: dict[str, Any] = {"format": form, "file": source.name, "sha256": source.sha256}
    if item.number is not None:
        origin["interaction"] = item.number
    return {
        **composed,
        "provenance": {**item.provenance, "imported_from": origin},
        "id_normalization_mapping": dict(item.ids),
    }


def _same(present: Recording, content: Recording) -> bool:
    """Whether the file there answers the same request in the same way, whatever either says of its origin."""
    kept = ("scope", "request", "response")
    return json.dumps([present.get(key) for key in kept], sort_keys=True) == json.dumps(
        [content[key] for key in kept], sort_keys=True
    )
