"""How large and how old the recordings are, as `checks/recordings.json` says it."""

from __future__ import annotations

import json
from pathlib import Path

from stackproof.evidence import jsonfile, recordings
from stackproof.evidence.recordings import FolderFacts


def recorded(folder: Path, name: str, moment: str | None) -> int:
    """A recording made at a moment; its size."""
    body = {"status": 200, "headers": {}, "body": {"json": {}}, "complete": True, "is_exception": False}
    content = {"format": 1, "request": {}, "response": body, "provenance": {"recorded_at": moment} if moment else {}}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path.stat().st_size


def test_each_setup_has_its_files_size_and_age(tmp_path: Path) -> None:
    sizes = [
        recorded(tmp_path, "ollama/base/a.json", "2026-10-02T00:00:00+00:00"),
        recorded(tmp_path, "ollama/common/b.json", "2026-10-01T00:00:00+00:00"),
        recorded(tmp_path, "ollama/base/c.json", None),
    ]
    found = recordings.inspect(tmp_path, ["ollama", "absent"])
    first, last = "2026-10-01T00:00:00+00:00", "2026-10-02T00:00:00+00:00"
    folder = FolderFacts(setup="ollama", files=3, size=sum(sizes), oldest=first, newest=last)
    assert found.folders == (FolderFacts(setup="absent"), folder)
    assert found.files == 3
    jsonfile.write(tmp_path / "facts.json", recordings.to_json(found))
    assert recordings.read(tmp_path / "facts.json") == found


def test_facts_of_an_older_run_have_no_folders(tmp_path: Path) -> None:
    jsonfile.write(tmp_path / "facts.json", {"schema": 1, "kind": "recordings", "files": 3, "folders": [3, {}]})
    found = recordings.read(tmp_path / "facts.json")
    assert found is not None
    assert (found.files, found.folders) == (3, ())
