"""Calls of Ollama's SDK that take no arguments: what is loaded, and what there is."""

from __future__ import annotations

from collections.abc import Mapping

from stackproof.recorder.canonical import compact
from stackproof.recordings.importing import addressee, ogx_file
from stackproof.recordings.importing.imported import Choices, Imported, ImportedAnswer, RefusedSource
from stackproof.recordings.importing.ogx_file import OgxFile, unwrapped
from stackproof.recordings.importing.ogx_openai import DERIVED, JSON

# Endpoint -> what it is counted as, and the class of its answer.
PATHS: Mapping[str, tuple[str, str]] = {
    "/api/ps": ("loaded models", ogx_file.OLLAMA_PS),
    "/api/tags": ("model list", ogx_file.OLLAMA_LIST),
}


def call(file: OgxFile, choices: Choices) -> Imported:
    """One call. What the SDK asks with GET, OGX writes as POST."""
    endpoint = str(file.request["endpoint"])
    kind, name = PATHS[endpoint]
    if file.response.get("is_exception") is True:
        raise RefusedSource("its exception is one of Ollama's SDK, which does not say what the server answered")
    setup, target = addressee.find(file.url, choices, run=file.run)
    return Imported(
        kind=kind,
        scope=file.scope,
        setup=setup,
        target=target,
        method="GET",
        answer=ImportedAnswer(status=200, headers=JSON, body=compact(unwrapped(file.response.get("body"), name))),
        ids=file.ids,
        provenance={**file.provenance, "derived": DERIVED},
    )
