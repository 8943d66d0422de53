"""Which images on an engine were built for stacks, and how they go when they are told to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from stackproof.cli.stack_cli import stack
from stackproof.errors import DockerError
from stackproof.stack import built, labels
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    environ: dict[str, str]
    project: Path


class Images:
    """An engine with these images: name -> the name that its label says. In use: those that a container needs."""

    def __init__(self, names: dict[str, str | None], in_use: tuple[str, ...] = ()) -> None:
        self.names, self.in_use, self.closed = names, in_use, False

    def named(self) -> tuple[Owned, ...]:
        return tuple(
            Owned(
                kind="image",
                id=name,
                name=name,
                labels={} if digest is None else {labels.DIGEST: digest, labels.STACK: digest[11:].partition(":")[0]},
            )
            for name, digest in self.names.items()
        )

    def remove_image(self, name: str, *, force: bool) -> None:
        assert not force
        if name in self.in_use:
            raise DockerError("a container uses it")
        del self.names[name]

    def owned(self, label: str) -> tuple[Owned, ...]:
        return ()

    def owned_in_swarm(self, label: str) -> tuple[Owned, ...]:
        return ()

    def close(self) -> None:
        self.closed = True


def images(*in_use: str) -> Images:
    return Images(
        {
            "stackproof/shop:12ab": "stackproof/shop:12ab",
            "localhost/stackproof/shop:34cd": "stackproof/shop:34cd",
            "docker.io/stackproof/shop:layers-00ff": None,
            "stackproof/shop-tests:layers-11ff": None,
            "stackproof/bank:56ef": "stackproof/bank:56ef",
            "somebody/started-from-shop:1": "stackproof/shop:12ab",
            "stackproof/shop:latest": None,
            "python:3.11-slim": None,
        },
        in_use,
    )


def of(engine: Any, name: str | None = None) -> list[str]:
    return [item.name for item in built.of(cast("Engine", engine), name)]


def test_what_was_built_has_the_name_that_its_label_says_and_layers_have_theirs() -> None:
    assert of(images(), "shop") == [
        "stackproof/shop:12ab",
        "localhost/stackproof/shop:34cd",
        "docker.io/stackproof/shop:layers-00ff",
        "stackproof/shop-tests:layers-11ff",
    ]
    assert len(of(images())) == 5


@pytest.mark.parametrize(
    ("in_use", "said"),
    [
        ((), ["removed 3 images that stacks were built into, and 2 that were kept for a next build"]),
        (
            ("stackproof/bank:56ef",),
            [
                "removed 2 images that stacks were built into, and 2 that were kept for a next build",
                "stackproof/bank:56ef stays: a container uses it",
            ],
        ),
    ],
)
def test_down_with_images_removes_them_and_nobody_elses(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    in_use: tuple[str, ...],
    said: list[str],
) -> None:
    engine = images(*in_use)
    monkeypatch.setattr(engines, "connect", lambda _: engine)
    code = stack.main(["down", "--images"], standalone_mode=False, obj=Around(environ={}, project=tmp_path))
    assert (code, capsys.readouterr().out.splitlines()) == (0, said)
    assert set(engine.names) == {
        "somebody/started-from-shop:1",
        "stackproof/shop:latest",
        "python:3.11-slim",
        *in_use,
    }
    assert engine.closed
