"""A gateway whose provider is played by the test, and a database server of the tests' own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from reference_stack.app import create_app
from stackproof.stack.inprocess import InProcessApp

Provider = Callable[[httpx2.Request], httpx2.Response]
Gateway = Callable[..., httpx2.Client]

ENVIRON = {"OLLAMA_URL": "http://ollama.invalid/v1"}


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Start a gateway in front of a provider; gives a client for it.

    The provider is a function from request to response, or an async transport.
    """
    with ExitStack() as stack:

        def start(
            provider: Provider | httpx2.AsyncBaseTransport, environ: Mapping[str, str] = ENVIRON
        ) -> httpx2.Client:
            transport = provider if isinstance(provider, httpx2.AsyncBaseTransport) else httpx2.MockTransport(provider)
            app = create_app(environ, http_client=lambda: httpx2.AsyncClient(transport=transport))
            running = stack.enter_context(InProcessApp(app, close_grace=1.0))
            client = httpx2.Client(transport=running.transport(), base_url="http://stack.invalid", timeout=60)
            return stack.enter_context(client)

        yield start


def _programs() -> Path | None:
    """The folder with `initdb` and `pg_ctl`; Debian does not put it on the path."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))[::-1]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """A server that listens at a Unix socket in the folder that this gives; its superuser `stack` needs no password."""
    bin_folder = _programs()
    if bin_folder is None:
        pytest.skip("needs PostgreSQL")
    # It refuses to run as root. The path of a socket has to be short, and all folders above it open to its user.
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="stackproof-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            os.chown(folder, user, -1)
            folder.chmod(0o755)

        def run(program: str, *arguments: str) -> None:
            command = [str(bin_folder / program), "-D", str(folder / "data"), *arguments]
            with (folder / "output").open("a") as output:
                done = subprocess.run(
                    command, user=user, cwd=folder, stdout=output, stderr=output, timeout=300, check=False
                )
            assert done.returncode == 0, (folder / "output").read_text()

        run("initdb", "-U", "stack", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        where = f"-k {folder} -c listen_addresses= -c fsync=off"
        run("pg_ctl", "start", "-w", "-l", str(folder / "log"), "-o", where)
        try:
            yield folder
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")
