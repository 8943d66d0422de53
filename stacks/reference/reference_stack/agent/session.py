"""Who owns a conversation: what is in it, which calls are open, where its turn stands and how the last one ended."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from reference_stack.agent.events import TurnEnd
from reference_stack.agent.items import function_call_output, open_calls
from reference_stack.agent.model import Item
from reference_stack.agent.resume import for_prompt


class Phase(Enum):
    """Where a session stands."""

    IDLE = "idle"
    MODEL = "model"
    TOOLS = "tools"


class Session:
    """One conversation. Its history only grows, by whole items; nothing of an answer that broke off is ever in it."""

    def __init__(self, session_id: str, history: Iterable[Item] = ()) -> None:
        self.session_id = session_id
        self._history = list(history)
        self._pending = dict.fromkeys(open_calls(self._history))
        self._phase = Phase.IDLE
        self._turn_id: str | None = None
        self._terminal: TurnEnd | None = None

    @property
    def history(self) -> tuple[Item, ...]:
        """All items, the oldest first."""
        return tuple(self._history)

    @property
    def prompt(self) -> tuple[Item, ...]:
        """The history as a model may see it: each call has a result, if only one that says `aborted`."""
        return for_prompt(self._history)

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of the calls that have no result."""
        return tuple(self._pending)

    @property
    def phase(self) -> Phase:
        """What the turn is at, or IDLE between turns."""
        return self._phase

    @property
    def turn_id(self) -> str | None:
        """The turn that runs, or ran last."""
        return self._turn_id

    @property
    def terminal(self) -> TurnEnd | None:
        """How the last turn ended; None while one runs, and before the first."""
        return self._terminal

    def begin(self, turn_id: str, items: Iterable[Item]) -> None:
        """A turn begins with what the user brings. Raises ValueError while another one runs."""
        if self._phase is not Phase.IDLE:
            raise ValueError(f"The session {self.session_id} has a turn already: {self._turn_id}.")
        self._turn_id, self._terminal = turn_id, None
        self._phase = Phase.MODEL
        self.add(items)

    def add(self, items: Iterable[Item]) -> None:
        """Put whole items at the end."""
        for item in items:
            self._history.append(item)
            match item.get("type"):
                case "function_call":
                    self._pending[item["call_id"]] = None
                case "function_call_output":
                    self._pending.pop(item.get("call_id", ""), None)
                case _:
                    pass

    def enter(self, phase: Phase) -> None:
        """The turn goes on with something else."""
        self._phase = phase

    def resolve(self, call_id: str, output: str) -> Item:
        """Give an open call its result; the item. Raises ValueError for a call that is not open."""
        if call_id not in self._pending:
            raise ValueError(f"The session {self.session_id} has no open call {call_id!r}.")
        item = function_call_output(call_id, output)
        self.add([item])
        return item

    def end(self, end: TurnEnd) -> None:
        """The turn is over. Raises ValueError where it was over before, or never began."""
        if self._phase is Phase.IDLE or end.turn_id != self._turn_id:
            raise ValueError(f"The session {self.session_id} has no turn {end.turn_id} to end.")
        self._terminal = end
        self._phase = Phase.IDLE
