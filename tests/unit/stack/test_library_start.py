"""What a library stack's `app` may be, and a library that has none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackproof import catalog, plan
from stackproof.options import resolve
from stackproof.stack import start
from stackproof.stack.handle import StackHandle

APP = """
async def told(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


class App:
    async def __call__(self, scope, receive, send):
        await told(scope, receive, send)


app = App()


def make(debug=False):
    return app
"""


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "tests" / "integration").mkdir(parents=True)
    (tmp_path / "tests" / "suites.yaml").write_text(
        "suites:\n  only: {description: d, roots: [tests/integration], default_setup: gpt}\n"
    )
    (tmp_path / "stacks" / "shop").mkdir(parents=True)
    (tmp_path / "shop_of_test.py").write_text(APP)
    yield tmp_path
    sys.modules.pop("shop_of_test", None)


def started(project: Path, rest: str) -> StackHandle:
    (project / "stacks" / "shop" / "stack.yaml").write_text(
        f"description: d\nmodes: [library]\npython_path: ['../..']\n{rest}"
    )
    planned = plan.make(resolve({}, {}, project), catalog.load(project), project, "7f3c2a")
    with start.start(cell=planned.cells[0], environment={}, cell_dir=project, timeout=None, port=None) as handle:
        if handle.app is not None:
            import httpx2

            with httpx2.Client(transport=handle.app.transport(), base_url=handle.base_url) as client:
                assert client.get("/").text == "here"
        return handle


@pytest.mark.parametrize("name", ["make", "App", "app", "told"])
def test_an_application_may_be_made_by_a_function_or_be_there(project: Path, name: str) -> None:
    pytest.importorskip("httpx2", reason="the reference extra is not installed")
    assert started(project, f"app: shop_of_test:{name}\n").app is not None


def test_a_plain_library_has_nothing_to_start(project: Path) -> None:
    assert started(project, "").app is None
