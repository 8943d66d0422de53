"""`stackproof exec -- COMMAND`: replace this process by COMMAND, with the recorder first on its Python path.

The recorder goes, alone, into a private folder of the run, so nothing of the orchestrator reaches the foreign
environment. A `sitecustomize` there starts it and hands on to the one that it shadows.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Sequence

from ..settings import VARIABLE, Settings

GUEST_NAME = "stackproof_recorder"
_PR_SET_PDEATHSIG = 1
_USAGE, _NOT_EXECUTABLE, _NOT_FOUND = 2, 126, 127

HANDS_ON = """
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
# Another of ours may be on the path, which has handed on to this one or will.
_ours = sys.__dict__.setdefault("_stackproof_handed_on", set())
_ours.add(_here)
_others = [entry for entry in sys.path if os.path.abspath(entry or ".") not in _ours]
_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _others)
if _spec is not None and _spec.loader is not None:
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["sitecustomize"] = _module
    _spec.loader.exec_module(_module)
"""
"""The end of a `sitecustomize` of ours: it runs the one that it shadows."""

_SITECUSTOMIZE = f'''"""Start the recorder in this process, then run the sitecustomize that this one shadows."""
import os
import sys

if os.environ.get("{VARIABLE}"):
    # Python goes on after an error in here, and the stack would call real providers unseen.
    _problem = None
    if sys.version_info < (3, 11):
        _problem = "needs Python 3.11 or newer; %s is Python %d.%d" % ((sys.executable,) + sys.version_info[:2])
    else:
        try:
            from {GUEST_NAME}.serve import bootstrap
        except Exception as error:
            _problem = "could not be loaded by %s: %s" % (sys.executable, error)
    if _problem is not None:
        sys.stderr.write("stackproof: the recorder " + _problem + "\\n")
        sys.stderr.flush()
        os._exit(70)
    bootstrap.start()
{HANDS_ON}'''


def main(argv: Sequence[str]) -> int:
    """Does not return when the command starts; otherwise 2, 126 or 127 after one sentence."""
    command = list(argv[1:] if argv[:1] == ["--"] else argv)
    if not command:
        return _complain("exec needs a command: stackproof exec -- COMMAND [ARGUMENTS]", _USAGE)
    text = os.environ.get(VARIABLE)
    if not text:
        return _complain(
            f"exec runs a stack inside a run, and {VARIABLE} is not set; start it through `stackproof run`", _USAGE
        )
    try:
        settings = Settings.from_json(text)
    except (ValueError, TypeError, KeyError) as error:
        return _complain(f"{VARIABLE} cannot be read: {error}", _USAGE)
    try:
        folder = guest_folder(os.path.join(settings.run_dir, "guest"))
    except OSError as error:
        return _complain(f"exec: {command[0]} cannot be started: {error}", _NOT_EXECUTABLE)
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, environment.get("PYTHONPATH"))))
    _end_with_parent()
    try:
        os.execvpe(command[0], command, environment)  # noqa: S606 - that is what exec is
    except FileNotFoundError:
        return _complain(f"exec: {command[0]} was not found", _NOT_FOUND)
    except OSError as error:
        return _complain(f"exec: {command[0]} cannot be started: {error.strerror}", _NOT_EXECUTABLE)


def guest_folder(folder: str) -> str:
    """Make the private folder with the recorder and its sitecustomize in it; returns its absolute path."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    target = os.path.join(folder, GUEST_NAME)
    # Several servers of one run may start at once, in containers even with the same process id.
    own = os.urandom(8).hex()
    if not os.path.isdir(target):
        staging = f"{target}.{own}"
        shutil.copytree(package, staging, ignore=_closed)
        # Whoever is second has the same files.
        with contextlib.suppress(OSError):
            os.rename(staging, target)
        shutil.rmtree(staging, ignore_errors=True)
    begins = os.path.join(folder, "sitecustomize.py")
    # Whole at every moment: another server of the same run may be reading it.
    with open(f"{begins}.{own}", "w", encoding="utf-8") as file:
        file.write(_SITECUSTOMIZE)
    os.replace(f"{begins}.{own}", begins)
    return folder


def _closed(folder: str, names: list[str]) -> list[str]:
    """Compiled modules that another user has left for himself, or somebody is writing; others save a start's time."""
    if os.path.basename(folder) == "__pycache__":
        # Until it is whole, Python gives a compiled module a longer name.
        return [n for n in names if not n.endswith(".pyc") or not os.access(os.path.join(folder, n), os.R_OK)]
    return [
        name for name in names if name == "__pycache__" and not os.access(os.path.join(folder, name), os.R_OK | os.X_OK)
    ]


def _end_with_parent() -> None:
    """Ask Linux to end this process when the one that started it is gone; it survives the exec that follows."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _complain(text: str, code: int) -> int:
    print(f"stackproof: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
