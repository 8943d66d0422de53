"""Which recordings the filters pick, and what a walk over the files says of those that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackproof.errors import UsageError
from stackproof.recorder import recording
from stackproof.recordings import corpus
from stackproof.recordings.query import Query, is_below, owner_of, select, suites_of

TEST = "tests/integration/base/test_chat.py::test_two_turns[ollama/smollm2:135m]"
FIXTURE = "fixture:tests/integration/base/test_chat.py::TestTurns::client[a::b]"


def content(scope: str, *, model: str = "smollm2:135m", endpoint: str = "/chat/completions") -> dict[str, Any]:
    """A small whole recording."""
    return {
        "format": 1,
        "test_id": scope,
        "scope": scope,
        "request": {
            "provider": "ollama", "method": "POST", "url": f"{{OLLAMA_URL}}{endpoint}", "path": endpoint, "query": [],
            "endpoint": endpoint, "model": model, "headers": {}, "body": {"json": {"model": model}},
        },
        "response": {
            "status": 200, "headers": {}, "is_streaming": False, "body": {"json": {}}, "complete": True,
            "is_exception": False, "exception": None,
        },
        "rules": [],
        "provenance": {},
        "id_normalization_mapping": {},
    }  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two setups: three recordings and a damaged file."""
    for name, made in {
        "ollama/base/1.json": content(TEST),
        "ollama/base/2.json": content(FIXTURE, endpoint="/embeddings"),
        "vllm/common/3.json": content("stack", model="Qwen/Qwen3-0.6B"),
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        recording.write(str(path), made)
    (tmp_path / "vllm/common/4.json").write_text("{")
    return tmp_path


def names(root: Path, query: Query) -> list[str]:
    """What a query picks."""
    return [entry.name for entry in select(root, query)]


def test_nothing_asked_for_is_everything_in_order_of_names(root: Path) -> None:
    assert names(root, Query()) == [
        "ollama/base/1.json",
        "ollama/base/2.json",
        "vllm/common/3.json",
        "vllm/common/4.json",
    ]
    assert corpus.count(root) == 4


@pytest.mark.parametrize(
    ("query", "picked"),
    [
        (Query(setups=("vllm",)), ["vllm/common/3.json", "vllm/common/4.json"]),
        (Query(suites={"base": ("tests/integration/base",)}), ["ollama/base/1.json", "ollama/base/2.json"]),
        (Query(tests=("tests/integration/base/test_chat.py",)), ["ollama/base/1.json", "ollama/base/2.json"]),
        (Query(tests=("tests/integration/base/test_chat.py::test_two_turns",)), ["ollama/base/1.json"]),
        (Query(tests=(TEST,)), ["ollama/base/1.json"]),
        (Query(tests=("*two_turns[[]*",)), []),
        (Query(tests=("*two_turns[*",)), ["ollama/base/1.json"]),
        (Query(tests=("stack",)), ["vllm/common/3.json"]),
        (Query(tests=("tests/integration/ba",)), []),
        (Query(models=("Qwen/*",)), ["vllm/common/3.json"]),
        (Query(endpoints=("/embeddings", "/rerank")), ["ollama/base/2.json"]),
        (Query(providers=("ollama",), endpoints=("/chat/*",), models=("smol*",)), ["ollama/base/1.json"]),
    ],
)  # fmt: skip
def test_filters_narrow_between_kinds_and_widen_within_one(root: Path, query: Query, picked: list[str]) -> None:
    assert names(root, query) == picked


def test_damage_is_told_with_the_file_and_without_its_path(root: Path) -> None:
    entry = corpus.read(root / "vllm/common/4.json", root)
    assert entry.content is None
    assert entry.damage is not None
    assert entry.damage.startswith("cannot be read as a recording")
    assert (entry.scope, entry.model, entry.setup) == ("", "", "vllm")


def test_a_setup_without_recordings_names_the_nearest(root: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'ollama'"):
        corpus.setups(root, ["olama"])
    with pytest.raises(UsageError, match="no folder of recordings"):
        corpus.setups(root / "nowhere")


def test_a_scope_belongs_to_the_test_or_to_the_base_of_its_fixture() -> None:
    assert owner_of(TEST) == TEST
    assert owner_of(FIXTURE) == "tests/integration/base/test_chat.py::TestTurns"
    assert owner_of("fixture:::session_client") == ""
    assert owner_of("stack") == ""
    assert suites_of(FIXTURE, {"base": ("tests/integration/base",), "all": ("tests",)}) == ("base", "all")
    assert is_below("tests/a.py::test_b[x]", "tests/a.py::test_b")
    assert not is_below("tests/ab.py", "tests/a")
