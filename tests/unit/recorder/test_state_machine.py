"""Store, ledger and promotion against a model of them: two processes, several scopes, failing tests, and kills.

The model is which answers a scope has, in which order. Whenever a test ends, the folder and replay are exactly that.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from stackproof.plugin.keeping import note_unanswered, promote_rest_of_stack
from stackproof.recorder import promotion, recording, sidefile, store
from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, Later, Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings

URL = "http://127.0.0.1:9/v1"
TESTS = ("tests/integration/base/test_it.py::test_a", "tests/integration/base/test_it.py::test_b")
FIXTURE = "fixture:tests/integration/base::wide"
SHARED = (FIXTURE, scopes.STACK_NAME)
SCOPES = (*TESTS, *SHARED)
SAYS = ("poll", "large")
HOWS = ("answered", "answered", "refused", "left", "held")
CALLS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(HOWS)), min_size=1, max_size=3)  # process, and what comes
Asked = tuple[str, list[tuple[int, str]]]
ASKED = st.lists(st.tuples(st.sampled_from(SAYS), CALLS), max_size=3)

Set = dict[str, list[int]]  # what is asked → the numbers of its answers, in order


class Killed(BaseException):
    """The process is gone: nothing that it would still have done on its way out happens."""


@contextlib.contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Kill whatever runs in the block before its change number `step` to the file system, and before each later one."""
    left = step

    def guarded(act: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 1:
                raise Killed
            return act(*args, **more)

        return change

    def opened(path: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        return (guarded(open) if "x" in mode else open)(path, mode, *args, **more)

    with contextlib.ExitStack() as undo:
        for name in ("replace", "unlink", "makedirs"):
            undo.enter_context(mock.patch.object(os, name, guarded(getattr(os, name))))
        for module in (recording, sidefile, promotion):
            undo.enter_context(mock.patch.object(module, "open", opened, create=True))
        yield


@dataclass(kw_only=True)
class Run:
    """A run that is going on, as the model sees it."""

    mode: Mode
    brains: list[Brain]
    attempts: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: 1))
    ended: set[str] = field(default_factory=set)
    numbers: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))
    staged: dict[str, dict[str, dict[int, int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(dict)))
    unanswered: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    held: list[tuple[str, str, int, Record]] = field(default_factory=list)
    waiting: list[tuple[str, str, int, Later]] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)


class Recorder(RuleBasedStateMachine):
    """Two processes of one run after another, and the recordings that all of them share."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="stackproof-model-"))
        self.disk: dict[str, Set] = {name: {} for name in SCOPES}
        self.answers = 0
        self.runs = 0
        self.run: Run | None = None

    def teardown(self) -> None:
        """Leave nothing behind."""
        for brain in self.run.brains if self.run else ():
            brain.ledger.close()
        shutil.rmtree(self.root)

    @initialize(mode=st.sampled_from([Mode.RECORD, Mode.RECORD_IF_MISSING]))
    def begin(self, mode: Mode) -> None:
        """A run begins."""
        self.runs += 1
        settings = self.settings(mode, f"run-{self.runs}")
        self.run = Run(mode=mode, brains=[Brain(settings, {}), Brain(settings, {})])

    def settings(self, mode: Mode, run: str) -> Settings:
        """Settings of a run in its own folder."""
        providers, recordings = (Provider(name="p", variable="P_URL", prefixes=(URL,)),), str(self.root / "recordings")
        run_dir = str(self.root / run)
        return Settings(
            mode=mode, setup="s", run_id="0a1b2c", providers=providers, recordings=recordings, run_dir=run_dir
        )

    @property
    def now(self) -> Run:
        """The run that is going on."""
        assert self.run is not None
        return self.run

    def owner(self, name: str, process: int = 0) -> Scope:
        """The scope as a process of the run has it."""
        worker = f"gw{process}" if name == FIXTURE else ""
        test_id = name if name in TESTS else None
        return Scope(name=name, test_id=test_id, attempt=self.now.attempts[name], worker=worker)

    @rule(name=st.sampled_from(SCOPES), say=st.sampled_from(SAYS), calls=CALLS)
    def call(self, name: str, say: str, calls: list[tuple[int, str]]) -> None:
        """The processes call the provider with equal requests."""
        for process, how in calls if name not in self.now.ended else ():
            self.call_once(process, name, say, how)

    def call_once(self, process: int, name: str, say: str, how: str) -> None:
        """One of them does; what it is told is what the model says."""
        run = self.now
        owner = self.owner(name, process)
        key = (f"{name} {owner.worker} {owner.attempt}", say, name)
        run.numbers[key] += 1
        run.asked.add(name)
        number = run.numbers[key]
        decision = _ask(run.brains[process], owner, say)
        if run.mode is Mode.RECORD_IF_MISSING and (kept := self.disk[name].get(say, [])):
            repeated = min(number, len(kept)) if name == scopes.STACK_NAME else number
            if repeated <= len(kept):
                assert _heard(decision) == kept[repeated - 1]
                return
        assert isinstance(decision, Later if self.is_taken(name, say, number) else Record), "each is asked for once"
        if isinstance(decision, Later):
            self.hear_later(name, say, number, decision)
            return
        self.go_on(name, say, number, decision, how)

    def go_on(self, name: str, say: str, number: int, decision: Record, how: str) -> None:
        """The call goes out, and comes back in one way or another."""
        run = self.now
        if how == "held":
            run.held.append((name, say, number, decision))
            return
        if how == "answered":
            self.answers += 1
            _play(decision, say, self.answers)
            run.staged[name][say][number] = self.answers
            run.unanswered[name].discard(say)
            return
        run.unanswered[name].add(say)
        if how == "refused":
            _play(decision, say, 0, status=500)
        else:
            decision.take.close()

    def is_taken(self, name: str, say: str, number: int) -> bool:
        """Whether an answer of a shared scope is being recorded, or was."""
        is_held = any(held[:3] == (name, say, number) for held in self.now.held)
        return name in SHARED and (is_held or number in self.now.staged[name][say])

    def hear_later(self, name: str, say: str, number: int, later: Later) -> None:
        """Ask again for what another process was recording."""
        decision = later.poll()
        if number in self.now.staged[name][say]:
            assert isinstance(decision, Answer)
            assert _heard(decision) == self.now.staged[name][say][number]
        elif self.is_taken(name, say, number):
            assert decision is None, "another process is at it"
            self.now.waiting.append((name, say, number, later))
        elif decision is None:  # as long as any other call of the scope is out
            assert any(held[0] == name for held in self.now.held)
            self.now.waiting.append((name, say, number, later))
        else:
            assert isinstance(decision, Record)
            self.go_on(name, say, number, decision, "answered")

    @precondition(lambda self: self.run and self.run.held)
    @rule(pick=st.integers(0), how=st.sampled_from(["answered", "refused", "left"]))
    def come_back(self, pick: int, how: str) -> None:
        """A call that was out for a while comes back."""
        self.go_on(*self.now.held.pop(pick % len(self.now.held)), how)

    @precondition(lambda self: self.run and self.run.waiting)
    @rule(pick=st.integers(0))
    def ask_again(self, pick: int) -> None:
        """A process that waits for another asks again."""
        self.hear_later(*self.now.waiting.pop(pick % len(self.now.waiting)))

    def settle(self, name: str) -> None:
        """No call of the scope is left in flight."""
        run = self.now
        held = [call for call in run.held if call[0] == name]
        run.held = [call for call in run.held if call[0] != name]
        for call in held:
            self.go_on(*call, "answered")
        waiting = [call for call in run.waiting if call[0] == name]
        run.waiting = [call for call in run.waiting if call[0] != name]
        for left in waiting:
            self.hear_later(*left)
        assert not any(call[0] == name for call in run.waiting), "nobody waits for nothing"

    @rule(
        name=st.sampled_from(TESTS),
        asked=ASKED,
        passed=st.sampled_from([True, True, True, False]),
        kill=st.integers(-12, 24),
        again=st.booleans(),
    )
    def run_test(self, name: str, asked: list[Asked], passed: bool, kill: int, again: bool) -> None:
        """A test asks for this and that, and ends; where it failed, it may run again."""
        if name in self.now.ended:
            return
        for say, calls in asked:
            self.call(name, say, calls)
        self.settle(name)
        if passed:
            self.now.ended.add(name)
            self.promote(name, kill, again=again)
        else:
            self.now.brains[1].store.drop(self.owner(name))
            self.forget(name)
            self.now.attempts[name] += 1
        self.check()

    @rule(
        failed=st.sampled_from([False, False, False, True]), kill=st.integers(-12, 24), again=st.booleans(),
        late=ASKED, mode=st.sampled_from([Mode.RECORD, Mode.RECORD_IF_MISSING]),
    )  # fmt: skip
    def end_run(self, failed: bool, kill: int, again: bool, late: list[Asked], mode: Mode) -> None:
        """The session ends, the stack is torn down, and another session begins."""
        run = self.now
        for name in SHARED:
            self.settle(name)
        if failed:
            run.brains[0].store.drop(self.owner(FIXTURE))
            self.forget(FIXTURE)
        elif FIXTURE in run.asked:
            self.promote(FIXTURE, kill, again=again)
        if run.mode is Mode.RECORD and kill < 1:
            self.tear_down(late)
        else:
            self.promote(scopes.STACK_NAME, kill, again=again)
        for _, _, _, decision in run.held:
            decision.take.close()
        for brain in run.brains:
            brain.ledger.close()
        self.check()
        self.begin(mode)

    def tear_down(self, late: list[Asked]) -> None:
        """The stack's recordings are kept at the end of the session, and once more when it is gone."""
        run, name = self.now, scopes.STACK_NAME
        first, refused = self.after(name, replace=True, prune=True), set(run.unanswered[name])
        self.promote(name, 0, again=False, lives=True)
        for say, calls in late:
            self.call(name, say, calls)
        self.settle(name)
        second = self.after(name, replace=True, prune=True)
        whole = (first or second) and not (refused - second.keys() | run.unanswered[name])
        new = {say: first.get(say, []) + second.get(say, []) for say in {*first, *second}}
        promote_rest_of_stack(run.brains[1], interrupted=False)
        old = {} if whole else self.disk[name]
        self.disk[name] = {say: new.get(say, []) + old.get(say, [])[len(new.get(say, [])) :] for say in {*new, *old}}
        self.forget(name)

    def forget(self, name: str) -> None:
        """What a scope had recorded is dropped."""
        self.now.staged.pop(name, None)
        self.now.unanswered.pop(name, None)

    def promote(self, name: str, kill: int, *, again: bool, lives: bool = False) -> None:
        """Keep what a scope recorded, possibly killed on the way and finished by the other process."""
        run, owner = self.now, self.owner(name)
        left: dict[tuple[str, int], set[str]] = {}
        note_unanswered(run.brains[0].ledger.read("calls")[0], left)
        assert bool(left.get((name, owner.attempt))) == bool(run.unanswered[name])
        asked_less = name == scopes.STACK_NAME and not run.brains[0].store.staged(owner)
        replace, prune = run.mode is Mode.RECORD, not (run.unanswered[name] or asked_less or lives)
        old, new = self.disk[name], self.after(name, replace=replace, prune=prune)
        self.disk[name] = new
        with contextlib.suppress(Killed), killed_at(kill) if kill > 0 else contextlib.nullcontext():
            run.brains[0].store.promote(owner, replace=replace, prune=prune)
            assert run.brains[1].store.staged(owner) == []
            self.forget(name)
            return
        for say, number, content in self.found(name):
            # In the middle of it each answer in its place is the one that was there, or the one that comes there.
            assert content in {*old.get(say, [])[number - 1 : number], *new.get(say, [])[number - 1 : number]}
        other = run.brains[1].store
        other.finish_promotions()
        if run.staged[name] and not again and not other.was_promoted(owner):
            other.drop(owner)
            self.disk[name] = old
        elif not other.was_promoted(owner):
            other.promote(owner, replace=replace, prune=prune)  # also where it only pruned: there is no order for that
        self.forget(name)

    def after(self, name: str, *, replace: bool, prune: bool) -> Set:
        """What a scope has when its answers of this run are kept."""
        kept = {say: [numbered[n] for n in sorted(numbered)] for say, numbered in self.now.staged[name].items()}
        kept = {say: answers for say, answers in kept.items() if answers}
        if replace and prune:
            return kept
        old = self.disk[name]
        says = {*old, *kept}
        if replace:
            return {say: kept.get(say, []) + old.get(say, [])[len(kept.get(say, [])) :] for say in says}
        return {say: old.get(say, []) + kept.get(say, []) for say in says}

    def found(self, name: str) -> Iterator[tuple[str, int, int]]:
        """(what was asked, number, answer) of each file of a scope; none is half a file."""
        mine = Scope(name=name)
        reader = store.Store(str(self.root / "recordings"), "s", str(self.root / "none"), "tests/integration")
        for file, path in reader.names_of(mine).items():
            content = recording.read(path)
            assert content is not None
            body = b"".join(recording.chunks_of(content["response"]))
            yield content["request"]["body"]["json"]["say"], store.ordinal_of(file), _number(body)

    def check(self) -> None:
        """The folders hold exactly the model's answers, and replay gives them in order, and no more."""
        for name in SCOPES:
            numbered: Set = defaultdict(list)
            for say, number, content in sorted(self.found(name)):
                assert number == len(numbered[say]) + 1, "numbers have no gaps"
                numbered[say].append(content)
            assert numbered == self.disk[name]
        large = sum(len(answers.get("large", [])) for answers in self.disk.values())
        beside = [path for path in (self.root / "recordings").rglob("*") if path.is_file() and path.suffix != ".json"]
        assert len(beside) == large, "one file beside each large answer, and nothing that a killed process left"
        brain = Brain(self.settings(Mode.REPLAY, "replay"), {})
        for name in SCOPES:
            for say in SAYS:
                kept = self.disk[name].get(say, [])
                expected = [*kept, kept[-1] if kept and name == scopes.STACK_NAME else None]
                assert [_heard(_ask(brain, Scope(name=name), say)) for _ in expected] == expected
        brain.ledger.close()
        shutil.rmtree(self.root / "replay")


def _ask(brain: Brain, owner: Scope, say: str) -> Any:
    body = json.dumps({"say": say}).encode()
    with scopes.use(owner):
        head = {"content-type": "application/json"}
        return brain.ask(Request(method="POST", url=URL + "/x", headers=head, body=body))


def _play(decision: Record, say: str, number: int, status: int = 200) -> None:
    head = {"content-type": "audio/mpeg" if say == "large" else "application/json"}
    large = b"\xff" * sidefile.LIMIT + number.to_bytes(4, "big")
    decision.take.start(status, head, head)
    decision.take.feed(large if say == "large" else json.dumps({"a": number}).encode())
    decision.take.end()


def _heard(decision: Any) -> int | None:
    """The number of a replayed answer; None where there is none, which has to be for want of a recording."""
    assert isinstance(decision, Answer)
    body = b"".join(decision.chunks)
    if decision.status == 424:
        code = json.loads(body)["error"]["code"]
        assert code in ("recording_exhausted", "recording_no-match", "recording_nothing-recorded"), code
        return None
    return _number(body)


def _number(body: bytes) -> int:
    return int.from_bytes(body[-4:], "big") if len(body) > sidefile.LIMIT else int(json.loads(body)["a"])


@mock.patch.object(store, "_ABANDONED", 0.0)  # nobody else writes here: what a killed process left can go at once
def test_no_order_of_events_costs_an_answer_or_gives_a_wrong_one() -> None:
    settings = hypothesis.settings(max_examples=100, stateful_step_count=20, deadline=None)
    hypothesis.stateful.run_state_machine_as_test(Recorder, settings=settings)
