"""The traces of the matrix are what the runtime asks, to the end; without a fault every turn completes.

After a change of a conversation they are made anew: FAULTS_TRACES=record python -m pytest tests/faults/test_traces.py
"""

from __future__ import annotations

import asyncio
import os

import pytest
from tests.faults.bench import TRACES, Memory, Script, Seen, Traced, left, session_of, turn
from tests.faults.conversations import EVERY, Conversation, approval_of, tools_of

from reference_stack.agent.processes import ProcessManager
from reference_stack.agent.tools import ToolRegistry
from stackproof.trace.client import ModelClient
from stackproof.trace.recording import RecordingModelClient
from stackproof.trace.replay import ReplayModelClient


@pytest.mark.parametrize("conversation", EVERY, ids=lambda conversation: conversation.name)
def test_a_turn_without_a_fault_completes_and_asks_what_its_trace_has(conversation: Conversation) -> None:
    path = TRACES / f"{conversation.name}.jsonl"

    async def played(client: ModelClient) -> None:
        session, memory, seen = session_of(conversation), Memory(), Seen()
        processes = ProcessManager(os.environ)
        tools: ToolRegistry = tools_of(conversation, processes)
        await turn(
            conversation,
            session,
            model=Traced(client),
            plan=tools.plan(),
            approval=approval_of(conversation),
            rollout=memory,
            emit=seen.emit,
        )
        assert left(session, memory.records)["terminal"] == "turn_completed"
        assert [event.type for event in seen.events][-1] == "turn_completed"
        assert processes.registry == ()

    if os.environ.get("FAULTS_TRACES") == "record":
        path.unlink(missing_ok=True)
        asyncio.run(played(RecordingModelClient(Script(conversation.script), path)))
    with ReplayModelClient(path) as replayed:
        asyncio.run(played(replayed))
