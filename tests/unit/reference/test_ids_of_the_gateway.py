"""The gateway's ids: its own, or those of whoever set an override."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from reference_stack import ids
from reference_stack.ids import Kind, new_id, set_id_override
from stackproof import catalog
from stackproof.recorder.ids import new_id as made_by_a_run
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.scope import Scope


@pytest.fixture(autouse=True)
def _no_override() -> Iterator[None]:
    before = set_id_override(None)
    yield
    set_id_override(before)


@pytest.mark.parametrize("kind", Kind)
def test_an_id_begins_as_its_kind_and_is_new(kind: Kind) -> None:
    assert re.fullmatch(f"{kind.value}[0-9a-f]{{32}}", new_id(kind))
    assert new_id(kind) != new_id(kind)


def test_an_override_gets_the_kind_and_the_way_that_there_was() -> None:
    asked: list[tuple[str, str]] = []

    def override(kind: str, generate: ids.Generate) -> str:
        asked.append((kind, generate()))
        return f"mine-{kind}"

    assert set_id_override(override) is None
    assert new_id(Kind.VECTOR_STORE) == "mine-vector_store"
    ((kind, own),) = asked
    assert kind == "vector_store"
    assert re.fullmatch("vs_[0-9a-f]{32}", own)
    assert set_id_override(None) is override


@pytest.mark.parametrize("kind", Kind)
def test_a_run_makes_ids_of_the_same_form(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> None:
    ledger = Ledger(str(tmp_path_factory.mktemp("run")))
    made = made_by_a_run(ledger, Scope(name="a::b"), kind.name.lower(), lambda: new_id(kind))
    ledger.close()
    assert re.fullmatch(f"{kind.value}[0-9a-f]{{20}}000000000001", made)


def test_the_stack_file_names_the_function() -> None:
    assert catalog.load(catalog.builtin_folder().parent).stack("reference").id_hook == (
        f"{set_id_override.__module__}:{set_id_override.__name__}"
    )
