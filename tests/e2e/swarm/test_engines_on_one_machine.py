"""`ci/swarm-engines`: several at once, and nothing is left of any, also where something went wrong half way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ci.swarm_engines import bed
from tests.e2e.swarm.swarm_engines import until

ROOT = Path(__file__).parents[3]
_BRIDGE = re.compile(r"spsw\d+")
SCRIPT = ROOT / "ci" / "swarm-engines"


@pytest.fixture
def folder() -> Iterator[Path]:
    """For engines: a short path, and nothing of them on this machine afterwards."""
    lacks = bed.missing()
    if lacks:
        pytest.skip(f"a swarm of engines on one machine needs {lacks}")
    with tempfile.TemporaryDirectory(prefix="sp-bed-") as made:
        place = Path(made) / "bed"
        yield place
        done = command("down", str(place))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def command(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *arguments],
        env={**os.environ, "PYTHON": sys.executable, **environ},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def of(folder: Path) -> list[str]:
    """All that is of a folder's engines: links, namespaces, rules, groups, mounts, processes, files."""
    found = [f"file {path.name}" for path in folder.glob("*")]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words and "ci.swarm_engines" not in words:
            found.append(f"process {process.name}")
    return found


def orphans() -> set[str]:
    """Links, namespaces, rules and control groups of engines whose bridge is gone."""
    links = subprocess.check_output(("ip", "-brief", "link"), text=True).splitlines()
    bridges = {line.split()[0] for line in links if _BRIDGE.fullmatch(line.split()[0])}
    shown = [
        *links,
        *subprocess.check_output(("ip", "netns"), text=True).splitlines(),
        *subprocess.check_output(("iptables", "--wait", "-S", "FORWARD"), text=True).splitlines(),
        *(str(path) for path in Path("/sys/fs/cgroup").glob("*/spsw*")),
    ]
    return {line for line in shown if (named := _BRIDGE.search(line)) and named.group() not in bridges}


@pytest.fixture
def before() -> set[str]:
    """What others have left on this machine."""
    return set() if bed.missing() else orphans()


def assert_gone(folder: Path, before: set[str]) -> None:
    """Nothing of them is left. The kernel takes links of a namespace away after it has gone, and others come and go."""
    until(lambda: of(folder) == [] and orphans() <= before, "left", told=lambda: (of(folder), orphans() - before))
    assert bed.found(folder) is None


@pytest.fixture
def somebodys() -> Iterator[str]:
    """A network namespace of engines whose bridge is gone, or where nobody here sees it: the first one in the way."""
    lacks = bed.missing()
    if lacks:
        pytest.skip(f"a swarm of engines on one machine needs {lacks}")
    shown = [subprocess.check_output(("ip", *words), text=True) for words in (("-brief", "link"), ("netns",))]
    taken = {found.group() for found in _BRIDGE.finditer("".join(shown))}
    name = next(f"spsw{number}-1" for number in range(64) if f"spsw{number}" not in taken)
    subprocess.run(("ip", "netns", "add", name), check=True)
    yield name
    subprocess.run(("ip", "netns", "delete", name), check=True)


def test_two_swarms_stand_side_by_side_and_go_one_by_one(folder: Path) -> None:
    other = folder.with_name("other")
    first = command("up", str(folder), "2")
    try:
        assert first.returncode == 0, first.stderr
        second = command("up", str(other), "1")
        assert second.returncode == 0, second.stderr
        addresses = [line.split()[1] for line in (first.stdout + second.stdout).splitlines()]
        assert len(set(addresses)) == 3
        unknown = command("kill", str(folder), "9")
        assert unknown.stderr == f"error: there is no engine 9 in {folder}: there are 1, 2\n"
        again = command("up", str(folder))
        assert (again.returncode, again.stdout) == (1, "")
        assert again.stderr == f"error: {folder} has engines already: `down` takes them away\n"
    finally:
        gone = command("down", str(other))
    assert gone.returncode == 0, gone.stderr
    until(lambda: of(other) == [], "left", told=lambda: of(other))
    assert not other.exists()
    socket = f"unix://{folder}/engine-1/docker.sock"
    shown = ("docker", "--host", socket, "node", "ls", "--format", "{{.Hostname}} {{.Status}}")

    def nodes() -> list[str]:
        return sorted(subprocess.check_output(shown, text=True).splitlines())

    until(lambda: nodes() == ["engine-1 Ready", "engine-2 Ready"], "the first are not whole", told=nodes)


def test_what_cannot_come_up_leaves_nothing_and_takes_nothing_of_others(
    folder: Path, somebodys: str, before: set[str]
) -> None:
    done = command("up", str(folder), "2", "--image", "no-such-image:at-all")
    assert done.returncode == 1
    assert "no-such-image:at-all" in done.stderr
    assert "Traceback" not in done.stderr
    assert_gone(folder, before)
    assert somebodys in subprocess.check_output(("ip", "netns"), text=True)


@pytest.mark.parametrize("sign", ["engine-1/log", "engine-2/docker.sock"])
def test_who_is_told_to_end_while_they_come_up_leaves_nothing(folder: Path, before: set[str], sign: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ci.swarm_engines", "up", str(folder), "2"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((folder / sign).exists, "nothing comes up")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in errors
    assert_gone(folder, before)


def test_engines_whose_starter_was_killed_go_by_their_folder(folder: Path, before: set[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ci.swarm_engines", "up", str(folder), "2"], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    until((folder / "engine-2" / "log").exists, "nothing comes up")
    process.kill()
    process.wait()
    assert of(folder) != []
    assert command("down", str(folder)).returncode == 0
    assert_gone(folder, before)


def test_an_engine_that_is_not_there_is_told(folder: Path) -> None:
    done = command("kill", str(folder), "1")
    assert (done.returncode, done.stderr) == (1, f"error: there are no engines in {folder}\n")
    long = folder / ("long" * 30)
    done = command("up", str(long))
    assert done.returncode == 1
    assert "is too long a path by" in done.stderr
    assert not long.exists()
