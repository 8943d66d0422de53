"""What each side does with a server that dies, a missing recording, two runs at once, and a talkative server.

    python -m ci.ogx_suite.demonstrate --checkout DIR --python EXE --tokenizers DIR --into DIR

Needs the project and the recordings that `python -m ci.ogx_suite` has made in `--into`. Each finding is a line of
`findings.md` there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.ogx_suite import left_behind, measured, ours, project, surroundings, theirs
from ci.ogx_suite.measured import Measured
from ci.ogx_suite.what import SUITES, Suite

_MESSAGES = next(suite for suite in SUITES if suite.name == "messages")
_AGENTS = next(suite for suite in SUITES if suite.name == "agents")
_NO_RECORDING = re.compile("no recording for|Recording not found|only recordings are at fault")
_TEST = "test_messages_non_streaming_basic"
_DIES = "#!/bin/sh\necho 'ogx: no configuration' >&2\nexit 3\n"
_TALKS = str(200 * 1024)
# The longest that a side that hangs is waited for.
_PATIENCE = 180.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """Where everything is."""

    checkout: Path
    python: Path
    tokenizers: Path
    into: Path

    def environment(self, place: Path, **more: str) -> dict[str, str]:
        """The variables of a run whose output goes to `place`."""
        made = surroundings.make(
            self.python, tokenizers=self.tokenizers, sockets=place / "sockets", first_test=place / "first_test"
        )
        return {**made, left_behind.MARK: str(self.into), **more}

    def run(self, side: str, name: str, suite: Suite = _MESSAGES, **more: str) -> Measured:
        """One run of a suite on a side."""
        place = self.into / "demonstrations" / name / side
        environment = self.environment(place, **more)
        if side == "theirs":
            return theirs.run(suite, checkout=self.checkout, environment=environment, folder=place)
        return ours.run(
            suite,
            checkout=self.checkout,
            project=self.into / "project",
            python=self.python,
            environment=environment,
            folder=place,
        )

    def output(self, side: str, name: str) -> str:
        """What a run wrote."""
        return (self.into / "demonstrations" / name / side / "output.txt").read_text(errors="replace")


def dead_server(bench: Bench) -> list[str]:
    """A program `ogx` that exits at once: how long until that is known, and what is said."""
    programs = bench.into / "demonstrations" / "dead"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "ogx").write_text(_DIES, encoding="ascii")
    (programs / "ogx").chmod(0o755)
    lines = []
    for side in ("theirs", "ours"):
        place = bench.into / "demonstrations" / "dead" / side
        path = f"{programs}:{bench.environment(place)['PATH']}"
        run = bench.run(side, "dead", PATH=path)
        said = next((line for line in bench.output(side, "dead").splitlines() if _tells(line)), "nothing")
        lines.append(f"{side}: exit code {run.code} after {run.seconds:.1f} s; {said.strip()}")
    return lines


def _tells(line: str) -> bool:
    return "failed to start" in line or "exited" in line


def missing(bench: Bench) -> list[str]:
    """One recording less: what the test that wants it is told."""
    copy = bench.into / "demonstrations" / "less"
    shutil.rmtree(copy, ignore_errors=True)
    for name in ("common", "messages"):
        shutil.copytree(
            bench.checkout / "tests/integration" / name / "recordings",
            copy / "tests/integration" / name / "recordings",
        )
    shutil.copytree(bench.into / "project/recordings", copy / "recordings")
    for folder in ("tests/integration/messages", "recordings/ogx-ci/messages"):
        for path in (copy / folder).rglob("*.json"):
            if f"::{_TEST}[" in path.read_text(errors="replace"):
                path.unlink()
    told = {"OGX_TEST_RECORDING_DIR": str(copy / "tests/integration/common")}
    lines = []
    for side, more in (("theirs", told), ("ours", {"STACKPROOF_RECORDING_DIR": str(copy / "recordings")})):
        run = bench.run(side, "missing", _MESSAGES, **more)
        reason = next((text for name, text in run.reasons.items() if f"::{_TEST}[" in name), "nothing")
        said = [line.strip()[:200] for line in bench.output(side, "missing").splitlines() if _NO_RECORDING.search(line)]
        lines.append(
            f"{side}: {run.count('passed')} passed; its test says:\n\n      {_shown(reason)}\n\n"
            f"    beside it the run says: {'; '.join(said) if said else 'nothing of a recording'}"
        )
    return lines


def _shown(reason: str) -> str:
    told = [line.removeprefix("E   ") for line in reason.splitlines() if line.startswith("E ") or "recording" in line]
    return "\n      ".join(line.strip()[:300] for line in (told or reason.splitlines())[:8])


def at_once(bench: Bench) -> list[str]:
    """Two runs at the same time, of which one is shorter; what they leave behind, and what a third run then says."""
    lines = []
    for side in ("theirs", "ours"):
        ended: dict[str, Measured] = {}

        def one(suite: Suite, side: str = side, ended: dict[str, Measured] = ended) -> None:
            ended[suite.name] = bench.run(side, f"at-once-{suite.name}", suite)

        threads = [threading.Thread(target=one, args=(suite,)) for suite in (_MESSAGES, _AGENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told = ", ".join(
            f"{run.suite} {run.count('passed')} passed, {run.count('failure', 'error')} not, exit code {run.code}"
            for run in ended.values()
        )
        left = left_behind.servers(str(bench.into))
        third = bench.run(side, "at-once-third")
        lines.append(
            f"{side}: {told}; servers left behind: {len(left)}; the next run: {third.count('passed')} passed with exit "
            f"code {third.code}{', against a server that it did not start' if left else ''}"
        )
        left_behind.end(str(bench.into))
    return lines


def talkative(bench: Bench) -> list[str]:
    """A server that writes 200 KiB to its standard error, started by pytest itself as OGX's fixture does."""
    lines = []
    place = bench.into / "demonstrations" / "talkative" / "theirs"
    environment = bench.environment(place, OGX_SUITE_TALKS=_TALKS, OGX_PORT="8399")
    place.mkdir(parents=True, exist_ok=True)
    # Its folders messages, interactions and responses throw standard error away; the others have it in a pipe.
    words = [str(bench.python), "-m", "pytest", "tests/integration/agents", f"--setup={_AGENTS.setup}"]
    words += ["--stack-config=server:ci-tests", "--inference-mode=replay", f"--junitxml={place / 'junit.xml'}"]
    run = measured.command(
        words, suite="agents", side="theirs", cwd=bench.checkout, environment=environment, folder=place,
        timeout=_PATIENCE,
    )  # fmt: skip
    lines.append(f"theirs: {_ended(run)}")
    left_behind.end(str(bench.into))
    lines.append(f"ours: {_ended(bench.run('ours', 'talkative', _AGENTS, OGX_SUITE_TALKS=_TALKS))}")
    return lines


def _ended(run: Measured) -> str:
    how = f"exit code {run.code}" if run.code is not None else "ended by us"
    return f"{run.count('passed')} passed, {how} after {run.seconds:.0f} s"


_ALL: dict[str, Callable[[Bench], list[str]]] = {
    "A server that dies at once": dead_server,
    "A recording that is missing": missing,
    "Two runs at once": at_once,
    "A server that writes 200 KiB to its standard error": talkative,
}


def main(argv: Sequence[str]) -> int:
    """Demonstrate everything, or the functions that are named."""
    parser = argparse.ArgumentParser(prog="python -m ci.ogx_suite.demonstrate")
    for name in ("checkout", "python", "tokenizers", "into"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=[act.__name__ for act in _ALL.values()])
    options = parser.parse_args(list(argv))
    bench = Bench(
        checkout=options.checkout.resolve(),
        python=options.python.absolute(),
        tokenizers=options.tokenizers.resolve(),
        into=options.into.resolve(),
    )
    project.make(bench.into / "project", checkout=bench.checkout)
    findings = []
    for title, act in _ALL.items():
        if options.only and act.__name__ not in options.only:
            continue
        try:
            told = act(bench)
        finally:
            left_behind.end(str(bench.into))
        findings.append(f"{title}\n" + "\n".join(f"  - {line}" for line in told))
        print(findings[-1], flush=True)
    (bench.into / "findings.md").write_text("\n\n".join(findings) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
