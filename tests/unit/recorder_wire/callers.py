"""The HTTP clients that the recorder sees, each made to say what it heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """What a caller got: a status, the raw pieces of the body, and the name of the exception that ended it."""

    status: int | None = None
    pieces: tuple[bytes, ...] = ()
    error: str | None = None
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """All pieces together."""
        return b"".join(self.pieces)


OnHead = Callable[[int, Any], None]
OnPiece = Callable[[bytes], bool]


# Seconds to connect: how long a client listens is what tests are about, and how soon it is let in is the machine's.
_CONNECT = 60.0


class Caller:
    """One HTTP client. `heard` makes a call and reads the body as it comes, piece by piece.

    Requests are told in httpx's words (`json`, `content`, `data`, `files`, `headers`, `timeout`, seconds of silence).
    `errors` names the classes that this client raises where others raise others.
    """

    name: str
    errors: Mapping[str, str]

    def heard(self, method: str, url: str, *, stop_after: int | None = None, **request: Any) -> Heard:
        """Call and listen; leave after `stop_after` pieces."""
        pieces: list[bytes] = []
        told: dict[str, Any] = {}

        def on_head(status: int, headers: Any) -> None:
            told.update(status=status, headers={key.lower(): value for key, value in headers.items()})

        def on_piece(piece: bytes) -> bool:
            if piece:
                pieces.append(piece)
            return len(pieces) == stop_after

        try:
            self.listen(method, url, on_head, on_piece, {"timeout": 60.0, **request})
        except Exception as error:  # noqa: BLE001 - which one is what the tests are about
            told |= {"error": f"{type(error).__module__.partition('.')[0]}.{type(error).__name__}"}
            told |= {"message": str(error)}
        return Heard(pieces=tuple(pieces), **told)

    def listen(self, method: str, url: str, on_head: OnHead, on_piece: OnPiece, request: dict[str, Any]) -> None:
        """Make the call; stop reading where `on_piece` says so."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.name


class HttpxCaller(Caller):
    """httpx or httpx2, sync."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.name = module.__name__
        names = ("ConnectError", "ReadTimeout", "ReadError", "RemoteProtocolError", "DecodingError")
        self.errors = {name: f"{module.__name__}.{name}" for name in names} | {
            "Incomplete": f"{module.__name__}.ReadError",
            "Disconnected": f"{module.__name__}.RemoteProtocolError",
            "Unresolved": f"{module.__name__}.ConnectError",
            "Reset": f"{module.__name__}.ReadError",
            "ResetBefore": f"{module.__name__}.ReadError",
        }

    def _patience(self, request: dict[str, Any]) -> Any:
        return self.module.Timeout(_CONNECT, read=request.pop("timeout"))

    def listen(self, method: str, url: str, on_head: OnHead, on_piece: OnPiece, request: dict[str, Any]) -> None:
        with (
            self.module.Client(timeout=self._patience(request), trust_env=False) as client,
            client.stream(method, url, **request) as response,
        ):
            on_head(response.status_code, response.headers)
            for piece in response.iter_raw():
                if on_piece(piece):
                    return


class AsyncHttpxCaller(HttpxCaller):
    """httpx or httpx2, async."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.name = f"async {module.__name__}"

    def listen(self, method: str, url: str, on_head: OnHead, on_piece: OnPiece, request: dict[str, Any]) -> None:
        import anyio

        async def main() -> None:
            async with (
                self.module.AsyncClient(timeout=self._patience(request), trust_env=False) as client,
                client.stream(method, url, **request) as response,
            ):
                on_head(response.status_code, response.headers)
                async for piece in response.aiter_raw():
                    if on_piece(piece):
                        return

        anyio.run(main)


class AiohttpCaller(Caller):
    """aiohttp."""

    errors: Mapping[str, str] = MappingProxyType(
        {
            "ConnectError": "aiohttp.ClientConnectorError",
            "ReadTimeout": "aiohttp.SocketTimeoutError",
            "ReadError": "aiohttp.ClientPayloadError",
            "RemoteProtocolError": "aiohttp.ClientPayloadError",
            "DecodingError": "aiohttp.ClientPayloadError",
            "Incomplete": "aiohttp.ClientPayloadError",
            "Disconnected": "aiohttp.ServerDisconnectedError",
            "Unresolved": "aiohttp.ClientConnectorDNSError",
            "Reset": "aiohttp.ClientPayloadError",
            "ResetBefore": "aiohttp.ClientOSError",
        }
    )

    def __init__(self, module: Any) -> None:
        self.module, self.name = module, "aiohttp"

    def listen(self, method: str, url: str, on_head: OnHead, on_piece: OnPiece, request: dict[str, Any]) -> None:
        async def main() -> None:
            timeout = self.module.ClientTimeout(sock_read=request.pop("timeout"))
            options = self._translated(request)
            async with (
                self.module.ClientSession(timeout=timeout) as session,
                session.request(method, url, **options) as response,
            ):
                on_head(response.status, response.headers)
                async for piece in response.content.iter_any():
                    if on_piece(piece):
                        return

        asyncio.run(main())

    def _translated(self, request: dict[str, Any]) -> dict[str, Any]:
        content, files = request.pop("content", None), request.pop("files", None)
        if content is not None:
            request["data"] = content
        if files is not None:
            form = self.module.FormData()
            for name, value in request.pop("data", {}).items():
                form.add_field(name, value)
            for name, (filename, value, kind) in files.items():
                form.add_field(name, value, filename=filename, content_type=kind)
            request["data"] = form
        return request


_URLLIB3_ERRORS = {
    "ConnectError": "NewConnectionError",
    "ReadTimeout": "ReadTimeoutError",
    "ReadError": "ProtocolError",
    "RemoteProtocolError": "ProtocolError",
    "DecodingError": "DecodeError",
    "Incomplete": "ProtocolError",
    "Disconnected": "ProtocolError",
    "Unresolved": "NameResolutionError",
    "Reset": "ProtocolError",
    "ResetBefore": "ProtocolError",
}


class Urllib3Caller(Caller):
    """urllib3 by itself."""

    def __init__(self, module: Any) -> None:
        self.module, self.name = module, "urllib3"
        self.errors = {name: f"urllib3.{value}" for name, value in _URLLIB3_ERRORS.items()}

    def listen(self, method: str, url: str, on_head: OnHead, on_piece: OnPiece, request: dict[str, Any]) -> None:
        timeout = self.module.Timeout(connect=_CONNECT, read=request.pop("timeout"))
        if "content" in request:
            request["body"] = request.pop("content")
        if "files" in request:
            request["fields"] = {**request.pop("data", {}), **request.pop("files")}
        with self.module.PoolManager() as pool:
            response = pool.request(method, url, preload_content=False, retries=False, timeout=timeout, **request)
            on_head(response.status, response.headers)
            try:
                for piece in response.stream():
                    if on_piece(piece):
                        return
            finally:
                response.close()
                response.release_conn()


class RequestsCaller(Caller):
    """requests, over urllib3."""

    errors: Mapping[str, str] = MappingProxyType(
        {
            "ConnectError": "requests.ConnectionError",
            "ReadTimeout": "requests.ReadTimeout",
            "ReadTimeoutInBody": "requests.ConnectionError",
            "ReadError": "requests.ChunkedEncodingError",
            "RemoteProtocolError": "requests.ChunkedEncodingError",
            "DecodingError": "requests.ContentDecodingError",
            "Incomplete": "requests.ChunkedEncodingError",
            "Disconnected": "requests.ConnectionError",
            "Unresolved": "requests.ConnectionError",
            "Reset": "requests.ChunkedEncodingError",
            "ResetBefore": "requests.ConnectionError",
        }
    )

    def __init__(self, module: Any) -> None:
        self.module, self.name = module, "requests"

    def listen(self, method: str, url: str, on_head: OnHead, on_piece: OnPiece, request: dict[str, Any]) -> None:
        if "content" in request:
            request["data"] = request.pop("content")
        request["timeout"] = (_CONNECT, request["timeout"])
        with self.module.Session() as session:
            session.trust_env = False
            with session.request(method, url, stream=True, **request) as response:
                on_head(response.status_code, response.headers)
                for piece in response.iter_content(None):
                    if on_piece(piece):
                        return


CALLERS: dict[str, tuple[str, type[Any]]] = {
    "httpx": ("httpx", HttpxCaller),
    "httpx-async": ("httpx", AsyncHttpxCaller),
    "httpx2": ("httpx2", HttpxCaller),
    "httpx2-async": ("httpx2", AsyncHttpxCaller),
    "aiohttp": ("aiohttp", AiohttpCaller),
    "urllib3": ("urllib3", Urllib3Caller),
    "requests": ("requests", RequestsCaller),
}


def made(which: str) -> Caller:
    """A client by the name that tests have for it; skips where its library is not installed."""
    name, kind = CALLERS[which]
    caller: Caller = kind(pytest.importorskip(name, reason=f"{name} is not installed"))
    return caller


MakeCaller = Callable[[str], Caller]
