"""A Responses request that is a turn of the agent runtime: run, told as it goes or in one piece, stored, cancelled."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, Self

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import SessionEvent, TurnAborted, TurnCompleted, TurnEnd, TurnFailed, TurnStarted
from reference_stack.agent.failures import (
    DamagedStreamError,
    ModelStatusError,
    ModelUnreachableError,
    UnfinishedStreamError,
)
from reference_stack.agent.mailbox import Mailbox, MailboxClosedError
from reference_stack.agent.model import Item
from reference_stack.agent.responses_client import ResponsesClient
from reference_stack.agent.rollout import RolloutError
from reference_stack.agent.session import Session
from reference_stack.agent.turn import TurnSettings, run_turn
from reference_stack.answers import Dialect, RefusedError, error_body, provider_error
from reference_stack.asked import provider_of
from reference_stack.ids import Kind, new_id
from reference_stack.relay import Streamed, while_client_waits
from reference_stack.response_rewriting import Own
from reference_stack.response_telling import Telling
from reference_stack.responses_tools import Offered
from reference_stack.rollouts import Rollouts

_EVENTS = 64  # that wait for a slow reader, before the turn waits for him
_LEFT_WITHIN = 20.0  # seconds that a turn which nobody reads any more has to end
# Fields of a request that are the turn's own, or the client's of the model.
_NOT_OPTIONS = ("model", "input", "instructions", "stream", "tools", "tool_choice")


class Turn:
    """One turn while it runs. Leaving it before its end cancels it, and waits until it has ended."""

    def __init__(self, request: Request, own: Own, offer: Offered) -> None:
        self.streamed = own.asked.get("stream") is True
        self._provider, clients, model = provider_of(request, own.asked["model"])
        self._offer = offer
        self._own = own
        self._settings = TurnSettings(
            model=model, instructions=own.asked.get("instructions"), options=_options(own.sent, offer)
        )
        self._client = ResponsesClient(clients.openai, provider=self._provider, streamed=self.streamed)
        self._rollouts: Rollouts = request.state.rollouts
        self._cancel = CancelToken()
        self._events: Mailbox[SessionEvent] = Mailbox(_EVENTS)
        self._task: asyncio.Task[TurnEnd] | None = None
        before = _for_the_model(own.turns[: len(own.turns) - own.new])
        self.session = Session(own.response_id, before)
        self.telling = Telling(own=own, labels=offer.labels, functions=offer.plan.returned, created_at=int(time.time()))

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        task = self._task
        if task is None or task.done():
            return
        self._cancel.cancel("The caller left.")
        self._events.close()
        await asyncio.wait({task}, timeout=_LEFT_WITHIN)
        if not task.done():
            task.cancel()

    async def events(self) -> AsyncIterator[SessionEvent]:
        """All events, the last one is the turn's end. Raises what the turn raised that was no expected end."""
        assert self._task is not None  # noqa: S101 - by entering
        with suppress(MailboxClosedError):
            while True:
                event = await self._events.get()
                if isinstance(event, TurnCompleted | TurnFailed | TurnAborted):
                    await self._task
                    yield event
                    return
                yield event
        # It never began: there is no place to write it down.
        try:
            await self._task
        except RolloutError as error:
            raise RefusedError(500, str(error)) from error

    def refusal(self, event: SessionEvent) -> Response | None:
        """What a turn that failed is answered with, where the API answers with an error and not with a response."""
        match event.error if isinstance(event, TurnFailed) else None:
            case (
                ModelStatusError(__cause__=Exception() as cause) | ModelUnreachableError(__cause__=Exception() as cause)
            ):
                return provider_error(Dialect.OPENAI, self._provider, cause)
            case DamagedStreamError() | UnfinishedStreamError() as error:
                return JSONResponse(error_body(Dialect.OPENAI, 502, str(error)), status_code=502)
            case RolloutError() as error:
                return JSONResponse(error_body(Dialect.OPENAI, 500, str(error)), status_code=500)
            case _:
                return None

    async def keep(self) -> None:
        """Store the response that was told, if it is to be stored and the turn ended well."""
        response = self.telling.response
        if response is not None and isinstance(self.session.terminal, TurnCompleted):
            await self._own.keep(response, [dict(item) for item in self.session.history])

    async def _run(self) -> TurnEnd:
        try:
            async with self._rollouts.opened(self.session.session_id) as rollout:
                return await run_turn(
                    self.session,
                    _for_the_model(self._own.turns[len(self._own.turns) - self._own.new :]),
                    turn_id=new_id(Kind.TURN),
                    settings=self._settings,
                    model=self._client,
                    plan=self._offer.plan,
                    approval=self._offer.approval,
                    rollout=rollout,
                    emit=self._events.put,
                    cancel=self._cancel,
                )
        finally:
            # Whoever waits for an event gets an end also where none was told.
            self._events.close()


async def answer(request: Request, own: Own, offer: Offered) -> Response:
    """Run the turn of a request, for as long as its caller waits."""
    async with AsyncExitStack() as stack:
        turn = Turn(request, own, offer)
        await stack.enter_async_context(turn)
        if not turn.streamed:
            return await while_client_waits(request, _whole(turn))
        events = turn.events()
        first = await while_client_waits(request, _until_sure(events))
        refusal = turn.refusal(first[-1])
        if refusal is not None:
            return refusal
        pieces = _pieces(turn, first, events)
        return Streamed(pieces, upstream=stack.pop_all(), status_code=200, media_type="text/event-stream")


async def _until_sure(events: AsyncIterator[SessionEvent]) -> list[SessionEvent]:
    """The events up to the first that says whether the provider answers at all: as long the status can be another."""
    first: list[SessionEvent] = []
    async for event in events:
        first.append(event)
        if not isinstance(event, TurnStarted):
            break
    return first


async def _whole(turn: Turn) -> Response:
    told = [*turn.telling.begin()]
    async for event in turn.events():
        refusal = turn.refusal(event)
        if refusal is not None:
            return refusal
        told += turn.telling.events(event)
    await turn.keep()
    return JSONResponse(turn.telling.response)


async def _pieces(turn: Turn, first: list[SessionEvent], events: AsyncIterator[SessionEvent]) -> AsyncIterator[bytes]:
    for told in turn.telling.begin():
        yield _piece(told)
    for event in first:
        for told in turn.telling.events(event):
            await turn.keep()
            yield _piece(told)
    async for event in events:
        for told in turn.telling.events(event):
            # What is stored is there before its caller knows its id for sure.
            await turn.keep()
            yield _piece(told)


def _piece(told: Mapping[str, Any]) -> bytes:
    return f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode()


def _options(sent: Mapping[str, Any], offer: Offered) -> dict[str, Any]:
    options = {name: value for name, value in sent.items() if name not in _NOT_OPTIONS}
    if "tool_choice" in sent:
        options["tool_choice"] = offer.tool_choice
    return options


def _for_the_model(items: list[dict[str, Any]]) -> list[Item]:
    """Items as the provider knows them: a hosted call that its caller sends back is a function's call and result."""
    told: list[Item] = []
    for item in items:
        match item.get("type"):
            case "function_call" | "function_call_output" if not isinstance(item.get("call_id"), str):
                raise RefusedError(400, f"An item of the type {item['type']!r} needs a 'call_id'.", param="input")
            case "mcp_call":
                told += _hosted_call(item)
            case _:
                told.append(item)
    return told


def _hosted_call(item: Mapping[str, Any]) -> list[Item]:
    call_id, arguments = item.get("id"), item.get("arguments")
    error = item.get("error")
    output = item.get("output") if error is None else json.dumps(error)
    return [
        {"type": "function_call", "call_id": call_id, "name": item.get("name"), "arguments": arguments},
        {"type": "function_call_output", "call_id": call_id, "output": output},
    ]
