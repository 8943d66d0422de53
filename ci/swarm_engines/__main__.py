"""`ci/swarm-engines up FOLDER [N]`, `down FOLDER`, and what can befall one of them: `kill`, `cut`, `fill` and so on."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ci.swarm_engines import bed
from ci.swarm_engines.commands import BedError

_ABOUT = "Docker engines on this machine, each as if on one of its own, that form a swarm."


def main(argv: Sequence[str]) -> int:
    """0 where it is done, 1 where it cannot be, and then nothing is left of it."""
    given = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _ended)
    try:
        _do(given)
    except BedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _do(given: argparse.Namespace) -> None:
    folder: Path = given.folder.absolute()
    if given.action == "up":
        made = bed.up(folder, given.engines, given.image, given.size)
        for node in made.nodes():
            print(f"{node.name} {node.address} unix://{node.socket}")
        return
    if given.action == "down":
        # Half of it would be worse than what was asked for.
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, signal.SIG_IGN)
        bed.down(folder)
        return
    found = bed.found(folder)
    if found is None:
        raise BedError(f"there are no engines in {folder}")
    there = {each.number: each for each in found.nodes()}
    if given.engine not in there:
        raise BedError(f"there is no engine {given.engine} in {folder}: there are {', '.join(map(str, there))}")
    node = there[given.engine]
    match given.action:
        case "kill":
            node.kill()
        case "start":
            node.start()
            node.wait()
        case "cut":
            node.cut()
        case "heal":
            node.heal()
        case "fill":
            node.fill()
        case _:
            node.free(given.size)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ci/swarm-engines", description=_ABOUT)
    actions = parser.add_subparsers(dest="action", required=True)
    made = actions.add_parser("up", help="start engines and join them; the first one is the manager")
    made.add_argument("folder", type=Path, help="for their sockets and logs; a short path, sockets have to fit")
    made.add_argument("engines", type=int, nargs="?", default=3)
    made.add_argument("--image", action="append", default=[], help="an image of this machine's engine for each of them")
    made.add_argument("--size", default=bed.SIZE, help="of each one's disk, which is in memory (default: %(default)s)")
    gone = actions.add_parser("down", help="leave nothing of them")
    gone.add_argument("folder", type=Path)
    one = {
        "kill": "switch one off, with all that runs on it",
        "start": "switch it on again",
        "cut": "pull its network cable",
        "heal": "put the cable back",
        "fill": "leave no room on its disk",
        "free": "give it room again",
    }
    for name, text in one.items():
        action = actions.add_parser(name, help=text)
        action.add_argument("folder", type=Path)
        action.add_argument("engine", type=int)
        if name == "free":
            action.add_argument("--size", default=bed.SIZE)
    return parser


def _ended(signum: int, _: FrameType | None) -> None:
    signal.signal(signum, signal.SIG_IGN)
    raise SystemExit(128 + signum)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
