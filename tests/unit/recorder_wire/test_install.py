"""In and out again: originals come back, installations nest, other tools are named, the unused stays untouched."""

from __future__ import annotations

import json
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
from stackproof.recorder.patching import ForeignPatchError

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


def _methods() -> list[Any]:
    return [getattr(owner, name) for owner, name in _PLACES]


def _python(program: str, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
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
