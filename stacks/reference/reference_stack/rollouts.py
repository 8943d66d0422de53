"""Where turns are written down: a file for each, in a folder, where one is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from reference_stack.agent.records import Rollout, Unwritten
from reference_stack.agent.resume import open_rollout
from reference_stack.agent.rollout import RolloutError


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollouts:
    """None as the folder: nobody wants them."""

    folder: Path | None

    @asynccontextmanager
    async def opened(self, name: str) -> AsyncIterator[Rollout]:
        """The rollout of a session, which is `<name>.jsonl` in the folder. Raises RolloutError."""
        if self.folder is None:
            yield Unwritten()
            return
        try:
            await asyncio.to_thread(self.folder.mkdir, parents=True, exist_ok=True)
        except OSError as error:
            raise RolloutError(f"The folder of rollouts {self.folder} cannot be had: {error.strerror}.") from error
        writer, _ = await open_rollout(self.folder / f"{name}.jsonl")
        try:
            yield writer
        finally:
            await writer.aclose()
