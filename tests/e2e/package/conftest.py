"""A project in a folder of its own, a company's network around it, and the wheel, built once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="cryptography is not installed")
from tests.e2e.package.company import Authority, Company

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 900.0
# What is installed of others is what is locked: a release of theirs is no news of ours.
LOCKED = ROOT / "constraints.txt"
# What a project of somebody else's must not hear of the machine that these tests run on.
_OURS = ("STACKPROOF_", "PYTEST_", "VIRTUAL_ENV", "PYTHONPATH", "PIP_", "UV_", "COVERAGE_", "GITHUB_", "GITLAB_", "CI")
_LOOKS = ("COLUMNS", "FORCE_COLOR", "PY_COLORS", "NO_COLOR", "TERM")  # of the machine's own terminals
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
# Plugins of this environment that no test here is about, and that take longer to load than the tests run.
_UNUSED = ("anyio", "asyncio", "hypothesispytest", "langsmith_plugin", "recording", "rerunfailures", "xdist")
AUTHORITIES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


def plain(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a machine on which one records, without proxies and what is meant for this very run."""
    kept = {name: value for name, value in environ.items() if not name.startswith((*_OURS, *_LOOKS))}
    return {name: value for name, value in kept.items() if name.lower() not in _PROXIES} | {
        "PYTEST_ADDOPTS": " ".join(f"-pno:{name}" for name in _UNUSED)
    }


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A project that asks a model, and a Python to run Stackproof with."""

    root: Path
    python: Path = Path(sys.executable)
    environ: dict[str, str] = field(default_factory=dict)

    def write(self, files: Mapping[str, str]) -> None:
        """Put files into it, by their paths."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(
        self,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        program: tuple[str, ...] | None = None,
        code: int = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of Stackproof in it, which has to end with `code`."""
        done = subprocess.run(
            [*(program or (str(self.python), "-m", "stackproof")), *arguments],
            cwd=self.root,
            env={**self.environ, **(environ or {})},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done

    def kept(self) -> str:
        """All that lies in it, as one text, but what its own tests say themselves and what is compiled of that."""
        files = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        files = [path for path in files if not {"tests", "__pycache__"} & set(path.relative_to(self.root).parts)]
        return "\n".join(path.read_text(errors="replace") for path in files)


STACK = """\
description: A shop
modes: [server]
command: ["{python}", "-m", "http.server", "{port}", "--bind", "127.0.0.1"]
readiness: {path: /, status: 200, timeout: 60}
"""
SUITES = "suites: {base: {description: What must work, roots: [tests/integration/base], default_setup: company}}\n"
SETUPS = """\
company:
  description: A model behind the company's proxy
  env: {MODEL_URL: "https://api.models.test/v1"}
  secrets: [MODEL_KEY]
  providers: {models: {variable: MODEL_URL}}
plain:
  description: The same without TLS
  env: {MODEL_URL: "http://plain.models.test/v1"}
  secrets: [MODEL_KEY]
  providers: {models: {variable: MODEL_URL}}
"""
TESTS = """\
import os
import shutil
import requests

def test_the_model_answers():
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    answer = requests.post(os.environ["MODEL_URL"] + "/chat/completions", json=body, timeout=120)
    assert answer.json()["choices"][0]["message"]["content"] == "heard hello"
"""
FILES = {
    "stacks/shop/stack.yaml": STACK,
    "stacks/setups.yaml": SETUPS,
    "tests/suites.yaml": SUITES,
    "tests/integration/base/test_shop.py": TESTS,
    "pyproject.toml": '[tool.stackproof]\nstack_config = "server:shop"\n[tool.pytest.ini_options]\n',
}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """The project, with nothing recorded."""
    root = tmp_path / "shop"
    made = Shop(root=root, environ=plain(os.environ))
    made.write(FILES)
    return made


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The company's own."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def company(authority: Authority) -> Iterator[Company]:
    """Its proxy."""
    with Company(authority).listening() as found:
        yield found


@pytest.fixture
def behind(company: Company) -> dict[str, str]:
    """Variables of a machine in that company."""
    return {
        "HTTPS_PROXY": company.url,
        "HTTP_PROXY": company.url,
        "MODEL_KEY": "model-k3y-0123456789",
        **dict.fromkeys(AUTHORITIES, str(company.authority.file)),
    }


@dataclass(frozen=True, kw_only=True)
class Built:
    """What was built of this tree. wheel: of the tree. from_sdist: the wheel that was built of the sdist, elsewhere."""

    wheel: Path
    sdist: Path
    from_sdist: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Wheel and sdist, without an isolated environment: what builds them is in this one."""
    for name in ("build", "hatchling"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    first, second = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("dist")
    environ = {**plain(os.environ), "SOURCE_DATE_EPOCH": "1767225600"}
    for folder, only in ((first, ()), (second, ("--wheel",))):
        command = [sys.executable, "-m", "build", "--no-isolation", *only, "--outdir", str(folder), str(ROOT)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    (from_sdist,), (sdist,), (wheel,) = first.glob("*.whl"), first.glob("*.tar.gz"), second.glob("*.whl")
    return Built(wheel=wheel, sdist=sdist, from_sdist=from_sdist)


def program(name: str) -> str:
    """A program of this environment, or of PATH; skips without it."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def pyenv(version: str) -> Path:
    """A Python of pyenv; skips without it."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = sorted(root.glob(f"versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"pyenv has no Python {version}")
    return found[-1]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Path:
    """A project with what it has recorded, to be copied."""
    made = Shop(root=tmp_path_factory.mktemp("recorded") / "shop", environ=plain(os.environ))
    made.write(FILES)
    with Company(authority).listening() as company:
        given = {"MODEL_KEY": "k", "HTTP_PROXY": company.url}
        made.run("run", "--setup", "plain", "--inference-mode", "record", environ=given)
    shutil.rmtree(made.root / ".stackproof")
    return made.root


@pytest.fixture
def foreign(recorded: Path, tmp_path: Path) -> Shop:
    """A copy of it, on a machine where nothing of Stackproof is installed."""
    root = tmp_path / "somewhere else" / "shop"
    shutil.copytree(recorded, root)
    environ = plain(os.environ)
    keep = ("PATH", "HOME", "LANG", "TMPDIR", "PYTEST_ADDOPTS", *AUTHORITIES)
    return Shop(root=root, environ={name: environ[name] for name in keep if name in environ})
