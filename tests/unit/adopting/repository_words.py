"""A repository with an application in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

Repository = Callable[[Mapping[str, str]], Path]


FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n"
