"""`--version`: the version alone in its first line, then what a report of a fault needs, and no secret."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stackproof
from stackproof.cli import version
from stackproof.doctor import installation
from stackproof.doctor.distributions import Distribution
from stackproof.doctor.installation import Environment, Kind

_LABELS = ["Python", "system", "installed", "pytest", "docker SDK", "HTTP", "SDKs"]


def _folders(lib: Path, *names: str) -> tuple[str]:
    for name in names:
        (lib / f"{name}.dist-info").mkdir(parents=True)
    return (str(lib),)


def test_the_first_line_is_the_version_and_every_other_has_its_label(tmp_path: Path) -> None:
    path = _folders(tmp_path, "pytest-9.2.0", "pytest_xdist-3.8.0", "openai-3.57.0", "httpx2-2.16.2", "docker-7.2.0")
    first, *rest = version.lines({"HOME": str(tmp_path)}, path=path)
    assert first == f"stackproof {stackproof.__version__}"
    assert [line[:11].rstrip() for line in rest if not line.startswith(" ")] == _LABELS
    text = "\n".join(rest).replace("\n            ", " ")
    assert "pytest      9.2.0, pytest-xdist 3.8.0" in text
    assert "docker SDK  7.2.0" in text
    assert "HTTP        httpx2 2.16.2" in text
    assert "SDKs        openai 3.57.0" in text
    assert max(len(line) for line in rest if "/" not in line) <= 80


def test_what_is_not_installed_is_said(tmp_path: Path) -> None:
    text = "\n".join(version.lines({}, path=(str(tmp_path),)))
    assert "pytest      not installed" in text
    assert "SDKs        none" in text


def test_a_home_folder_is_shortened_and_no_variable_is_told() -> None:
    home = Path(sys.executable).parents[1]
    environ = {"HOME": str(home), "OPENAI_API_KEY": "sk-proj-Ab3dEf6hIj9kLm2n", "HTTPS_PROXY": "http://u:pw@h:1"}
    text = "\n".join(version.lines(environ, path=()))
    assert f"Python      CPython {sys.version.split()[0]}, ~/bin/python" in text
    for value in (str(home), "sk-proj", "u:pw"):
        assert value not in text


def test_nothing_slow_is_imported_for_it() -> None:
    script = (
        "import sys\n"
        "from stackproof.cli import main\n"
        "from pathlib import Path\n"
        "code = main.main(['--version'], environ={}, project=Path.cwd())\n"
        "slow = ('docker', 'pytest', 'requests', 'yaml', 'rich', 'jinja2', 'importlib.metadata', 'asyncio')\n"
        "print(code, [name for name in slow if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[0] == f"stackproof {stackproof.__version__}"
    assert done.stderr == "0 []\n"


@pytest.mark.parametrize(
    ("prefix", "base", "kind"),
    [
        ("/home/a/desk/venv", "/usr", Environment.VENV),
        ("/usr", "/usr", Environment.SYSTEM),
        ("/home/a/.local/share/pipx/venvs/stackproof", "/usr", Environment.PIPX),
        ("/home/a/.local/pipx/.cache/b7e1d2", "/usr", Environment.PIPX_RUN),
        ("/home/a/.local/share/uv/tools/stackproof", "/usr", Environment.UV_TOOL),
        ("/home/a/.cache/uv/archive-v0/x9", "/usr", Environment.UVX),
        ("/home/a/uv/desk/.venv", "/usr", Environment.VENV),
    ],
)
def test_the_kind_of_an_environment_is_told_by_its_place(prefix: str, base: str, kind: Environment) -> None:
    assert installation.environment_of(Path(prefix), Path(base), {}) is kind


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        (None, Kind.WHEEL),
        ('{"url": "file:///a", "dir_info": {"editable": true}}', Kind.EDITABLE),
        ('{"url": "https://a.example/b.git", "vcs_info": {"vcs": "git"}}', Kind.GIT),
        ("{ no json", Kind.WHEEL),
    ],
)
def test_how_it_was_installed_is_read_from_its_metadata(tmp_path: Path, url: str | None, kind: Kind) -> None:
    folder = tmp_path / "stackproof-0.1.0.dist-info"
    folder.mkdir()
    (folder / "INSTALLER").write_text("uv\n")
    if url is not None:
        (folder / "direct_url.json").write_text(url)
    own = Distribution(name="stackproof", version="0.1.0", folder=folder)
    found = installation.find(tmp_path / "stackproof", (own,), {})
    assert (found.kind, found.installer) == (kind, "uv")
    assert installation.find(tmp_path / "stackproof", (), {}).kind is Kind.SOURCE
