"""A server of somebody else's, in a bare environment with another Python: the recorder is a guest in it.

The environment gets uvicorn and httpx2 and nothing of this project; what the tests see of the recorder is what
`stackproof exec` put on the path.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from stackproof.recorder import recording, scope
from stackproof.recorder.identity import Identity, describe, digest
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import VARIABLE, Provider, Settings
from stackproof.recorder.store import Store
from stackproof.stack import ports

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe

_APP = """
import asyncio, json, os, sys, threading, time
import httpx2

URL = os.environ["PROBE_URL"] + "/answers"


def ask_sync(body):
    with httpx2.Client(trust_env=False, timeout=60) as client:
        return client.post(URL, json=body).json()


async def ask(body):
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        answer = await client.post(URL, json=body)
        return answer.status_code, answer.json()


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": kind + ".complete"})
            if kind == "lifespan.shutdown":
                return
    raw = (await receive()).get("body") or b"{}"
    body = json.loads(raw)
    path = scope["path"]
    status, answer, after = 200, {}, None
    if path == "/health":
        answer = {"status": "OK", "pid": os.getpid()}
    elif path == "/seen":
        import sitecustomize
        answer = {"headers": [[k.decode(), v.decode("latin-1")] for k, v in scope["headers"]],
                  "python": list(sys.version_info[:2]), "pid": os.getpid(),
                  "theirs": getattr(sitecustomize, "THEIRS", None),
                  "path": sys.path, "modules": sorted(name for name in sys.modules if name.startswith("stackproof"))}
    elif path == "/meet":
        # Who has accepted a connection accepts no other until another worker has one, too.
        open(f"met-{os.getpid()}", "w").close()
        deadline = time.monotonic() + 5
        while sum(name.startswith("met-") for name in os.listdir()) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        status, answer = await ask(body)
        answer["pid"] = os.getpid()
    elif path == "/ask":
        status, answer = await ask(body)
        answer["pid"] = os.getpid()
    elif path == "/thread":
        found = []
        thread = threading.Thread(target=lambda: found.append(ask_sync(body)))
        thread.start()
        await asyncio.to_thread(thread.join)
        answer = found[0]
    elif path == "/executor":
        answer = await asyncio.get_running_loop().run_in_executor(None, ask_sync, body)
    elif path == "/task":
        status, answer = await asyncio.create_task(ask(body))
    elif path == "/later":
        after = ask(body)
    elif path == "/stream":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
            async with client.stream("POST", URL, json={**body, "stream": True}) as response:
                async for piece in response.aiter_raw():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
    if after is not None:
        await after
"""
_LONGEST = 120.0


def _other_pythons() -> Iterator[Path]:
    ours = sys.version_info[:2]
    for version in ("3.13", "3.12", "3.11"):
        if version != f"{ours[0]}.{ours[1]}":
            yield from sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
            on_path = shutil.which(f"python{version}")
            if on_path and ".pyenv/shims" not in on_path:
                yield Path(on_path)


@pytest.fixture(scope="module")
def foreign_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a bare environment: another Python, uvicorn, httpx2."""
    base = next(_other_pythons(), None)
    if base is None:
        pytest.skip("no other Python (3.11 to 3.13) on this machine")
    folder = tmp_path_factory.mktemp("foreign") / "venv"
    install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "uvicorn", "httpx2"]
    try:
        subprocess.run([base, "-m", "venv", folder], check=True, capture_output=True, timeout=300)
        subprocess.run([folder / "bin/python", *install], check=True, capture_output=True, timeout=300)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"no environment with {base} and packages from an index: {error}")
    return folder / "bin/python"


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A server that runs."""

    url: str
    run_dir: Path
    store: Store
    log: Path

    def post(self, path: str, say: str, owner: Scope | None = None, **headers: str) -> httpx2.Response:
        """Ask the server, for a test or for nobody."""
        if owner is not None:
            headers["x-provider-data"] = scope.to_header(owner, headers.get("x-provider-data"), str(self.run_dir))
        return httpx2.post(self.url + path, json={"say": say}, headers=headers, timeout=_LONGEST, trust_env=False)

    def lines(self, journal: str) -> list[dict[str, Any]]:
        """What the server wrote about its calls."""
        path = self.run_dir / f"{journal}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait for something that the server does after its answer."""
        deadline = time.monotonic() + _LONGEST
        while not reached() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert reached(), self.log.read_text()


@contextlib.contextmanager
def _server(python: Path, folder: Path, probe: Probe, mode: Mode, *arguments: str) -> Iterator[Served]:
    (folder / "foreign_app.py").write_text(_APP)
    run_dir = folder / f"run-{mode.value}"
    settings = Settings(
        mode=mode,
        recordings=str(folder / "recordings"),
        setup="probe",
        run_dir=str(run_dir),
        run_id="abcdef",
        providers=(Provider(name="probe", variable="PROBE_URL", prefixes=(probe.url,)),),
        command="stackproof run",
    )
    port = ports.free_port()
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    command = [python, "-m", "uvicorn", "foreign_app:app", "--port", str(port), "--no-access-log", *arguments]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "stackproof", "exec", "--", *map(str, command)],
            cwd=folder,
            env={**kept, "PATH": os.defpath, VARIABLE: settings.to_json(), "PROBE_URL": probe.url},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    store = Store(settings.recordings, "probe", settings.run_dir, settings.integration_root)
    served = Served(url=f"http://127.0.0.1:{port}", run_dir=run_dir, store=store, log=log)
    try:
        deadline = time.monotonic() + _LONGEST
        while True:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            try:
                if httpx2.get(f"{served.url}/health", trust_env=False, timeout=_LONGEST).status_code == 200:
                    break
            except httpx2.HTTPError:
                time.sleep(0.05)
        yield served
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)


def _scope(name: str) -> Scope:
    full = f"tests/integration/test_foreign.py::{name}"
    return Scope(name=full, test_id=full)


def test_the_guest_records_and_replays_in_a_foreign_environment(
    foreign_python: Path, tmp_path: Path, probe: Probe
) -> None:
    (site,) = (foreign_python.parent.parent / "lib").glob("python*/site-packages")
    theirs = site / "sitecustomize.py"
    theirs.write_text("THEIRS = 'still here'\n")
    ways = ("ask", "thread", "executor", "task", "stream", "later")
    try:
        with _server(foreign_python, tmp_path, probe, Mode.RECORD) as served:
            health = httpx2.get(f"{served.url}/health", trust_env=False, timeout=_LONGEST).json()
            seen = served.post(
                "/seen",
                "x",
                _scope("seen"),
                **{"x-provider-data": '{"their_key": "k"}', "baggage": "user=7,stackproof.scope=a"},
            ).json()
            answers = {way: served.post(f"/{way}", way, _scope(way)).text for way in ways}
            nobody = served.post("/ask", "nobody")
            served.wait_until(lambda: len(served.lines("calls")) == len(ways) + 1)
            misses = served.lines("misses")
    finally:
        theirs.unlink()

    # Its environment, and nothing of ours but the guest
    assert seen["python"] != list(sys.version_info[:2])
    assert seen["theirs"] == "still here", "the sitecustomize that ours shadows runs too"
    assert {name.partition(".")[0] for name in seen["modules"]} == {"stackproof_recorder"}
    assert not any("site-packages" in entry and "foreign" not in entry for entry in seen["path"])
    mark = json.loads((served.run_dir / "marks" / f"{health['pid']}.json").read_text())
    assert mark["python"].startswith(".".join(map(str, seen["python"])))

    # What the application sees
    headers = dict(seen["headers"])
    assert json.loads(headers["x-provider-data"]) == {"their_key": "k"}
    assert headers["baggage"] == "user=7"

    # Whose the calls are
    for way in ways:
        (path,) = served.store.staged(_scope(way))
        kept = recording.read(path)
        assert kept is not None
        assert (kept["scope"], kept["response"]["complete"]) == (_scope(way).name, True)
        served.store.promote(_scope(way), replace=True)
    assert nobody.status_code == 424
    assert "carried no test id" in nobody.json()["message"]
    assert [miss["kind"] for miss in misses] == ["no-scope"]
    assert "nobody" not in probe.said

    asked = len(probe.asked)
    with _server(foreign_python, tmp_path, probe, Mode.REPLAY) as served:
        replayed = {way: served.post(f"/{way}", way, _scope(way)).text for way in ways}
        served.wait_until(lambda: len(served.lines("calls")) == len(ways))
        assert served.lines("misses") == []
        missed = served.post("/ask", "other", _scope("ask"))
        assert missed.status_code == 424
        assert 'recorded "ask"   sent "other"' in missed.json()["message"]
    for way in ("thread", "executor", "task", "stream", "later"):
        assert replayed[way] == answers[way]
    assert len(probe.asked) == asked


def test_several_workers_share_one_count(foreign_python: Path, tmp_path: Path, probe: Probe) -> None:
    owner = _scope("many")
    body = json.dumps({"say": "same"}).encode()
    form = describe(
        provider="probe", method="POST", path="/answers", query="", content_type="application/json", body=body
    )
    identity = Identity(scope=owner.digest, request=digest(form))
    count = 24
    with _server(foreign_python, tmp_path, probe, Mode.REPLAY, "--workers", "2") as served:
        for number in range(1, count + 1):
            response = {
                "status": 200, "headers": {"content-type": "application/json"}, "is_streaming": False,
                "body": {"json": {"n": number}}, "complete": True, "is_exception": False, "exception": None,
            }  # fmt: skip
            recording.write(
                f"{served.store.folders(owner)[0]}/{identity.file_name(number)}",
                {"format": recording.FORMAT, "scope": owner.name, "request": form, "response": response},
            )
        with ThreadPoolExecutor(8) as pool:
            answers = [
                answer.json() for answer in pool.map(lambda _: served.post("/meet", "same", owner), range(count))
            ]
        pids = {answer["pid"] for answer in answers}
        marks = {int(path.stem) for path in (served.run_dir / "marks").iterdir()}
    assert sorted(answer["n"] for answer in answers) == list(range(1, count + 1)), "no answer is given out twice"
    assert len(pids) == 2, "both workers had a share"
    assert pids <= marks
