"""Has an Ollama fetch a model: `POST /api/pull`, which answers one JSON object a line until it says `success`.

https://github.com/ollama/ollama/blob/main/docs/api.md#pull-a-model
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from stackproof.errors import StackStartError
from stackproof.stack.pulling import Progress

_SILENT = 120.0  # seconds without a word
_STEP = 0.05


def pull(origin: str, model: str, *, service: str, say: Callable[[str], None], check: Callable[[], None]) -> None:
    """Fetch it where it is missing; StackStartError with what the service said when it cannot be.

    check: called while waiting, raises to end the wait.
    """
    fetching = _Fetching(origin, model, say)
    thread = threading.Thread(target=fetching.run, name=f"pull of {model}", daemon=True)
    thread.start()
    check()
    while thread.is_alive():
        thread.join(timeout=_STEP)
        check()
    if fetching.problem:
        raise StackStartError(
            f"{service} has not model {model} and could not fetch it: {fetching.problem}",
            hint="it comes from the registry of Ollama; where that cannot be reached, the models of a machine that "
            "has it can be put into the cache of the service\nwithout it: --provider-service llama-cpp",
        )


class _Fetching:
    def __init__(self, origin: str, model: str, say: Callable[[str], None]) -> None:
        self.problem = "it ended before it was complete"
        self._origin, self._model, self._say = origin, model, say

    def run(self) -> None:
        parts = urlsplit(self._origin)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_SILENT)
        progress = Progress(self._model, clock=time.monotonic)
        try:
            connection.request("POST", "/api/pull", json.dumps({"model": self._model}))
            for line in connection.getresponse():
                event = json.loads(line)
                if said := event.get("error"):
                    self.problem = str(said)
                    return
                if event.get("status") == "success":
                    self.problem = ""
                    return
                if told := progress.line(event):
                    self._say(told)
        except TimeoutError:
            self.problem = f"nothing came for {_SILENT:g} s"
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.problem = str(error) or type(error).__name__
        finally:
            connection.close()
