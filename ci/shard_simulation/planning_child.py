"""One division, measured in a process of its own: `python planning_child.py TESTS PARTS`; prints one JSON object.

Nine tests in ten have a time. Nothing is imported that dividing does not need: the memory at the start is its own.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from pathlib import Path

from stackproof.shards.partition import divide


def main(count: int, parts: int) -> None:
    """Make the tests, sort them, divide them, and say what both took."""
    chance = random.Random(count)  # noqa: S311 - times of tests, no secret
    empty = _status("VmRSS")
    tests = [f"tests/integration/test_{number // 20:05}.py::test_{number:07}[ollama]" for number in range(count)]
    chance.shuffle(tests)
    seconds = {test: chance.lognormvariate(-3, 1.5) for test in tests if chance.random() < 0.9}
    began = time.process_time()
    ordered = sorted(tests)
    floor = time.process_time() - began
    del ordered
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew (proc(5))
    start = _status("VmRSS")
    began = time.process_time()
    divide(tests, parts, seconds=seconds)
    spent = time.process_time() - began
    facts = {"seconds": spent, "floor": floor, "held": start - empty, "above": _status("VmHWM") - start}
    sys.stdout.write(json.dumps(facts) + "\n")


def _status(key: str) -> int:
    """A number of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    raise LookupError(key)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
