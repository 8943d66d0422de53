"""One turn: the model answers, its calls of tools are run, and so on, until it only speaks or the caller is due."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from reference_stack.agent.approval import ApprovalPolicy
from reference_stack.agent.cancel import CancelToken, unless_cancelled
from reference_stack.agent.events import Emit, TurnAborted, TurnCompleted, TurnEnd, TurnFailed
from reference_stack.agent.failures import AgentError, TurnCancelledError
from reference_stack.agent.mailbox import MailboxClosedError
from reference_stack.agent.model import Item, ModelClient
from reference_stack.agent.records import Rollout
from reference_stack.agent.session import Session
from reference_stack.agent.steps import Steps, TurnSettings
from reference_stack.agent.telling import Outbox
from reference_stack.agent.tools import ToolPlan
from reference_stack.agent.uninterrupted import uninterrupted

__all__ = ["TurnSettings", "run_turn"]


async def run_turn(
    session: Session,
    items: Sequence[Item],
    *,
    turn_id: str,
    settings: TurnSettings,
    model: ModelClient,
    plan: ToolPlan,
    approval: ApprovalPolicy,
    rollout: Rollout,
    emit: Emit,
    cancel: CancelToken,
) -> TurnEnd:
    """Run a turn to its end, which is returned, told as the last event, and the session's `terminal`.

    However it ends, it ends once, and no call is left open but those that the caller has to answer. A cancellation by
    the token is an ending like another; one of the task is raised when the turn has ended. What is no AgentError (a
    fault in this code, or of an `approval`) is raised then, too.
    """
    session.begin(turn_id, items)
    turn = Steps(session, turn_id, settings, model, plan, approval, rollout, Outbox(emit), cancel)
    end: TurnEnd
    try:
        # A turn that was cancelled before its first step has begun all the same, and ends like any other.
        await uninterrupted(turn.begin(items))
        waiting_for = await unless_cancelled(turn.run(), cancel)
        end = TurnCompleted(turn_id=turn_id, usage=turn.usage, waiting_for=waiting_for)
    except TurnCancelledError as error:
        end = TurnAborted(turn_id=turn_id, reason=str(error))
    except MailboxClosedError:
        end = TurnAborted(turn_id=turn_id, reason="Nobody reads its events any more.")
    except AgentError as error:
        end = TurnFailed(turn_id=turn_id, reason=str(error), error=error)
    except asyncio.CancelledError:
        await uninterrupted(turn.end(TurnAborted(turn_id=turn_id, reason="Its task was cancelled.")))
        raise
    except BaseException as error:
        await uninterrupted(turn.end(TurnFailed(turn_id=turn_id, reason=f"{type(error).__name__}: {error}")))
        raise
    return await uninterrupted(turn.end(end))
