"""One call at the edge: whose it is and what becomes of it, carried out with aiohttp on both sides."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from stackproof.edge import heads, probes
from stackproof.edge.addresses import HEALTH, Addresses, Place, Unknown, origin_of, without_secrets
from stackproof.edge.ownership import Whose, whose
from stackproof.edge.proxies import Proxies
from stackproof.edge.refusals import HEADERS, SAYS, Refusal
from stackproof.recorder import pacing
from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, Later, PassThrough, Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.redact import RESPONSE_HEADERS
from stackproof.recorder.transports.aiohttp_failures import Failures

_POLL = 0.02
# Seconds that a relay gets to learn that its own client has left, before reading on counts as a miss.
_LEAVING = 2.0
_NOT_OURS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Exchange:
    """Serves calls; one for all addresses of an edge."""

    def __init__(self, brain: Brain, addresses: Addresses, session: aiohttp.ClientSession, proxies: Proxies) -> None:
        self._brain, self._addresses, self._session, self._proxies = brain, addresses, session, proxies
        self._failures = Failures(aiohttp)

    def at(self, own: str | None) -> Handler:
        """What serves requests to the edge's address (None), or to a provider's own."""

        async def serve(request: web.BaseRequest) -> web.StreamResponse:
            if own is None and request.path == HEALTH:
                return web.Response(text="ok")
            place = self._addresses.find(request.raw_path, own)
            if isinstance(place, Unknown):
                return _refused(request, Refusal(status=404, text=place.text))
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return _refused(request, Refusal(status=501, text="WebSockets are not recorded"))
            return await self._call(request, place)

        return serve

    async def _call(self, request: web.BaseRequest, place: Place) -> web.StreamResponse:
        await _go_on(request)
        body = await request.content.read()
        settings = self._brain.settings
        asked = whose(request.headers.items(), settings)
        if asked.is_probe:
            probes.note(settings.run_dir, asked)
            return _answered(Refusal(status=424, text="a probe of the run: no provider is asked"))
        wanted = Request(method=request.method, url=place.url, headers=request.headers, body=body)
        counts = asked.owner is not None and asked.owner not in (scopes.STACK, scopes.UNKNOWN)
        self._brain.requests_with_scope += counts
        try:
            with scopes.use(asked.owner):
                decision = self._brain.ask(wanted)
                while isinstance(decision, Later):
                    await asyncio.sleep(_POLL)
                    decision = decision.poll() or decision
            match decision:
                case Answer():
                    return await self._answer(decision, request, place)
                case Record():
                    return await self._record(decision, request, place, asked, body)
                case PassThrough():
                    return await self._pass(request, place, asked, body)
        finally:
            self._brain.requests_with_scope -= counts

    # -- from a file

    async def _answer(self, answer: Answer, request: web.BaseRequest, place: Place) -> web.StreamResponse:
        await _hold(answer.delay, answer)
        if answer.status is None:
            return _Cut()
        response = await _begin(request, answer.status, answer.headers, place)
        for wait, chunk in answer.paced():
            await _hold(wait, answer)
            if chunk:
                await response.write(chunk)
        if answer.exception is not None:
            return _Cut()
        if answer.read_on is not None:
            # Cancelled when the caller leaves: a relay learns a moment after the last event that its own client has.
            # So many turns, and not so long by a clock: on a busy machine others may have had none meanwhile.
            for _ in range(round(_LEAVING / _POLL)):
                await asyncio.sleep(_POLL)
            _say(answer.read_on())
            return _Cut()
        return response

    # -- to the provider

    async def _record(
        self, record: Record, request: web.BaseRequest, place: Place, asked: Whose, body: bytes
    ) -> web.StreamResponse:
        take, url = record.take, record.url or place.url
        try:
            async with await self._send(request, url, asked, body if record.body is None else record.body) as upstream:
                headers = {name.lower(): value for name, value in upstream.headers.items()}
                kept = {name: value for name, value in headers.items() if name in RESPONSE_HEADERS}
                passed = take.start(upstream.status, headers, kept)
                response = await _begin(request, upstream.status, passed, place)
                while not upstream.content.at_eof():
                    chunk, _ = await upstream.content.readchunk()
                    await _write(response, take.feed(chunk))
                await _write(response, take.end())
                return response
        except _CallerLeftError:
            return _Cut()
        except Exception as error:  # noqa: BLE001 - whatever it is, a provider was asked and gave no whole answer
            told = self._failures.tell(error)
            take.fail(told)
            self._tell(request, url, told["kind"], error)
            return _Cut()
        finally:
            take.close()  # nothing happens where it is over

    async def _send(self, request: web.BaseRequest, url: str, asked: Whose, body: bytes) -> aiohttp.ClientResponse:
        return await self._session.request(
            request.method,
            URL(url, encoded=True),
            headers=CIMultiDict(heads.outgoing(asked.headers)),
            data=body or None,
            allow_redirects=False,
            proxy=self._proxies.of(origin_of(url)),
            skip_auto_headers=_NOT_OURS,
        )

    async def _pass(self, request: web.BaseRequest, place: Place, asked: Whose, body: bytes) -> web.StreamResponse:
        """What is not recorded: tokens, and everything in a live run. Nobody but a provider of the run is called."""
        if self._brain.providers.match(place.url) is None:
            return _refused(
                request, Refusal(status=502, text=f"{without_secrets(place.url)} belongs to no provider of this run")
            )
        try:
            async with await self._send(request, place.url, asked, body) as upstream:
                headers = {name: value for name, value in upstream.headers.items() if name.lower() != "set-cookie"}
                response = await _begin(request, upstream.status, headers, place)
                async for chunk, _ in upstream.content.iter_chunks():
                    await _write(response, [chunk])
                return response
        except _CallerLeftError:
            return _Cut()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self._tell(request, place.url, type(error).__name__, error)
            return _Cut()

    def _tell(self, request: web.BaseRequest, url: str, kind: str, error: Exception) -> None:
        shown = without_secrets(url)
        # An error of the HTTP library may name the URL, too.
        _say(self._brain.shown(f"{request.method} {shown}: {kind}: {str(error).replace(url, shown)}"))


class _CallerLeftError(Exception):
    """Whoever asked is gone; told apart from a provider that is."""


class _Cut(web.StreamResponse):
    """The connection ends here, without an end of the answer: what a failed provider looks like from the stack."""

    async def prepare(self, request: web.BaseRequest) -> None:  # noqa: ARG002 - aiohttp's signature
        """Make the server close the connection; it does so for a caller who has gone."""
        raise ConnectionResetError


async def _hold(seconds: float, answer: Answer) -> None:
    """Let the caller wait, who has a limit of its own: it leaves when that is over, and this is cancelled."""
    if seconds:
        for nap in pacing.naps(seconds, answer.over):
            await asyncio.sleep(nap)


async def _begin(request: web.BaseRequest, status: int, headers: Mapping[str, str], place: Place) -> web.StreamResponse:
    passed = heads.incoming(headers)
    for name in ("location", "Location"):
        if name in passed:
            passed[name] = place.led_back(passed[name], f"http://{request.host}")
    response = web.StreamResponse(status=status, headers=passed)
    try:
        await response.prepare(request)
    except ConnectionError as error:
        raise _CallerLeftError(str(error)) from error
    return response


async def _write(response: web.StreamResponse, pieces: list[bytes]) -> None:
    try:
        for piece in pieces:
            if piece:
                await response.write(piece)
    except ConnectionError as error:
        raise _CallerLeftError(str(error)) from error


def _refused(request: web.BaseRequest, refusal: Refusal) -> web.Response:
    _say(f"{request.method} {request.path}: {refusal.text}")
    return _answered(refusal)


def _answered(refusal: Refusal) -> web.Response:
    return web.Response(status=refusal.status, body=refusal.body(), headers=HEADERS)


async def _go_on(request: web.BaseRequest) -> None:
    """Say so to a caller who waits with its body until it is wanted (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= aiohttp.HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the head is still to come


def _say(text: str) -> None:
    print(f"{SAYS}{text}", file=sys.stderr, flush=True)
