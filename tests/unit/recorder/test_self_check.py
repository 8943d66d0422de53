"""Every file is read again right after it was written: it has to answer the request that made it, or it goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.recorder import recording, scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings

OWNER = Scope(name="tests/integration/base/test_a.py::test_a", test_id="tests/integration/base/test_a.py::test_a")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def brain_in(folder: Path) -> Brain:
    return Brain(
        Settings(
            mode=Mode.RECORD,
            recordings=str(folder / "recordings"),
            setup="s",
            run_dir=str(folder / "run"),
            run_id="abcdef",
            providers=(Provider(name="p", variable="P_URL", prefixes=("http://p.test/v1",)),),
        ),
        {},
    )


def record(brain: Brain, body: bytes) -> None:
    request = Request(
        method="POST", url="http://p.test/v1/chat", headers={"content-type": "application/json"}, body=body
    )
    with scope.use(OWNER):
        decision = brain.ask(request)
        assert isinstance(decision, Record)
        decision.take.start(200, {"content-type": "application/json"}, {})
        decision.take.feed(b'{"ok":true}')
        decision.take.end()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.dictionaries(st.text(max_size=8) | st.sampled_from(["api_key", "password"]), JSON, max_size=5))
def test_whatever_json_is_sent_its_file_answers_it(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, object]
) -> None:
    brain = brain_in(tmp_path_factory.mktemp("self-check"))
    record(brain, json.dumps(value).encode())
    assert brain.ledger.read("misses")[0] == []
    assert len(brain.store.staged(OWNER)) == 1
    brain.ledger.close()


def test_a_file_that_would_not_answer_is_refused_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brain = brain_in(tmp_path)
    whole = recording.dumps
    monkeypatch.setattr(recording, "dumps", lambda value: whole(value).replace('"hello"', '"hallo"'))
    record(brain, b'{"say": "hello"}')
    assert brain.store.staged(OWNER) == []
    (told,) = brain.ledger.read("misses")[0]
    assert told["kind"] == "unreplayable"
    assert told["message"].startswith("POST /chat was not written: its file would not answer the request")
    brain.ledger.close()
