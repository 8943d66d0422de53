"""One measurement in a process of its own: `python child.py WHAT CASES FOLDER`; prints one JSON object.

Nothing is imported here that the measured way does not need, so that the memory at the start is its own.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def main(what: str, cases: int, folder: Path) -> None:
    """Prepare, take the memory at the start, do it once, and say what it took."""
    action = _WAYS[what](cases, folder)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew (proc(5))
    start = _status("VmRSS")
    began, cpu = time.perf_counter(), time.process_time()
    found = action()
    seconds, busy = time.perf_counter() - began, time.process_time() - cpu
    sys.stdout.write(
        json.dumps({"seconds": seconds, "cpu": busy, "above": _status("VmHWM") - start, "found": found}) + "\n"
    )


def _status(key: str) -> int:
    """A number of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    raise LookupError(key)


def _judged(cases: int, folder: Path) -> Callable[[], object]:
    from ci.verdict_speed.made import asked  # noqa: PLC0415

    from stackproof.evidence import read  # noqa: PLC0415
    from stackproof.verdict.decide import decide  # noqa: PLC0415

    policy, current = asked(cases)

    def action() -> object:
        verdict = decide(policy, read.read(folder), current)
        rule = next(rule for rule in verdict.rules if rule.id.startswith("cell:"))
        return f"{rule.state.value}: {rule.summary}"

    return action


def _shards(cases: int, folder: Path) -> Callable[[], object]:
    from ci.verdict_speed.made import asked  # noqa: PLC0415

    from stackproof.evidence import gather  # noqa: PLC0415
    from stackproof.verdict.decide import decide  # noqa: PLC0415

    policy, current = asked(cases)
    runs = sorted((folder / "runs").iterdir())

    def action() -> object:
        verdict = decide(policy, gather.gather(runs), current)
        rule = next(rule for rule in verdict.rules if rule.id.startswith("cell:"))
        return f"{rule.state.value}: {rule.summary}"

    return action


def _shards_merged(_: int, folder: Path) -> Callable[[], object]:
    from stackproof.evidence import gather, merge  # noqa: PLC0415

    found = gather.gather(sorted((folder / "runs").iterdir()))

    def action() -> object:
        merge.write(folder / "merged.xml", {name: cell.report for name, cell in found.cells.items()})
        return (folder / "merged.xml").stat().st_size > 0

    return action


def _bytes(_: int, folder: Path) -> Callable[[], object]:
    from stackproof.evidence import digests  # noqa: PLC0415

    return lambda: len([digests.file(path) for path in (folder / "runs").glob("*/cells/*/*")])


def _shards_floor(_: int, folder: Path) -> Callable[[], object]:
    return _walk_all(sorted((folder / "runs").glob("*/cells/*/junit.xml")), _said, _nothing)


def _report(_: int, folder: Path) -> Callable[[], object]:
    from stackproof.evidence import junit  # noqa: PLC0415

    return lambda: len(junit.read(next(folder.glob("cells/*/junit.xml"))).cases)


def _merged(_: int, folder: Path) -> Callable[[], object]:
    from stackproof.evidence import junit, merge  # noqa: PLC0415

    paths = sorted(folder.glob("shard-*.xml"))

    def action() -> object:
        merge.write(folder / "merged.xml", {path.stem: junit.read(path) for path in paths})
        return (folder / "merged.xml").stat().st_size > 0

    return action


def _walk(folder: Path, look: Callable[[Any], object], keep: Callable[[object], object]) -> Callable[[], object]:
    return _walk_all([next(folder.glob("cells/*/junit.xml"))], look, keep)


def _walk_all(
    paths: list[Path], look: Callable[[Any], object], keep: Callable[[object], object]
) -> Callable[[], object]:
    etree = import_module("lxml.etree")

    def action() -> object:
        number = 0
        for path in paths:
            for _, element in etree.iterparse(str(path), tag="testcase"):
                keep(look(element))
                number += 1
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        return number

    return action


def _said(element: Any) -> object:
    get = element.get
    return get("classname"), get("name"), get("time"), [child.tag for child in element]


def _nothing(_: object) -> None:
    return None


def _walked(_: int, folder: Path) -> Callable[[], object]:
    return _walk(folder, _nothing, _nothing)


def _floor(_: int, folder: Path) -> Callable[[], object]:
    return _walk(folder, _said, _nothing)


def _floor_kept(_: int, folder: Path) -> Callable[[], object]:
    kept: list[object] = []
    return _walk(folder, _said, kept.append)


def _junitparser_stream(_: int, folder: Path) -> Callable[[], object]:
    model_of = import_module("junitparser").TestCase

    kept: list[object] = []

    def model(element: Any) -> object:
        case = model_of.fromelem(element)
        return case.classname, case.name, case.time, [type(each) for each in case.result]

    return _walk(folder, model, kept.append)


def _junitparser(_: int, folder: Path) -> Callable[[], object]:
    whole_of = import_module("junitparser").JUnitXml

    path = str(next(folder.glob("cells/*/junit.xml")))
    return lambda: sum(
        1 for suite in whole_of.fromfile(path) for case in suite if case.name and case.result is not None
    )


def _junitparser_merged(_: int, folder: Path) -> Callable[[], object]:
    whole_of = import_module("junitparser").JUnitXml

    paths = [str(path) for path in sorted(folder.glob("shard-*.xml"))]

    def action() -> object:
        whole = whole_of()
        for path in paths:
            whole += whole_of.fromfile(path)
        whole.write(str(folder / "merged.xml"))
        return (folder / "merged.xml").stat().st_size > 0

    return action


_WAYS = {
    "judged": _judged,
    "shards": _shards,
    "shards-floor": _shards_floor,
    "shards-bytes": _bytes,
    "shards-merged": _shards_merged,
    "report": _report,
    "merged": _merged,
    "walked": _walked,
    "floor": _floor,
    "floor-kept": _floor_kept,
    "junitparser-stream": _junitparser_stream,
    "junitparser": _junitparser,
    "junitparser-merged": _junitparser_merged,
}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
