"""In and out again: originals come back, installations nest, other tools are named, the unused stays untouched."""

from __future__ import annotations

import importlib
import json
import operator
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest

from stackproof.recorder import install
from stackproof.recorder.mode import Mode
from stackproof.recorder.patching import ForeignPatchError, UnsupportedVersionError

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider

_PLACES = [
    (httpx.HTTPTransport, "handle_request"),
    (httpx.AsyncHTTPTransport, "handle_async_request"),
    (httpx2.HTTPTransport, "handle_request"),
    (httpx2.AsyncHTTPTransport, "handle_async_request"),
    (threading.Thread, "start"),
    (ThreadPoolExecutor, "submit"),
]
# What may be absent: the module, the class in it, the method.
_OPTIONAL = [
    ("aiohttp", "ClientSession", "_request"),
    ("urllib3.connectionpool", "HTTPConnectionPool", "_make_request"),
    ("urllib3.connectionpool", "HTTPSConnectionPool", "_prepare_proxy"),
    ("urllib3.util.retry", "Retry", "sleep"),
    ("urllib3.util.retry", "Retry", "sleep_for_retry"),
]
for _module, _class, _method in _OPTIONAL:
    try:
        _PLACES.append((getattr(importlib.import_module(_module), _class), _method))
    except ImportError:
        continue


def _methods() -> list[Any]:
    return [getattr(owner, name) for owner, name in _PLACES]


def _python(program: str, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.strip()


def test_every_method_is_the_original_again(bench: Bench) -> None:
    before, finders = _methods(), list(sys.meta_path)
    with bench.replay():
        assert all(new is not old for new, old in zip(_methods(), before, strict=True))
    assert _methods() == before
    assert sys.meta_path == finders
    assert install.active() is None


def test_an_error_in_the_block_takes_nothing_less_out(bench: Bench) -> None:
    before = _methods()
    with pytest.raises(RuntimeError), bench.replay():
        raise RuntimeError
    assert _methods() == before


def test_the_innermost_of_two_installations_is_asked(bench: Bench, provider: LoopbackProvider) -> None:
    before = _methods()
    with bench.record() as outer:
        httpx2.post(f"{provider.url}/outer", trust_env=False)
        with bench.run(Mode.REPLAY) as inner:
            assert httpx2.post(f"{provider.url}/inner", trust_env=False).status_code == 424
            assert len(inner.ledger.read("misses")[0]) == 1
        httpx2.post(f"{provider.url}/outer again", trust_env=False)
        assert [call["kind"] for call in outer.ledger.read("calls")[0]] == ["recorded", "recorded"]
    assert len(provider.asked) == 2, "a call is never seen twice"
    assert _methods() == before


def test_installations_may_end_in_any_order(bench: Bench, provider: LoopbackProvider) -> None:
    before = _methods()
    first = install.install(bench.settings(Mode.REPLAY), {})
    second = install.install(bench.settings(Mode.RECORD), {})
    install.uninstall(first)
    assert install.active() is second
    install.uninstall(second)
    install.uninstall(second)
    assert _methods() == before


def test_live_patches_nothing(bench: Bench) -> None:
    before = _methods()
    with bench.run(Mode.LIVE, stack_url="http://127.0.0.1:1"):
        assert _methods() == before


def test_suspended_lets_everything_pass(bench: Bench, provider: LoopbackProvider) -> None:
    with bench.run(Mode.REPLAY) as brain:
        with install.suspended():
            assert httpx2.post(f"{provider.url}/x", trust_env=False).json() == {"ok": True}
        assert httpx2.post(f"{provider.url}/x", trust_env=False).status_code == 424
        assert len(brain.ledger.read("misses")[0]) == 1


@pytest.mark.parametrize("disguised", [False, True], ids=["plain", "wraps"])
@pytest.mark.parametrize("module", [httpx, httpx2], ids=lambda module: module.__name__)
def test_another_tool_that_replaced_the_transport_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, module: Any, disguised: bool
) -> None:
    import functools

    original = module.HTTPTransport.handle_request

    def mocked(self: Any, request: Any) -> Any:
        return module.Response(200)

    monkeypatch.setattr(
        module.HTTPTransport, "handle_request", functools.wraps(original)(mocked) if disguised else mocked
    )
    before = _methods()
    with pytest.raises(ForeignPatchError, match=f"{module.__name__}'s transport.*already replaced by .*test_install"):
        install.install(bench.settings(Mode.REPLAY), {})
    assert _methods() == before, "half an installation is taken back"
    assert install.active() is None


@pytest.mark.parametrize(
    ("library", "owner", "method"),
    [
        ("aiohttp", "ClientSession", "_request"),
        ("urllib3", "connectionpool.HTTPConnectionPool", "_make_request"),
    ],
)
def test_another_tool_in_aiohttp_or_urllib3_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, library: str, owner: str, method: str
) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    place = operator.attrgetter(owner)(module)
    monkeypatch.setattr(place, method, lambda *_, **__: None)
    before = _methods()
    with pytest.raises(ForeignPatchError, match=f"{library}'s .*{method} is already replaced by .*test_install"):
        install.install(bench.settings(Mode.REPLAY), {})
    assert _methods() == before, "half an installation is taken back"


@pytest.mark.parametrize(
    ("library", "version", "needed"),
    [("aiohttp", "3.11.18", "3.12"), ("urllib3", "1.26.20", "2.0"), ("httpx", "0.24.1", "0.25")],
)
def test_a_library_that_is_too_old_is_named_with_what_is_needed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, library: str, version: str, needed: str
) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.setattr(module, "__version__", version)
    before = _methods()
    with pytest.raises(UnsupportedVersionError, match=rf"{library} {version} is installed.* version {needed} on"):
        install.install(bench.settings(Mode.REPLAY), {})
    assert _methods() == before
    assert install.active() is None


def test_a_library_that_is_too_old_says_so_from_its_import_too(bench: Bench, tmp_path: Path) -> None:
    package = tmp_path / "aiohttp"
    package.mkdir()
    (package / "__init__.py").write_text('__version__ = "3.8.6"\n')
    program = (
        _INSTALLED
        + """
sys.path.insert(0, sys.argv[2])
try:
    import aiohttp
except Exception as error:
    print(type(error).__name__, error)
"""
    )
    told = _python(program, bench.settings(Mode.REPLAY).to_json(), str(tmp_path))
    assert told.startswith("UnsupportedVersionError aiohttp 3.8.6 is installed")


def test_a_tool_that_came_after_us_keeps_its_place_when_we_leave(
    bench: Bench, provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", httpx2.HTTPTransport.handle_request)
    with bench.run(Mode.REPLAY):
        ours = httpx2.HTTPTransport.handle_request
        seen = []

        def around(self: Any, request: Any) -> Any:
            seen.append(request.url.path)
            return ours(self, request)

        httpx2.HTTPTransport.handle_request = around  # type: ignore[method-assign]
    assert httpx2.get(f"{provider.url}/x", trust_env=False).json() == {"ok": True}
    assert seen == ["/v1/x"]


def test_ours_put_back_by_such_a_tool_does_not_keep_the_next_installation_out(
    bench: Bench, provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", httpx2.HTTPTransport.handle_request)
    with bench.run(Mode.REPLAY):
        ours = httpx2.HTTPTransport.handle_request
    httpx2.HTTPTransport.handle_request = ours  # type: ignore[method-assign]

    async def ask() -> int:
        async with httpx2.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{provider.url}/x")).status_code

    with bench.replay():
        assert httpx2.get(f"{provider.url}/x", trust_env=False).status_code == 424
        assert asyncio.run(ask()) == 424


_INSTALLED = """
import json, sys
from stackproof.recorder import install
from stackproof.recorder.settings import Settings
brain = install.install(Settings.from_json(sys.argv[1]), {})
"""


def test_a_library_that_nobody_imports_stays_unimported(bench: Bench) -> None:
    program = (
        _INSTALLED
        + """
import urllib.request
install.uninstall(brain)
print(json.dumps([name for name in sys.modules if name.partition(".")[0] in
                  ("httpx", "httpx2", "uvloop", "anyio", "aiohttp", "urllib3", "asyncio", "email")]))
"""
    )
    loaded = json.loads(_python(program, bench.settings(Mode.REPLAY).to_json()))
    assert [name for name in loaded if not name.startswith("email")] == []


@pytest.mark.parametrize("order", ["before", "after", "within"])
@pytest.mark.parametrize("name", ["httpx", "httpx2"])
def test_a_library_is_patched_whenever_it_is_imported(bench: Bench, name: str, order: str) -> None:
    ask = f"""
import {name}
answer = {name}.post("{bench.provider.url}/x", trust_env=False)
print(answer.status_code, {name}.__spec__.loader.__class__.__name__)
"""
    parts = {
        "before": f"import {name}\n{_INSTALLED}{ask}",
        "after": f"{_INSTALLED}{ask}",
        "within": f"{_INSTALLED}import openai\n{ask}",
    }
    assert _python(parts[order], bench.settings(Mode.REPLAY).to_json()) == "424 SourceFileLoader"
    assert bench.provider.asked == []


@pytest.mark.parametrize("order", ["alias first", "install first"])
def test_httpx2_under_the_name_of_httpx_is_patched_once(bench: Bench, order: str) -> None:
    alias = "import httpx2; httpx2.alias_httpx()\n"
    ask = f"""
import httpx, httpx2
assert httpx.HTTPTransport is httpx2.HTTPTransport
answer = httpx.post("{bench.provider.url}/x", trust_env=False)
misses = brain.ledger.read("misses")[0]
install.uninstall(brain)
print(answer.status_code, len(misses), httpx.HTTPTransport.handle_request.__qualname__,
      hasattr(httpx.HTTPTransport.handle_request, "__stackproof__"))
"""
    program = alias + _INSTALLED + ask if order == "alias first" else _INSTALLED + alias + ask
    assert _python(program, bench.settings(Mode.REPLAY).to_json()) == "424 1 HTTPTransport.handle_request False"


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("name", ["aiohttp", "requests"])
def test_other_libraries_are_patched_whenever_they_are_imported(bench: Bench, name: str, order: str) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed")
    ask = {
        "aiohttp": f"""
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session, session.post("{bench.provider.url}/x") as answer:
        return answer.status
print(asyncio.run(main()))
""",
        "requests": f"""
import requests
with requests.Session() as session:
    session.trust_env = False
    print(session.post("{bench.provider.url}/x").status_code)
""",
    }[name]
    program = f"import {name}\n{_INSTALLED}{ask}" if order == "before" else f"{_INSTALLED}{ask}"
    assert _python(program, bench.settings(Mode.REPLAY).to_json()) == "424"
    assert bench.provider.asked == []


@pytest.mark.parametrize(
    "module", ["botocore.endpoint", "openai._base_client", "groq._resource", "google.genai._api_client"]
)
def test_what_an_sdk_waits_with_is_its_own_again(bench: Bench, module: str) -> None:
    import time

    waiting = pytest.importorskip(module, reason=f"{module.partition('.')[0]} is not installed")
    with bench.replay():
        assert waiting.time is not time
        assert waiting.time.monotonic is time.monotonic
    assert waiting.time is time


def test_uvloop_gets_its_methods_back(bench: Bench) -> None:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")
    before = dict(uvloop.Loop.__dict__)
    with bench.replay():
        assert dict(uvloop.Loop.__dict__) != before
    assert dict(uvloop.Loop.__dict__) == before


def test_settings_survive_their_way_through_the_environment(bench: Bench, tmp_path: Path) -> None:
    from stackproof.recorder.settings import Settings

    told = bench.settings(
        Mode.RECORD_IF_MISSING,
        secrets=("OPENAI_API_KEY",),
        rules=({"name": "floats"},),
        provenance={"server": "é", "models": {"m": {"synthetic_weights": True}}},
        stack_url="http://127.0.0.1:1",
        debug=True,
    )
    assert Settings.from_json(told.to_json()) == told
