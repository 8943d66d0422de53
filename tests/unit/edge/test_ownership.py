"""Whose call a request to the edge is, and what of its headers is ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackproof.edge.announced import announced, announcer
from stackproof.edge.ownership import How, whose
from stackproof.recorder import scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Settings

TEST = Scope(
    name="tests/integration/base/test_it.py::test_a[é/1]", test_id="tests/integration/base/test_it.py::test_a[é/1]"
)
FIXTURE = Scope(name="fixture:tests/integration::wide", test_id=TEST.name, attempt=2, worker="gw0")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        mode=Mode.REPLAY, recordings="r", setup="s", run_dir=str(tmp_path), run_id="x", header="X-Shop-Data"
    )


def test_the_id_header_comes_first_and_leaves_what_is_others(settings: Settings) -> None:
    value = json.dumps({**json.loads(scope.to_header(FIXTURE, None, settings.run_dir)), "key": "theirs"})
    found = whose([("x-shop-data", value), ("Accept", "*/*"), ("baggage", "stackproof.scope=other")], settings)
    assert (found.owner, found.how) == (FIXTURE, How.HEADER)
    assert dict(found.headers) == {"x-shop-data": '{"key": "theirs"}', "Accept": "*/*"}


def test_a_header_that_is_ours_alone_is_gone(settings: Settings) -> None:
    found = whose([("X-Shop-Data", scope.to_header(TEST, None, settings.run_dir))], settings)
    assert (found.owner, found.headers) == (TEST, ())


def test_an_id_too_long_for_a_header_is_looked_up(settings: Settings) -> None:
    long = Scope(name="t::" + "x" * 3000, test_id="t::" + "x" * 3000)
    value = scope.to_header(long, None, settings.run_dir)
    assert len(value) < 200
    assert whose([("X-Shop-Data", value)], settings).owner == long


@pytest.mark.parametrize("name", ["fixture:tests/integration::wide", "tests/a.py::test_b"])
def test_baggage_comes_second(settings: Settings, name: str) -> None:
    found = whose([("Baggage", f"user=1,stackproof.scope={name.replace('/', '%2F')};p=1")], settings)
    assert found.how is How.BAGGAGE
    assert found.owner == Scope(name=name, test_id=None if name.startswith("fixture:") else name)
    assert dict(found.headers) == {"Baggage": "user=1"}


def test_what_is_announced_comes_last(settings: Settings) -> None:
    announce = announcer(settings.run_dir)
    assert whose([], settings).how is How.NOT
    announce(FIXTURE)
    assert (whose([], settings).owner, whose([], settings).how) == (FIXTURE, How.ANNOUNCED)
    assert whose([("X-Shop-Data", scope.to_header(TEST, None, settings.run_dir))], settings).owner == TEST
    announce(None)
    announce(None)
    assert whose([], settings).owner is None
    assert not list(Path(settings.run_dir).glob("announced*"))


def test_workers_say_only_that_somebody_is_at_work(settings: Settings) -> None:
    first, second = announcer(settings.run_dir, "gw0"), announcer(settings.run_dir, "gw1")
    first(TEST)
    second(TEST)
    assert whose([], settings).owner is scope.UNKNOWN
    first(None)
    assert announced(settings.run_dir) is scope.UNKNOWN
    second(None)
    assert announced(settings.run_dir) is None


def test_a_file_that_cannot_be_read_is_believed_by_nobody(settings: Settings) -> None:
    Path(settings.run_dir, "announced-scope.json").write_text("{")
    assert announced(settings.run_dir) is scope.UNKNOWN


def test_a_probe_is_known_by_its_name(settings: Settings) -> None:
    probe = Scope(name="probe:1", test_id="probe:1")
    assert whose([("X-Shop-Data", scope.to_header(probe, None, settings.run_dir))], settings).is_probe
    assert not whose([], settings).is_probe
