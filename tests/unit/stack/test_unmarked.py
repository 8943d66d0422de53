"""What is said of a process that the recorder is not in, from what /proc shows of it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.stack import unmarked


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("python server.py", ()),
        ("python -I server.py", ("I",)),
        ("python3.12 -sE -m uvicorn", ("E",)),
        ("python -BIS -c pass", ("I", "S")),
        ("python -u -W error -S server.py", ("S",)),
        ("python -Werror::ImportWarning -X dev -E x", ("E",)),
        ("python -XEIS server.py", ()),
        ("python -c -I", ()),
        ("python -mIES", ()),
        ("python -um server -I", ()),
        ("python server.py -I -E -S", ()),
        ("python --check-hash-based-pycs -I -S x", ("S",)),
        ("python --version -E", ("E",)),
        ("python - -I", ()),
        ("python -I -I", ("I",)),
        ("python", ()),
        ("", ()),
    ],
)
def test_options_of_the_interpreter_are_told_from_those_of_its_program(words: str, found: tuple[str, ...]) -> None:
    assert unmarked.options(words.split()) == found


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[int]:
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    try:
        if "sleep" not in command:
            assert process.stdout is not None
            process.stdout.readline()  # it is what it will be
        else:
            deadline = time.monotonic() + 60
            while Path(f"/proc/{process.pid}/exe").resolve().name == "python" and time.monotonic() < deadline:
                time.sleep(0.01)
        yield process.pid
    finally:
        process.kill()
        process.communicate()


_WAIT = "import time; print('here', flush=True); time.sleep(900)"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_each_way_to_keep_it_out_is_named_with_its_own_remedy(tmp_path: Path) -> None:
    guest = tmp_path / "guest"
    first = tmp_path / "first"
    first.mkdir()
    first.joinpath("sitecustomize.py").write_text("")
    whole = {VARIABLE: "{}", "PYTHONPATH": str(guest)}
    ways = [
        (["-E"], whole, "`python -E` looks at no variable", "drop -E"),
        (["-S"], whole, "`python -S` runs no sitecustomize", "drop -S"),
        ([], {"PATH": os.defpath}, f"{VARIABLE} did not arrive in it: `env -i`", "let"),
        ([], {**whole, "PYTHONPATH": "/theirs"}, "PYTHONPATH was replaced", "keeps both"),
        ([], {**whole, "PYTHONPATH": f"{first}:{guest}"}, f"{first}/sitecustomize.py comes first", "hand on"),
        ([], whole, unmarked.ANYTHING, "env -i"),
    ]
    for options, environment, *texts in ways:
        with _running([sys.executable, *options, "-c", _WAIT], environment) as pid:
            said = unmarked.why(pid, guest)
        assert all(text in said for text in texts), (options, environment, said)
    with _running(["sleep", "900"], whole) as pid:
        assert unmarked.why(pid, guest) == "sleep is not Python, so no recorder can be in it"


def test_of_a_process_that_is_gone_nothing_is_claimed(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(120)
    assert unmarked.why(gone.pid, tmp_path) == unmarked.ANYTHING


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_the_mark_of_a_program_that_has_become_another_one_does_not_count(tmp_path: Path) -> None:
    settings = Settings(
        mode=Mode.REPLAY, recordings=str(tmp_path), setup="s", run_dir=str(tmp_path / "run"), run_id="abcdef"
    )
    leave = (
        "import os, sys, time\n"
        "from stackproof.recorder.brain import Brain\n"
        "from stackproof.recorder.serve import marks\n"
        "from stackproof.recorder.settings import Settings\n"
        "marks.leave(Brain(Settings.from_json(sys.argv[1]), {}))\n"
    )
    ways = {
        "stays": (f"{leave}{_WAIT}", True),
        "becomes another": (f"{leave}os.execv(sys.executable, [sys.executable, '-I', '-c', {_WAIT!r}])", False),
    }
    for way, (code, counts) in ways.items():
        with _running([sys.executable, "-c", code, settings.to_json()], dict(os.environ)) as pid:
            assert (tmp_path / f"run/marks/{pid}.json").exists()
            assert unmarked.has_mark(pid, tmp_path / "run/marks") == counts, way
            assert not unmarked.has_mark(pid, tmp_path)
