"""What the gateway makes of a provider's response that is its own too: another id, its searches, a place in the store.

A stream is rewritten event by event, as events arrive (https://html.spec.whatwg.org/multipage/server-sent-events.html).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from reference_stack.store import Store, Table

# By the type of a search, what `include` asks for to have its finds shown.
_FINDS = {"file_search_call": "file_search_call.results", "web_search_call": "web_search_call.action.sources"}
_FINAL = ("response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Own:
    """The gateway's part in one response.

    asked: the caller's request. sent: the provider's. turns: the conversation up to the answer. new: how many of them
    this request brings. input_items: as they are listed. searches: the items that stand before the model's.
    """

    asked: dict[str, Any]
    sent: dict[str, Any]
    turns: list[dict[str, Any]]
    new: int
    input_items: list[dict[str, Any]]
    response_id: str
    searches: list[dict[str, Any]]
    store: Store

    async def whole(self, content: bytes) -> bytes:
        """Of an answer in one piece."""
        try:
            response = json.loads(content)
        except ValueError:
            return content
        if not isinstance(response, dict) or "output" not in response:
            return content
        shown = self._shown(response)
        await self.keep(shown, [*self.turns, *response.get("output", [])])
        return json.dumps(shown).encode()

    async def pieces(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Of a stream."""
        number, items = 0, 0
        async for event in _events(pieces):
            items += event.get("type") == "response.output_item.added"
            for told in await self._rewritten(event, item=items - 1):
                if "sequence_number" in event or self.searches:
                    told["sequence_number"] = number
                number += 1
                yield f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode() if "type" in told else _raw(told)

    async def _rewritten(self, event: dict[str, Any], *, item: int) -> list[dict[str, Any]]:
        told = dict(event)
        if {"output_index", "item", "item_id"} & event.keys():
            # Not every server says which item it is; after those of a search nobody could guess it.
            told["output_index"] = event.get("output_index", item) + len(self.searches)
        response = event.get("response")
        if isinstance(response, dict):
            told["response"] = self._shown(response, searched=event["type"] in _FINAL)
            if event["type"] in _FINAL:
                await self.keep(told["response"], [*self.turns, *response.get("output", [])])
        if event.get("type") == "response.created":
            return [told, *self.searching()]
        return [told]

    @property
    def found(self) -> list[dict[str, Any]]:
        """The items of the searches, as the caller sees them."""
        return [self._item(item) for item in self.searches]

    def searching(self) -> Iterator[dict[str, Any]]:
        """The events of the searches."""
        for index, item in enumerate(self.found):
            place = {"output_index": index, "item_id": item["id"]}
            begun = {**_without_finds(item), "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": begun}
            for step in ("in_progress", "searching", "completed"):
                yield {"type": f"response.{item['type']}.{step}", **place}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}

    def _item(self, item: dict[str, Any]) -> dict[str, Any]:
        wanted = _FINDS[item["type"]] in (self.asked.get("include") or [])
        return item if wanted else _without_finds(item)

    def _shown(self, response: dict[str, Any], *, searched: bool = True) -> dict[str, Any]:
        """The response as the caller sees it."""
        before = self.found if searched else []
        shown = {
            **response,
            "id": self.response_id,
            "model": self.asked["model"],
            "output": [*before, *response.get("output", [])],
            "store": self.asked.get("store") is True,
            "previous_response_id": self.asked.get("previous_response_id"),
        }
        for name in ("tools", "metadata", "instructions"):
            if name in self.asked:
                shown[name] = self.asked[name]
        return shown

    async def keep(self, shown: dict[str, Any], turns: list[dict[str, Any]]) -> None:
        """Store the response as it was shown, and the conversation with it, if that was asked for."""
        if self.asked.get("store") is not True:
            return
        value = {"response": shown, "input": self.input_items, "turns": turns}
        await self.store.put(Table.RESPONSE, self.response_id, value)


def _without_finds(item: dict[str, Any]) -> dict[str, Any]:
    if item["type"] == "file_search_call":
        return {**item, "results": None}
    return {**item, "action": {name: value for name, value in item["action"].items() if name != "sources"}}


def _raw(told: dict[str, Any]) -> bytes:
    text: str = told["raw"]
    return text.encode()


async def _events(pieces: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    """Events of a stream, each as the JSON object in it; what is none as `{"raw": text}`."""
    buffer = b""
    async for piece in pieces:
        buffer = (buffer + piece).replace(b"\r\n", b"\n")
        *whole, buffer = buffer.split(b"\n\n")
        for block in whole:
            yield _event(block + b"\n\n")
    if buffer.strip():
        yield _event(buffer + b"\n\n")


def _event(block: bytes) -> dict[str, Any]:
    text = block.decode("utf-8", "replace")
    data = "\n".join(line[5:].removeprefix(" ") for line in text.splitlines() if line.startswith("data:"))
    try:
        value = json.loads(data)
    except ValueError:
        return {"raw": text}
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else {"raw": text}
