"""Recordings that come out of a container: what changed there changes here, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.stack.kept import Kept
from stackproof.stack.luggage import Folder


@pytest.fixture
def sent(tmp_path: Path) -> Folder:
    """Two recordings that went in; another folder of this side did not."""
    for name in ("local/base/a.json", "local/base/b.json", "local/other/c.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return Folder(path=tmp_path, files=[tmp_path / "local/base/a.json", tmp_path / "local/base/b.json"])


def names(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_what_is_new_or_another_is_written_and_what_was_removed_goes(sent: Folder) -> None:
    kept = Kept(sent)
    kept.left("local/base/a.json", b"another")
    kept.left("local/base/deep/new.json", b"new")
    kept.left("local/base/.a.json.tmp", b"half")
    assert names(sent.path)["local/base/a.json"] == "local/base/a.json"
    kept.settle()
    assert names(sent.path) == {
        "local/base/a.json": "another",
        "local/base/deep/new.json": "new",
        "local/other/c.json": "local/other/c.json",
    }


def test_what_others_changed_meanwhile_stays_where_it_did_not_change_there(sent: Folder) -> None:
    kept = Kept(sent)
    (sent.path / "local/base/a.json").write_text("by another cell")
    kept.left("local/base/a.json", b"local/base/a.json")
    kept.left("local/base/b.json", b"local/base/b.json")
    kept.settle()
    assert names(sent.path)["local/base/a.json"] == "by another cell"


def test_a_name_that_leads_out_of_the_folder_is_refused(sent: Folder) -> None:
    kept = Kept(sent)
    kept.left("../elsewhere.json", b"x")
    with pytest.raises(OSError, match="leads out of the folder of recordings"):
        kept.settle()
    assert not (sent.path.parent / "elsewhere.json").exists()
