"""Whether the keys are there, taken and in credit, before anything is started: a request or two for each provider."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stackproof.catalog.records import Catalog
from stackproof.live import meaning, questions
from stackproof.live.asking import Answer, NoAnswer, Question, ask
from stackproof.live.meaning import Meaning, Standing
from stackproof.live.opt_in import LiveModel
from stackproof.live.sentences import Finding, Sentences

_ONE = 20.0  # seconds for one request
_ALL = 60.0  # seconds for a provider, waits between its requests among them
_WAITS = 30.0  # of these, for waiting
_TIMES = 3  # how often one question is asked at most
_STEP = 0.05


class Allowance:
    """How many requests may still be made, over all providers. Safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self._left = self._limit = limit
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """How many were used up so far."""
        return self._limit - max(self._left, 0)

    def take(self) -> bool:
        """Whether there was one left; it is used up then."""
        with self._lock:
            self._left -= 1
            return self._left >= 0


@dataclass(kw_only=True, slots=True)
class Asked:
    """What asking one provider came to. findings: by model, `provider/model`. tokens: in and out."""

    provider: str
    setup: str
    findings: dict[str, Finding] = field(default_factory=dict)
    requests: int = 0
    retries: int = 0
    tokens: tuple[int, int] = (0, 0)
    seconds: float = 0.0


def check(
    models: Iterable[LiveModel],
    known: Catalog,
    *,
    environ: Mapping[str, str],
    allowance: Allowance,
    interrupted: Callable[[], None],
    sleep: Callable[[float], None] = time.sleep,
) -> list[Asked]:
    """Ask every provider, all at once, each for its models; back within a minute, in the order of `models`.

    Models of one provider in two setups are asked for apart, as their keys may be others. interrupted: is called while
    it waits, and raises to end it.
    """
    groups: dict[tuple[str, str], list[LiveModel]] = {}
    for model in models:
        groups.setdefault((model.setup, model.provider), []).append(model)
    inquiries = [_Inquiry(each, known, environ, allowance, sleep) for each in groups.values()]
    threads = [threading.Thread(target=inquiry.run, daemon=True) for inquiry in inquiries]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        interrupted()
        time.sleep(_STEP)
    return [inquiry.asked for inquiry in inquiries]


class _Inquiry:
    """The questions to one provider. Only its own thread writes to it."""

    def __init__(
        self,
        models: Sequence[LiveModel],
        known: Catalog,
        environ: Mapping[str, str],
        allowance: Allowance,
        sleep: Callable[[float], None],
    ) -> None:
        self._models, self._environ, self._allowance, self._sleep = models, environ, allowance, sleep
        first, setup = models[0], known.setup(models[0].setup)
        spec = next((spec for spec in setup.providers if spec.name == first.provider), None)
        self._spoken = spec.speaks if spec is not None else ()
        self._way = questions.of(first.provider)
        key = questions.key_of(setup, first)
        self._key = None if key is None else key[1]
        # Without a key that has to be there nothing is paid for: a list of models says all.
        self._paid = bool(setup.secrets) and key is not None
        self._say = Sentences(
            provider=first.provider,
            key=None if key is None else key[0],
            url=first.url,
            url_variable=None if spec is None else spec.variable,
            setup=first.setup,
        )
        self.asked = Asked(provider=first.provider, setup=first.setup)

    def run(self) -> None:
        began = time.monotonic()
        self._until = began + _ALL
        try:
            self._ask()
        except Exception as error:  # noqa: BLE001 - in a thread nobody would hear of it, and green it must not be
            self._all(self._say.failed(type(error).__name__))
        self.asked.seconds = time.monotonic() - began

    def _ask(self) -> None:
        first = self._models[0]
        if self._key is not None and (wrong := self._say.no_key(self._key)) is not None:
            self._all(wrong)
            return
        names: tuple[str, ...] | None = None
        if (question := questions.list_question(self._way, first, self._key)) is not None:
            answer, meant = self._put(question)
            listed = meant.standing in (Standing.OK, Standing.UNKNOWN_MODEL, Standing.UNCLEAR)
            if not listed or (answer is not None and self._way.usage and questions.used_up(answer)):
                spent = Meaning(standing=Standing.NO_CREDIT, said="its usage has reached its limit")
                self._all(self._say.of(meant if not listed else spent, first.model))
                return
            names = None if answer is None or meant.standing is not Standing.OK else questions.models_in(answer)
            if names is None and meant.standing is not Standing.OK:
                meant = Meaning(standing=Standing.UNCLEAR, said=meant.said)
        for model, trial in self._plan(names):
            self.asked.findings[model.title] = self._of_model(model, names, trial=trial)

    def _plan(self, names: tuple[str, ...] | None) -> list[tuple[LiveModel, bool]]:
        """Each model, and whether it is asked for a token: one of a provider is enough for its credit."""
        there = [names is not None and questions.has(names, model.model) for model in self._models]
        first = there.index(True) if True in there else 0
        return [
            (model, self._paid and (index == first or not there[index])) for index, model in enumerate(self._models)
        ]

    def _of_model(self, model: LiveModel, names: tuple[str, ...] | None, *, trial: bool) -> Finding:
        listed = names is not None and questions.has(names, model.model)
        question = questions.try_question(self._way, model, self._key, self._spoken) if trial else None
        if question is None:
            if names is None or listed:
                return self._say.fine(model.model, listed=listed)
            # A list may leave out what is only an alias; for want of a better judge it is believed.
            return self._say.unknown(model.model, names)
        answer, meant = self._put(question)
        if answer is not None:
            counted = questions.tokens_in(answer)
            self.asked.tokens = (self.asked.tokens[0] + counted[0], self.asked.tokens[1] + counted[1])
        if meant.standing is Standing.OK:
            return self._say.fine(model.model, listed=listed)
        if meant.standing is Standing.UNKNOWN_MODEL:
            return self._say.unknown(model.model, names or (), meant.said)
        if meant.standing is Standing.UNCLEAR and names is not None and not listed:
            return self._say.unknown(model.model, names, meant.said)
        return self._say.of(meant, model.model)

    def _put(self, question: Question) -> tuple[Answer | None, Meaning]:
        """Ask, and again where that may help, for as long as there is time; the last answer and what it means."""
        waited = 0.0
        for time_ in range(1, _TIMES + 1):
            if not self._allowance.take():
                return None, Meaning(standing=Standing.UNCLEAR, said="the budget allows no request")
            self.asked.requests += 1
            self.asked.retries += time_ > 1
            deadline = min(self._until, time.monotonic() + _ONE)
            answer = ask(question, environ=self._environ, deadline=deadline)
            if isinstance(answer, NoAnswer):
                return None, Meaning(standing=Standing.UNREACHABLE, said=answer.why, hint=answer.hint)
            meant = meaning.of(answer)
            wait = min(2.0**time_ / 2, _WAITS) if meant.wait is None else meant.wait
            late = waited + wait > _WAITS or time.monotonic() + wait > self._until
            if not meant.again or time_ == _TIMES or late:
                return answer, meant
            waited += wait
            self._sleep(wait)
        raise AssertionError("the last time returns")

    def _all(self, finding: Finding) -> None:
        self.asked.findings = {model.title: finding for model in self._models}
