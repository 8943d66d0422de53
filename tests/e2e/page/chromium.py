"""Headless Chromium over its DevTools protocol: as much of it as the tests of one page need."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

_START = 120.0
_ANSWER = 120.0
_KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    " ": ("Space", 32, " "),
    "/": ("Slash", 191, "/"),
}


def program() -> str | None:
    """The browser of this machine, if it has one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


class Chromium:
    """A browser with a profile of its own in `folder`; names resolve to nothing, so that no request leaves."""

    def __init__(self, command: str, folder: Path) -> None:
        self._open = ExitStack()
        self._number = 0
        self._popen = subprocess.Popen(
            [
                command, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-port=0",
                f"--user-data-dir={folder}", "about:blank",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            address = self._address(folder / "DevToolsActivePort")
            self._socket = self._open.enter_context(connect(address, max_size=None, open_timeout=_ANSWER))
        except BaseException:
            self.close()
            raise

    def _address(self, file: Path) -> str:
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline:
            lines = file.read_text().split() if file.is_file() else []
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            if self._popen.poll() is not None:
                raise RuntimeError(f"Chromium ended with {self._popen.returncode} before it listened")
            time.sleep(0.05)
        raise RuntimeError(f"Chromium did not listen within {_START:g} s")

    def open(self, file: Path, *, width: int = 1280, height: int = 900, **how: Any) -> Page:
        """Load a file in a tab of its own; `how` as for `Page`."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target, width=width, height=height, **how)
        page.load(file)
        return page

    def call(
        self,
        method: str,
        session: str | None = None,
        seen: Callable[[Mapping[str, Any]], None] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """One command and its answer; events that come meanwhile go to `seen`."""
        self._number += 1
        number = self._number
        command = {"id": number, "method": method, "params": more, **({"sessionId": session} if session else {})}
        self._socket.send(json.dumps(command))
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
            if seen is not None and message.get("sessionId") == session:
                seen(message)

    def receive(self) -> dict[str, Any]:
        """The next message; TimeoutError when none comes."""
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=_ANSWER))
        return message

    def close(self) -> None:
        """End the browser and all its processes."""
        self._open.close()
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait(timeout=_ANSWER)


class Page:
    """A tab. requests: every URL that it asked for. blocked: how many of them its own policy refused.

    complaints: errors and warnings of its console.
    """

    def __init__(
        self,
        browser: Chromium,
        session: str,
        target: str,
        *,
        width: int,
        height: int,
        dark: bool = False,
        scripts: bool = True,
        phone: bool = False,
    ) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.blocked = 0
        self._loaded = False
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.prefer("dark" if dark else "light")
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", value=True)

    def prefer(self, scheme: str) -> None:
        """What the system would prefer: `light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def call(self, method: str, **more: Any) -> dict[str, Any]:
        """One command of this tab."""
        return self._browser.call(method, self._session, self._see, **more)

    def load(self, file: Path) -> None:
        """Go to a file and wait for its load event."""
        self._loaded = False
        self.call("Page.navigate", url=file.absolute().as_uri())
        while not self._loaded:
            self._see(self._browser.receive())

    def load_again(self) -> None:
        """As a person does, and wait for the load event."""
        self._loaded = False
        self.call("Page.reload")
        while not self._loaded:
            self._see(self._browser.receive())

    def seen(self) -> str:
        """All text that is laid out, found without running a script in the page."""
        snapshot = self.call("DOMSnapshot.captureSnapshot", computedStyles=[])
        strings = snapshot["strings"]
        texts = (each for document in snapshot["documents"] for each in document["layout"]["text"])
        return "\n".join(strings[index] for index in texts if index >= 0)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, which must be JSON; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """What a person reads in the first element that matches."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def until(self, expression: str, value: Any) -> None:
        """Wait until an expression has a value, up to two minutes."""
        deadline = time.monotonic() + _ANSWER
        while (found := self.evaluate(expression)) != value:
            assert time.monotonic() < deadline, f"{expression} is {found!r}, not {value!r}"
            time.sleep(0.02)

    def hear(self, reached: Callable[[], bool]) -> None:
        """Take what the browser tells of the page until something is reached, up to two minutes."""
        deadline = time.monotonic() + _ANSWER
        while not reached() and time.monotonic() < deadline:
            self.evaluate("new Promise(done => setTimeout(done, 20))")

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key of the keyboard."""
        code, number, text = _KEYS[key]
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Characters where the focus is."""
        self.call("Input.insertText", text=text)

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """A PNG of what is visible, or of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Close the tab."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def _see(self, event: Mapping[str, Any]) -> None:
        if event.get("sessionId") != self._session:
            return
        told = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Network.loadingFailed" if told.get("blockedReason") == "csp":
                self.blocked += 1
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(told["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(told["entry"]["text"])
            case _:
                pass
