"""A provider on the loopback interface, and a setup's own environment around a call to it."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import os
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import pytest

from stackproof import environment, plan
from stackproof.catalog import catalog
from stackproof.catalog.records import SetupSpec
from stackproof.options import RunOptions
from stackproof.recorder import install, scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import VARIABLE, Settings

_HERE = Path(__file__).parent
PROJECT = _HERE.parents[2]
_TEST = "tests/integration/base/test_setups.py::test_a_call"
OWNER = Scope(name=_TEST, test_id=_TEST)


def load(name: str) -> Any:
    """A module of this folder: pytest's import mode makes the folders of tests no packages."""
    full = f"stackproof_setups_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, _HERE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


load("sdks")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each call of each setup is a case."""
    if "call" in metafunc.fixturenames:
        calls, seen = load("calls").CALLS, Counter[str]()
        ids = []
        for call in calls:
            seen[f"{call.setup}-{call.sdk}"] += 1
            count = seen[f"{call.setup}-{call.sdk}"]
            ids.append(f"{call.setup}-{call.sdk}" + (f"-{count}" if count > 1 else ""))
        metafunc.parametrize("call", calls, ids=ids)


@pytest.fixture
def calls() -> Any:
    """All calls."""
    return load("calls").CALLS


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One request as it came in; `target` is path and query as they were written, header names are lower-case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """What comes before the query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """The query's fields."""
        return dict(parse_qsl(urlsplit(self.target).query))


@dataclass(kw_only=True, slots=True)
class Loopback:
    """Answers every POST with what `answer` gives as JSON; `asked` is what came in so far."""

    server: ThreadingHTTPServer
    scheme: str = "http"
    answer: Callable[[Asked], Any] = lambda _: {}
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}"

    def secure(self, folder: Path) -> dict[str, str]:
        """Speak TLS from now on; variables with which AWS's SDK trusts the certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(load("certificates").of_this_machine(folder))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.scheme = "https"
        return {"AWS_CA_BUNDLE": str(folder / "tls.pem")}

    def stop(self) -> None:
        """Listen no longer; may be said twice."""
        self.server.shutdown()
        self.server.server_close()


def _listening() -> Loopback:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(method="POST", target=self.path, headers=headers, body=body)
            loopback.asked.append(asked)
            content = json.dumps(loopback.answer(asked)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            pass

    loopback = Loopback(server=ThreadingHTTPServer(("127.0.0.1", 0), Handler))
    loopback.server.daemon_threads = True
    threading.Thread(target=loopback.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return loopback


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """Setups' environments, as a run would make them for tests and stack.

    `provider` is who is called; `tokens` gives out tokens, as clouds have a service for that beside what they serve.
    """

    provider: Loopback
    tokens: Loopback
    folder: Path
    _runs: Iterator[int] = field(default_factory=itertools.count)

    def urls(self, setup: SetupSpec, origin: str) -> dict[str, str]:
        """The setup's provider variables, each with its own path at another origin."""
        variables = [provider.variable for provider in setup.providers if provider.variable]
        return {name: origin + urlsplit(setup.env[name]).path for name in variables}

    @contextlib.contextmanager
    def run(self, setup: SetupSpec, mode: str, caller: Mapping[str, str]) -> Iterator[tuple[Mapping[str, str], Brain]]:
        """This process with the variables of a run in `mode`, and the recorder in force."""
        options = RunOptions(
            setup=setup.name,
            inference_mode=mode,
            stack_config="library:reference",
            recording_dir=str(self.folder / "recordings"),
        )
        known = catalog.load(PROJECT)
        # What runs beside a stack is somewhere; no call here goes there.
        elsewhere = {name: "nowhere" for item in setup.containers for name in known.container(item).provides}
        caller = elsewhere | dict(caller)
        (cell,) = plan.make(options, known, PROJECT, "abcdef", caller=caller).cells
        home = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true"}
        variables = environment.build(
            cell=cell,
            options=options,
            project=PROJECT,
            run_id="abcdef",
            cell_dir=self.folder / f"run-{next(self._runs)}",
            caller=home | caller,
            base_url=None,
            service_url=None,
        ).stack
        settings = Settings.from_json(variables[VARIABLE])
        with (
            mock.patch.dict(os.environ, variables, clear=True),
            install.installed(settings, variables) as brain,
            scope.use(OWNER),
        ):
            yield variables, brain
            if mode == "record":
                brain.settle(60.0)
                brain.store.promote(OWNER, replace=True)

    def files(self) -> list[Path]:
        """Kept recordings."""
        return sorted((self.folder / "recordings").rglob("*.json"))

    def stop(self) -> None:
        """Nobody listens any more."""
        self.provider.stop()
        self.tokens.stop()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Two services on the loopback interface, and a folder of the test's own."""
    made = Bench(provider=_listening(), tokens=_listening(), folder=tmp_path)
    yield made
    made.stop()


@pytest.fixture
def tools() -> Mapping[str, Any]:
    """What the tests take from the other modules of this folder."""
    return {
        "plain": load("sdks").plain,
        "check_signature": load("signing").check,
        "service_account": load("certificates").service_account,
    }
