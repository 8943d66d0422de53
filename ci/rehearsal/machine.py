"""What a job finds around it: folders of its own, programs, variables; nothing of whoever rehearses."""

from __future__ import annotations

import os
import shlex
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ci.rehearsal import fake_gh

# Every child has it in its environment, so that one that left its group is found, too.
TRACKING = "RUNNER_TRACKING_ID"
# How this machine reaches the package index. Credentials are not among them.
_REACH = (
    "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "TZ",
)  # fmt: skip
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(kw_only=True, slots=True)
class Machine:
    """One job's machine. variables: what steps have set for later ones; paths: the newest first."""

    folder: Path
    repository: str
    around: Mapping[str, str]
    given: Mapping[str, str]
    tracking: str = field(default_factory=lambda: f"rehearsal_{uuid.uuid4()}")
    variables: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        """Where the repository is checked out: a folder of its name in a folder of its name, as on a runner."""
        name = self.repository.rpartition("/")[2]
        return self.folder / "work" / name / name

    @property
    def temp(self) -> Path:
        """The runner's own temporary folder, also for whoever asks for any."""
        return self.folder / "work" / "_temp"

    @property
    def home(self) -> Path:
        """An empty home."""
        return self.folder / "home"

    @property
    def tools(self) -> Path:
        """Where setups of languages put them."""
        return self.folder / "tools"

    @property
    def canary(self) -> Path:
        """A file that exists once a hostile text was executed."""
        return self.folder / "canary"

    def make(self, git_config: str, gh: fake_gh.Place) -> None:
        """Folders and programs, before the first step."""
        for folder in (self.workspace, self.temp, self.home, self.tools, self.folder / "bin"):
            folder.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(git_config)
        program = self.folder / "bin" / "gh"
        words = [sys.executable, "-I", str(Path(fake_gh.__file__)), str(gh.state), str(gh.artifacts)]
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        program.chmod(0o755)

    def environment(self) -> dict[str, str]:
        """Variables of the machine and of its runner, for any step."""
        kept = {name: self.around[name] for name in _REACH if name in self.around}
        path = os.pathsep.join([*self.paths, str(self.folder / "bin"), str(self.home / ".local" / "bin"), _PATH])
        return {
            **kept,
            **_settings(self.around),
            "LANG": "C.UTF-8",
            **self.given,
            "PATH": path,
            "HOME": str(self.home),
            "TMPDIR": str(self.temp),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_NAME": "rehearsal",
            "RUNNER_ENVIRONMENT": "github-hosted",
            "RUNNER_TEMP": str(self.temp),
            "RUNNER_TOOL_CACHE": str(self.tools),
            "GIT_TERMINAL_PROMPT": "0",
            "REHEARSAL_CANARY": str(self.canary),
            TRACKING: self.tracking,
        }


def _settings(around: Mapping[str, str]) -> dict[str, str]:
    """pip and npm look for their settings and what they downloaded before in a home that is not there now."""
    home = Path(around.get("HOME", "/"))
    made = {"PIP_CACHE_DIR": str(home / ".cache" / "pip"), "npm_config_cache": str(home / ".npm")}
    for name, path in (("PIP_CONFIG_FILE", home / ".config/pip/pip.conf"), ("NPM_CONFIG_USERCONFIG", home / ".npmrc")):
        if name not in around and path.is_file():
            made[name] = str(path)
    return made
