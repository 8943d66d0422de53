"""Where recordings lie, in which order they are looked up, and what promotion leaves behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from stackproof.recorder.identity import Identity
from stackproof.recorder.mode import Mode
from stackproof.recorder.recording import Recording
from stackproof.recorder.scope import STACK, Scope
from stackproof.recorder.store import Store, folder_of, merge_models, ordinal_of

ROOT = "tests/integration"
OWNER = Scope(name=f"{ROOT}/base/test_a.py::test_b", test_id=f"{ROOT}/base/test_a.py::test_b")
REQUEST, OTHER = "1a" * 32, "2b" * 32


def _content(n: int = 1, scope: str = OWNER.name) -> Recording:
    return {
        "format": 1,
        "test_id": scope,
        "scope": scope,
        "request": {"provider": "ollama", "method": "POST", "path": "/x", "url": "{OLLAMA_URL}/x", "body": None},
        "response": {
            "status": 200,
            "headers": {},
            "body": {"json": {"n": n}},
            "complete": True,
            "is_exception": False,
            "exception": None,
        },
    }


def _models(*names: str, url: str = "{OLLAMA_URL}/models") -> Recording:
    content = _content()
    content["request"] = {**content["request"], "path": "/models", "url": url}
    content["response"]["body"] = {"json": {"object": "list", "data": [{"id": name} for name in names]}}
    return content


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "recordings"), "ollama", str(tmp_path / "run"), ROOT)


def _name(ordinal: int = 1, request: str = REQUEST, scope: Scope = OWNER) -> str:
    return Identity(scope=scope.digest, request=request).file_name(ordinal)


def _stage(store: Store, ordinal: int, n: int, request: str = REQUEST, scope: Scope = OWNER) -> None:
    store.stage(scope, _name(ordinal, request, scope), _content(n, scope.name))


def _kept(store: Store, folder: str = "base") -> dict[str, int]:
    place = Path(store.base, folder)
    files = place.iterdir() if place.is_dir() else ()
    return {path.name: json.loads(path.read_text())["response"]["body"]["json"]["n"] for path in files}


# -- folders


@pytest.mark.parametrize(
    ("scope", "folder"),
    [
        (f"{ROOT}/base/test_a.py::test_b[x]", "base"),
        (f"{ROOT}/base/deep/test_a.py::TestC::test_b", "base/deep"),
        (f"{ROOT}/test_a.py::test_b", "."),
        (f"{ROOT}/base/test_a.py::test_b[{ROOT}/other/x.py::y]", "base"),
        ("tests/integration_other/test_a.py::test_b", "integration_other"),
        ("tests/live/test_a.py::test_b", "live"),
        ("tests/test_a.py::test_b", "common"),
        ("elsewhere/unit/test_a.py::test_b", "common"),
        ("test_a.py::test_b", "common"),
        ("stack", "common"),
        (f"fixture:{ROOT}/base::prepared[1]", "base"),
        (f"fixture:{ROOT}/base/test_a.py::prepared", "base"),
        (f"fixture:{ROOT}/base/test_a.py::TestC::prepared", "base"),
        (f"fixture:{ROOT}::prepared", "."),
        ("fixture:::prepared", "common"),
        ("fixture:tests::prepared", "common"),
    ],
)
def test_a_scope_lies_where_its_test_file_lies(scope: str, folder: str) -> None:
    assert folder_of(scope, ROOT) == folder
    assert folder_of(scope, f"{ROOT}/") == folder


@pytest.mark.parametrize("root", ["", ".", "./"])
def test_a_project_whose_tests_lie_at_its_root(root: str) -> None:
    assert folder_of("api/test_a.py::test_b", root) == "api"
    assert folder_of("test_a.py::test_b", root) == "."
    assert folder_of("fixture:::prepared", root) == "common"


def test_folders_do_not_ask_where_the_process_stands(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert store.folders(OWNER) == [f"{store.base}/base", f"{store.base}/common"]
    assert store.find(OWNER, Identity(scope=OWNER.digest, request=REQUEST), 1) is None


# -- look-up


def test_the_own_folder_comes_before_common(store: Store) -> None:
    identity = Identity(scope=OWNER.digest, request=REQUEST)
    for folder, n in (("common", 1), ("base", 2)):
        place = Path(store.base, folder)
        place.mkdir(parents=True)
        (place / identity.file_name()).write_text(json.dumps(_content(n)))
        found = store.find(OWNER, identity, 1)
        assert found is not None
        assert found[0] == str(place / identity.file_name())
        assert found[1]["response"]["body"] == {"json": {"n": n}}
    assert store.find(OWNER, identity, 2) is None


def test_a_look_up_lists_no_folder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError("listed a folder")

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    assert store.find(OWNER, Identity(scope=OWNER.digest, request=REQUEST), 1) is None


def test_setups_never_share(tmp_path: Path, store: Store) -> None:
    _stage(store, 1, 1)
    store.promote(OWNER, replace=True)
    other = Store(str(tmp_path / "recordings"), "vllm", str(tmp_path / "run"), ROOT)
    assert other.find(OWNER, Identity(scope=OWNER.digest, request=REQUEST), 1) is None


# -- promotion


def test_promotion_closes_the_gaps_of_what_was_not_kept(store: Store) -> None:
    for number, n in ((2, 20), (5, 50), (11, 110)):
        _stage(store, number, n)
    _stage(store, 3, 7, OTHER)
    assert store.promote(OWNER, replace=True) == (4, 0)
    assert _kept(store) == {_name(1): 20, _name(2): 50, _name(3): 110, _name(1, OTHER): 7}
    assert store.staged(OWNER) == []


def test_what_comes_after_a_promotion_goes_on_from_there_and_costs_nothing(store: Store, tmp_path: Path) -> None:
    def record(n: int, run: str) -> Store:
        again = Store(str(tmp_path / "recordings"), "ollama", str(tmp_path / run), ROOT)
        _stage(again, 2, n, scope=STACK)  # number 1 was not kept
        again.promote(STACK, replace=True, prune=False)
        _stage(again, 3, 30, scope=STACK)
        _stage(again, 5, 50, scope=STACK)
        _stage(again, 1, 7, OTHER, scope=STACK)
        return again

    first = record(20, "run-1")
    assert first.promote_rest(STACK, replace=True) == (3, 0)
    names = [_name(number, scope=STACK) for number in (1, 2, 3)]
    whole = {**dict(zip(names, (20, 30, 50), strict=True)), _name(1, OTHER, STACK): 7}
    assert _kept(store, "common") == whole
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "recordings").rglob("*.json")}
    # Recorded anew with equal answers, no file is touched in between either.
    assert record(20, "run-2").promote_rest(STACK, replace=True) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "recordings").rglob("*.json")} == before
    third = Store(str(tmp_path / "recordings"), "ollama", str(tmp_path / "run-3"), ROOT)
    _stage(third, 1, 20, scope=STACK)
    third.promote(STACK, replace=True, prune=False)
    assert _kept(store, "common") == whole, "what the stack still asks for is not known"
    assert third.promote_rest(STACK, replace=True) == (0, 3)
    assert _kept(store, "common") == {names[0]: 20}


def test_record_replaces_the_scope_s_set_and_nobody_else_s(store: Store) -> None:
    neighbour = Scope(name=f"{ROOT}/base/test_a.py::test_z")
    _stage(store, 1, 1, scope=neighbour)
    store.promote(neighbour, replace=True)
    for number, n in ((1, 1), (2, 2)):
        _stage(store, number, n)
    _stage(store, 1, 3, OTHER)
    store.promote(OWNER, replace=True)
    _stage(store, 1, 9)
    assert store.promote(OWNER, replace=True) == (1, 2)
    assert _kept(store) == {_name(1): 9, _name(1, scope=neighbour): 1}


def test_a_set_that_is_not_whole_removes_nothing(store: Store) -> None:
    _stage(store, 1, 1)
    _stage(store, 1, 2, OTHER)
    store.promote(OWNER, replace=True)
    _stage(store, 1, 3)
    assert store.promote(OWNER, replace=True, prune=False) == (1, 0)
    assert _kept(store) == {_name(1): 3, _name(1, OTHER): 2}


def test_what_lies_in_the_wrong_folder_goes_when_the_scope_is_recorded(store: Store) -> None:
    common = Path(store.base, "common")
    common.mkdir(parents=True)
    (common / _name(1)).write_text(json.dumps(_content(1)))
    _stage(store, 1, 2)
    assert store.promote(OWNER, replace=True) == (1, 1)
    assert (_kept(store), _kept(store, "common")) == ({_name(1): 2}, {})


def test_an_equal_set_is_not_written_again(store: Store) -> None:
    _stage(store, 1, 1)
    assert store.promote(OWNER, replace=True) == (1, 0)
    _stage(store, 1, 1)
    assert store.promote(OWNER, replace=True) == (0, 0)
    assert _kept(store) == {_name(1): 1}


@pytest.mark.parametrize(
    ("present", "staged", "kept"),
    [
        ([1], [2], {1: 0, 2: 102}),
        ([1], [2, 3], {1: 0, 2: 102, 3: 103}),
        ([1], [3], {1: 0, 2: 103}),
        ([], [2, 4], {1: 102, 2: 104}),
        ([1, 3], [2], {1: 0, 2: 102, 3: 0}),
        ([1, 2], [2], {1: 0, 2: 0, 3: 102}),
        ([1, 2], [1, 2], {1: 0, 2: 0, 3: 101, 4: 102}),
    ],
)
def test_record_if_missing_numbers_after_what_is_there_and_never_rewrites(
    store: Store, present: list[int], staged: list[int], kept: dict[int, int]
) -> None:
    place = Path(store.base, "base")
    place.mkdir(parents=True)
    for number in present:
        (place / _name(number)).write_text(json.dumps(_content(0)))
    for number in staged:
        _stage(store, number, 100 + number)
    assert store.promote(OWNER, replace=False) == (len(staged), 0)
    assert _kept(store) == {_name(number): n for number, n in kept.items()}


def test_a_failed_attempt_leaves_the_next_one_alone(store: Store) -> None:
    again = Scope(name=OWNER.name, test_id=OWNER.name, attempt=2)
    _stage(store, 1, 1)
    _stage(store, 1, 2, scope=again)
    assert store.drop(OWNER) == 1
    assert store.drop(OWNER) == 0
    assert store.promote(again, replace=True) == (1, 0)
    assert _kept(store) == {_name(1): 2}


def test_workers_and_attempts_of_a_shared_scope_have_one_set(store: Store) -> None:
    name = f"fixture:{ROOT}/base::prepared"
    _stage(store, 1, 1, scope=Scope(name=name, worker="gw0"))
    _stage(store, 2, 2, scope=Scope(name=name, worker="gw1", attempt=3))
    assert store.staged_file(Scope(name=name), _name(2, scope=Scope(name=name))) is not None
    assert store.promote(Scope(name=name), replace=True) == (2, 0)


def test_start_up_calls_are_kept_in_common(store: Store) -> None:
    _stage(store, 1, 1, scope=STACK)
    store.promote(STACK, replace=True)
    assert _kept(store, "common") == {_name(1, scope=STACK): 1}


def test_temporary_and_foreign_files_are_nobody_s(store: Store) -> None:
    place = Path(store.base, "base")
    place.mkdir(parents=True)
    strange = [f".{_name(1)}.0a.tmp", _name(1) + "~", _name(1).replace(".json", "-x.json"), "README.md"]
    for name in strange:
        (place / name).write_text("x")
    assert store.names_of(OWNER) == {}
    assert store.promote(OWNER, replace=True) == (0, 0)
    assert sorted(path.name for path in place.iterdir()) == sorted(strange)


def test_the_same_request_elsewhere_is_found(store: Store) -> None:
    neighbour = Scope(name=f"{ROOT}/base/test_a.py::test_old")
    _stage(store, 1, 1, scope=neighbour)
    store.promote(neighbour, replace=True)
    found = list(store.same_request(OWNER, Identity(scope=OWNER.digest, request=REQUEST)))
    assert [Path(path).name for path in found] == [_name(1, scope=neighbour)]
    assert list(store.same_request(OWNER, Identity(scope=OWNER.digest, request=OTHER))) == []


def test_numbers_of_names() -> None:
    assert [ordinal_of(_name(number)) for number in (1, 2, 30)] == [1, 2, 30]
    assert ordinal_of("other.json") == 1


# -- model lists


def _listed(store: Store, request: str = REQUEST) -> list[str]:
    found = store.model_lists(Identity(scope=OWNER.digest, request=request))
    if not found:
        return []
    return [model["id"] for model in merge_models([content for _, content in found])["data"]]


def _stage_models(store: Store, digest: str, content: Recording, request: str = REQUEST) -> None:
    store.stage_models(f"models-{request[:20]}-{digest * 12}.json", content)


def test_sets_of_several_servers_merge_by_model(store: Store) -> None:
    _stage_models(store, "a", _models("m", "n", url="{OLLAMA_URL}/models"))
    _stage_models(store, "b", _models("n", "o", url="{second}/models"))
    assert store.promote_models() == 2
    assert _listed(store) == ["m", "n", "o"]


def test_a_model_that_is_gone_when_the_list_is_recorded_again_is_gone(tmp_path: Path, store: Store) -> None:
    _stage_models(store, "a", _models("m", "n"))
    _stage_models(store, "b", _models("x", url="{second}/models"))
    store.promote_models()
    later = Store(str(tmp_path / "recordings"), "ollama", str(tmp_path / "run2"), ROOT)
    _stage_models(later, "c", _models("n"))
    later.promote_models()
    # The other server was not seen this time, so its set stays.
    assert _listed(later) == ["x", "n"]


def test_lists_of_two_providers_never_mix(store: Store) -> None:
    _stage_models(store, "a", _models("m"))
    _stage_models(store, "b", _models("x"), OTHER)
    store.promote_models()
    assert _listed(store) == ["m"]
    assert _listed(store, OTHER) == ["x"]


def test_a_damaged_set_is_replaced(tmp_path: Path, store: Store) -> None:
    common = Path(store.base, "common")
    common.mkdir(parents=True)
    (common / f"models-{REQUEST[:20]}-{'d' * 12}.json").write_text("<<<<")
    _stage_models(store, "a", _models("m"))
    store.promote_models()
    assert _listed(store) == ["m"]


def test_both_shapes_of_a_model_list_merge() -> None:
    def content(value: Any) -> Recording:
        return {"response": {"body": {"json": value}}}

    tags = [content({"models": [{"name": "a"}, {"model": "b"}]}), content({"models": [{"name": "a", "x": 1}, "odd"]})]
    assert merge_models(tags) == {"models": [{"name": "a"}, {"model": "b"}, "odd"]}


def test_the_setup_of_the_bench_is_the_one_that_is_recorded(bench: Any) -> None:
    bench.record(({"a": 1}, {"b": 1}))
    assert bench.brain(Mode.REPLAY).store.base == str(bench.recordings)
    assert len(bench.files()) == 1


def test_what_another_stack_recorded_stays_when_a_scope_is_recorded_anew(tmp_path: Path) -> None:
    def by(stack: str) -> Store:
        return Store(str(tmp_path / "recordings"), "ollama", str(tmp_path / stack), ROOT, stack=stack)

    for stack, request in (("mine", REQUEST), ("theirs", OTHER)):
        content = {**_content(), "provenance": {"stack": stack}}
        by(stack).stage(OWNER, _name(request=request), content)
        by(stack).promote(OWNER, replace=True)
    assert set(_kept(by("mine"))) == {_name(), _name(request=OTHER)}
    # Recorded anew without a single call: what is its own goes, and what names another stack does not.
    assert by("mine").promote(OWNER, replace=True) == (0, 1)
    assert set(_kept(by("mine"))) == {_name(request=OTHER)}


def test_a_recording_that_names_no_stack_is_everybodys_to_replace(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "recordings"), "ollama", str(tmp_path / "run"), ROOT, stack="mine")
    _stage(store, 1, 1)
    store.promote(OWNER, replace=True)
    assert store.promote(OWNER, replace=True) == (0, 1)
    assert _kept(store) == {}
