"""An engine that is on another machine for all that it sees, and what runs of a project need to get there."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import DockerError
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine

PROGRAM = Path(__file__).parents[4] / "ci/remote-engine"
HERE, THERE = "10.213.7.1", "10.213.7.2"
TCP = f"tcp://{THERE}:2376"
SSH = f"ssh://root@{THERE}:2222"
_WITHIN = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """That engine. folder: with certificates and keys for it. engine: a connection of the tests' own, with TLS."""

    folder: Path
    engine: Engine

    def tls(self, url: str = TCP) -> dict[str, str]:
        """Variables for a run that reaches it over TCP."""
        return tls(self.folder, url)

    def ssh(self, url: str = SSH, *more: str, configuration: Path | None = None) -> dict[str, str]:
        """Variables for a run that reaches it over ssh: the program `ssh` with a configuration of its own, and `more`.

        ssh takes no HOME from its environment, so it has to be told as an argument.
        """
        programs = self.folder / f"bin{abs(hash(more))}"
        programs.mkdir(exist_ok=True)
        options = ("-F", str(configuration or self.folder / "ssh_config"), *more)
        given = " ".join(f"'{option}'" for option in options)
        (programs / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} {given} "$@"\n')
        (programs / "ssh").chmod(0o755)
        return {"DOCKER_HOST": url, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(self, *command: str) -> str:
        """Run a command on that machine; what it printed."""
        return run("run", self.folder, *command)

    def ways(self) -> list[str]:
        """Commands of this machine that lead to that one over ssh, by the configuration that they were given."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if "dial-stdio" in command and "BatchMode" in command and str(self.folder) in command:
                    found.append(command)
        return found

    def again(self) -> None:
        """Start its dockerd anew, after a test has ended it."""
        (self.folder / "again").touch()
        deadline = time.monotonic() + _WITHIN
        while True:
            with contextlib.suppress(DockerError):
                engines.connect(self.tls()).close()
                return
            assert time.monotonic() < deadline, "dockerd did not start anew"
            time.sleep(0.1)


def tls(folder: Path, url: str = TCP) -> dict[str, str]:
    """What `docker` is told of an engine with TLS."""
    return {"DOCKER_HOST": url, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(folder)}


def run(do: str, folder: Path, *command: str) -> str:
    """Have ci/remote-engine do something."""
    done = subprocess.run(
        [PROGRAM, do, folder, *command], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@contextmanager
def started(folder: Path, images: list[str]) -> Iterator[Elsewhere]:
    """It, with some of this machine's images, for as long as the context lasts."""
    with contextlib.ExitStack() as undo:
        undo.callback(run, "down", folder)
        # Its log is a file: what it starts would keep a pipe open.
        with (folder / "up.log").open("wb") as log:
            up = subprocess.run([PROGRAM, "up", folder], check=False, stdout=log, stderr=log, timeout=300)
        assert up.returncode == 0, (folder / "up.log").read_text()
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saved:
            subprocess.run(
                ["docker", "load"], check=True, stdin=saved.stdout, stdout=subprocess.DEVNULL, timeout=300,
                env={**os.environ, **tls(folder)},
            )  # fmt: skip
        engine = undo.enter_context(contextlib.closing(engines.connect({**os.environ, **tls(folder)})))
        yield Elsewhere(folder=folder, engine=engine)


def contexts(folder: Path, hosts: Mapping[str, str], certificates: Path | None, current: str | None = None) -> None:
    """Contexts as `docker context create` writes them, below a folder for DOCKER_CONFIG."""
    folder.mkdir(exist_ok=True)
    for name, host in hosts.items():
        command = f"host={host}"
        if certificates is not None:
            command += "".join(f",{key}={certificates}/{key}.pem" for key in ("ca", "cert", "key"))
        subprocess.run(
            ["docker", "--config", folder, "context", "create", name, "--docker", command],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip
    if current is not None:
        subprocess.run(
            ["docker", "--config", folder, "context", "use", current],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120,
            env={name: value for name, value in os.environ.items() if not name.startswith("DOCKER_")},
        )  # fmt: skip
