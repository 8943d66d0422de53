"""An app's start-up and shutdown, as ASGI's lifespan protocol tells them.

Format: https://asgi.readthedocs.io/en/latest/specs/lifespan.html
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from stackproof.errors import StackproofError, StackStartError
from stackproof.stack.inprocess_exchange import Message

log = logging.getLogger(__name__)


class Lifespan:
    """Runs the app's lifespan task. Both methods end within the time that the caller allows around them.

    An app that knows no lifespan (it raises or returns at once, saying nothing) is served without one, as servers do.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self.state: dict[str, Any] = {}
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._outbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._supported = False

    async def startup(self) -> None:
        """Run the start-up; StackStartError with the app's own text when it fails."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="lifespan")
        self._inbox.put_nowait({"type": "lifespan.startup"})
        match await self._outbox.get():
            case None:
                log.debug("The app has no lifespan.")
            case {"type": "lifespan.startup.complete"}:
                self._supported = True
            case answer:
                await self._task
                text = str(answer.get("message") or "").strip()
                reason = f": {text.splitlines()[-1]}" if text else ""
                error = StackStartError(
                    f"the app failed in its start-up{reason}",
                    hint="the app's own traceback follows" if text else "the app gave no reason; look at its log",
                )
                if text:
                    error.add_note(text)
                raise error

    async def shutdown(self) -> None:
        """Run the shutdown; StackproofError with the app's own text when it fails."""
        if self._task is None or not self._supported:
            return
        self._inbox.put_nowait({"type": "lifespan.shutdown"})
        answer = await self._outbox.get()
        await self._task
        if answer is not None and answer["type"] == "lifespan.shutdown.failed":
            text = str(answer.get("message") or "").strip()
            last = text.splitlines()[-1] if text else "it gave no reason"
            error = StackproofError(f"the app failed in its shutdown: {last}", hint="look at the app's lifespan code")
            if text:
                error.add_note(text)
            raise error

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        try:
            await self._app(scope, self._inbox.get, self._send)
        except Exception as error:  # noqa: BLE001 - apps say by any exception that they know no lifespan
            log.debug("The lifespan ended with %r.", error)
        finally:
            self._outbox.put_nowait(None)

    async def _send(self, message: Message) -> None:
        if not str(message["type"]).startswith("lifespan."):
            raise RuntimeError(f"The app sent {message['type']!r} in its lifespan.")
        self._outbox.put_nowait(message)
