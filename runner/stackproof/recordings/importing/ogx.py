"""Recordings of OGX (formerly Llama Stack), as its `api_recorder` writes them: one JSON file for each call.

    {test_id, request {method, url, headers, body, endpoint, model, provider_metadata?},
     response {body, is_streaming, is_exception?, exception_data?}, id_normalization_mapping?}

is a call of an SDK: `body` are the arguments it was given and the objects it gave back, each `{"__type__": the name of
a class, "__data__": its fields}`. `{request {test_id, url, method, payload}, response {status?, body}}` is a call over
HTTP, `{request {provider, tool_name, kwargs}}` one of a tool. A name in `__type__` is looked up in a table of decoders;
no class is ever taken from a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stackproof.catalog.records import SetupSpec
from stackproof.recorder.canonical import NotPlainJson, parse
from stackproof.recorder.scope import STACK, Scope
from stackproof.recordings.importing import ogx_gemini, ogx_http, ogx_ids, ogx_ollama, ogx_openai
from stackproof.recordings.importing.imported import Choices, Imported, RefusedSource, Source
from stackproof.recordings.importing.ogx_file import OgxFile, objects

NAME = "ogx"
SUFFIXES: tuple[str, ...] = (".json",)
_MODEL_OF_TEST = re.compile(r"\b(?:txt|vis)=([\w-]+)/")
# Ids are replaced wherever they stand: a shorter one would be found inside other texts.
_SHORTEST, _LONGEST = 4, 256


def recognises(source: Source) -> bool:
    """Whether the file can be one of OGX's: it has a request and a response, and is no cassette of several."""
    head = source.raw[:400]
    return b'"request"' in source.raw and b'"response"' in source.raw and b'"interactions"' not in head


def read(source: Source, choices: Choices) -> Iterator[Imported | RefusedSource]:
    """The one call of a file. RefusedSource when it cannot be told what was on the wire."""
    yield _call(_file(source, choices), choices)


def _call(file: OgxFile, choices: Choices) -> Imported:
    request = file.request
    if "tool_name" in request:
        return ogx_http.tool(file, choices)
    if "payload" in request:
        return ogx_http.passthrough(file, choices)
    endpoint = request.get("endpoint")
    if not isinstance(endpoint, str) or not endpoint:
        raise RefusedSource("it names no endpoint")
    if endpoint in ogx_gemini.METHODS:
        return ogx_gemini.call(file, choices)
    if endpoint in ogx_ollama.PATHS:
        return ogx_ollama.call(file, choices)
    if endpoint in ogx_openai.PATHS:
        return ogx_openai.call(file, choices)
    raise RefusedSource(f"its endpoint is {endpoint!r}, which is not known")


def _file(source: Source, choices: Choices) -> OgxFile:
    try:
        data = parse(source.raw)
    except NotPlainJson as error:
        raise RefusedSource(f"it is not plain JSON: {error}") from None
    if not isinstance(data, dict):
        raise RefusedSource("it is no JSON object")
    if "format" in data:
        raise RefusedSource("it is a recording of this project, not of OGX")
    ids = data.get("id_normalization_mapping") or {}
    if not isinstance(ids, dict) or not all(isinstance(real, str) for real in ids.values()):
        raise RefusedSource("its id_normalization_mapping is no object of texts")
    if any(len(real) < _SHORTEST or len(written) > _LONGEST for written, real in ids.items()):
        raise RefusedSource("its id_normalization_mapping has an id that is too short or too long to be one")
    if ids:
        written_of = {real: written for written, real in ids.items()}
        real_ids = re.compile("|".join(re.escape(real) for real in sorted(written_of, key=len, reverse=True)))
        data = _replaced(data, lambda text: real_ids.sub(lambda found: written_of[found.group()], text))
    request, response = data.get("request"), data.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        raise RefusedSource("its request or its response is no object")
    owner = _scope(data, request, choices)
    if owner.test_id is not None:
        written = ogx_ids.translation(str(data.get("test_id") or request["test_id"]), owner)
        request, response = _replaced(request, written), _replaced(response, written)
    return OgxFile(request=objects(request), response=response, scope=owner, run=_run(owner.name, choices), ids=ids)


def _scope(data: Mapping[str, Any], request: Mapping[str, Any], choices: Choices) -> Scope:
    test_id = data.get("test_id") or request.get("test_id")
    if test_id is None or test_id == "":
        return STACK
    if not isinstance(test_id, str):
        raise RefusedSource("its test_id is no text")
    name = choices.renamed(test_id)
    return Scope(name=name, test_id=name)


def _run(name: str, choices: Choices) -> SetupSpec | None:
    """The setup whose provider's model the test was given: OGX writes `txt=azure/gpt-4o` into the test's name."""
    found = _MODEL_OF_TEST.search(name)
    if found is None:
        return None
    setups = choices.setups.values()
    return next((setup for setup in setups if any(spec.name == found[1] for spec in setup.providers)), None)


def _replaced(value: Any, replace: Callable[[str], str]) -> Any:
    """The file as OGX reads it: each real id, wherever it stands in a text, is the written one."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_replaced(item, replace) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, replace) for key, item in value.items()}
    return value
