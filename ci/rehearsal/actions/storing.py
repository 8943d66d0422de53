"""actions/upload-artifact, actions/download-artifact, and actions/cache, which never finds anything here."""

from __future__ import annotations

from collections.abc import Mapping

from ci.rehearsal.actions.call import Call, FailedError, Played
from ci.rehearsal.artifacts import ArtifactError, select


def _upload(call: Call) -> Mapping[str, str]:
    path, missing = call.inputs["path"], call.inputs["if-no-files-found"]
    if not path.strip():
        raise FailedError("the input 'path' is required and not given")
    if missing not in ("warn", "error", "ignore"):
        raise FailedError(f"the input 'if-no-files-found' is not {missing!r}")
    if not call.flag("archive"):
        raise FailedError("the input 'archive: false' is not played")
    name, hidden = call.inputs["name"], call.flag("include-hidden-files")
    selected = select(path, call.machine.workspace, hidden=hidden)
    if not selected.files:
        text = f"no file was found with the path {path.strip()!r}"
        if not hidden and select(path, call.machine.workspace, hidden=True).files:
            text += "; only hidden ones, and 'include-hidden-files' is not set"
        if missing == "error":
            raise FailedError(text)
        if missing == "warn":
            call.wrong(f"{text}; no artifact {name!r} is made")
        return {}
    try:
        call.store.keep(call.run, name, selected, overwrite=call.flag("overwrite"))
    except ArtifactError as error:
        raise FailedError(str(error)) from None
    call.say(f"{len(selected.files)} file(s) kept as {name!r}")
    number = str(call.store.names(call.run).index(name) + 1)
    return {"artifact-id": number, "artifact-url": f"https://github.com/{call.repository}/artifacts/{number}"}


def _download(call: Call) -> Mapping[str, str]:
    if call.inputs["artifact-ids"] or call.flag("skip-decompress"):
        raise FailedError("the inputs 'artifact-ids' and 'skip-decompress' are not played")
    run = call.run
    if call.inputs["github-token"]:
        call.allow("actions")
        run = int(call.inputs["run-id"] or call.run)
    elif call.inputs["run-id"] not in ("", str(call.run)):
        call.wrong("'run-id' is given without 'github-token', so the artifacts are those of this run")
    to = call.path(call.inputs["path"] or ".")
    name = call.inputs["name"]
    try:
        if name:
            call.store.take(run, name, to)
            names = [name]
        else:
            names = call.store.take_many(run, call.inputs["pattern"], to, merge=call.flag("merge-multiple"))
    except ArtifactError as error:
        raise FailedError(str(error)) from None
    if not names and not call.pretended:
        call.wrong(f"no artifact matches {call.inputs['pattern'] or '*'!r}; the step succeeds without one")
    call.say(f"{len(names)} artifact(s) laid out: {', '.join(names) or 'none'}")
    return {"download-path": str(to)}


def _cache(call: Call) -> Mapping[str, str]:
    for needed in ("path", "key"):
        if not call.inputs[needed].strip():
            raise FailedError(f"the input {needed!r} is required and not given")
    if call.flag("fail-on-cache-miss"):
        raise FailedError("nothing is cached here, and 'fail-on-cache-miss' is set")
    call.say("nothing is cached, as on a first run")
    return {"cache-hit": ""}


UPLOAD = Played(
    outputs=("artifact-id", "artifact-url", "artifact-digest"),
    inputs={
        "name": "artifact",
        "path": "",
        "if-no-files-found": "warn",
        "retention-days": "",
        "compression-level": "6",
        "archive": "true",
        **dict.fromkeys(("overwrite", "include-hidden-files"), "false"),
    },
    do=_upload,
)
DOWNLOAD = Played(
    outputs=("download-path",),
    inputs={
        **dict.fromkeys(("name", "artifact-ids", "path", "pattern", "github-token", "repository", "run-id"), ""),
        **dict.fromkeys(("merge-multiple", "skip-decompress"), "false"),
        "digest-mismatch": "error",
    },
    do=_download,
)
CACHE = Played(
    outputs=("cache-hit", "cache-primary-key", "cache-matched-key"),
    inputs={
        **dict.fromkeys(("path", "key", "restore-keys", "upload-chunk-size"), ""),
        **dict.fromkeys(("enableCrossOsArchive", "fail-on-cache-miss", "lookup-only"), "false"),
    },
    do=_cache,
)
