"""Errors that end no command: raised in code under test, or in a stack, and read by whoever looks at that."""

from __future__ import annotations

import ast
import builtins
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import urllib3
from tests.unit.cli.provoking import Here

import stackproof
from stackproof.cli.reference_messages import exit_codes, read
from stackproof.recorder import ids as recorder_ids
from stackproof.recorder import patching, recorded, recording, sidefile

PACKAGE = Path(stackproof.__file__).parent


@dataclass(frozen=True, kw_only=True)
class Other:
    """An error that a person meets and that ends no command: it is raised in code under test, or in a stack."""

    by: Callable[[Here], object]
    says: tuple[str, ...]


def _missed(here: Here) -> None:
    with recorded(
        here.root / "recordings/own", scope="block", mode="replay", providers={"own": "http://own.example/v1"}
    ):
        urllib3.PoolManager().request("POST", "http://own.example/v1/chat/completions", json={"model": "m"})


def _recording_in_ci(here: Here) -> None:
    with recorded(here.root / "recordings/own", scope="block", mode="record", environ={"CI": "true"}):
        pass


def _blocked(here: Here) -> None:
    with recorded(here.root / "recordings/own", scope="block", mode="replay"), socket.socket() as wire:
        wire.connect(("192.0.2.1", 443))


def _damaged_recording(here: Here) -> None:
    here.write({"x.json": "<<<<<<< HEAD\n"})
    recording.read(str(here.root / "x.json"))


def _side_file(here: Here) -> None:
    sidefile.take_in(str(here.root / "x.json"), {"response": {"body": {"file": "../y.bin"}}})


def _old_library(here: Here) -> None:
    del here
    old = ModuleType("httpx")
    old.__dict__["__version__"] = "0.20.0"
    patching.require_version(old, (0, 24))


def _no_hook(here: Here) -> None:
    here.write({"desk_ids.py": ""})
    here.monkeypatch.syspath_prepend(here.root)
    undo = recorder_ids.hand_over("desk_ids:make", lambda: None)
    try:
        __import__("desk_ids")
    finally:
        undo()


OTHERS: Mapping[str, Other] = {
    "MissedError": Other(
        by=_missed, says=("no recording for POST /chat/completions of own (model m", "nothing is recorded for block")
    ),
    "RecordingInCIError": Other(
        by=_recording_in_ci, says=("mode record would record, and CI is set; say allow_in_ci",)
    ),
    "NetworkBlockedError": Other(by=_blocked, says=("a connection to 192.0.2.1", "was blocked in replay")),
    "DamagedRecordingError": Other(by=_damaged_recording, says=("x.json cannot be read as a recording",)),
    "SideFileError": Other(by=_side_file, says=("its body is said to be in '../y.bin'",)),
    "ForeignPatchError": Other(
        by=lambda _: patching.require_own(Here.write, "httpx.Client.send", "httpx"),
        says=("httpx.Client.send is already replaced by tests.unit.cli.provoking",),
    ),
    "UnsupportedVersionError": Other(
        by=_old_library, says=("httpx 0.20.0 is installed, and calls through it are recorded from version 0.24 on",)
    ),
    "IdHookError": Other(
        by=_no_hook, says=("id_hook of the stack is desk_ids:make, and desk_ids has no function make",)
    ),
}
"""Name of a class that is none of the family -> how it is provoked."""

INSIDE = {
    "InstallError",  # what ForeignPatchError and UnsupportedVersionError have in common
    *("UnknownShape", "LineError", "LineEventError", "UnknownTypeError", "MalformedEventError"),
    *(
        "_CallerLeftError",
        "NoJsonError",
        "GitError",
        "RefusedSource",
        "ChildFailedError",
        "NoPlotError",
        "NotPlainJson",
    ),
    *("UnreachableError", "EndedError", "BrokenAnswerError", "BrokenError", "NotDeliveredError", "Interrupted"),
    "_UnusableError",
}
"""Caught where they are raised, and told in words of somebody else."""


@pytest.fixture(name="here")
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    monkeypatch.chdir(tmp_path)
    return Here(root=tmp_path, monkeypatch=monkeypatch)


def test_every_other_error_is_provoked_or_known_to_be_caught() -> None:
    modules = read(PACKAGE)
    family = exit_codes(modules)
    found = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)}
    classes = [node for module in modules for node in module if isinstance(node, ast.ClassDef)]
    others: set[str] = set()
    for node in [*classes, *classes]:
        bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
        if bases & (found | others) and not bases & family.keys():
            others.add(node.name)
    others -= family.keys()
    assert others == OTHERS.keys() | INSIDE


@pytest.mark.parametrize("name", OTHERS)
def test_it_says_what_is_wrong_in_one_sentence(name: str, here: Here) -> None:
    with pytest.raises(Exception, match=r"\w") as caught:
        OTHERS[name].by(here)
    said = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert name in {each.__name__ for each in type(caught.value).__mro__} or name == "MissedError", repr(caught.value)
    assert [words for words in OTHERS[name].says if words not in said] == [], said
