"""The first program of a task: fetches the archive of the run from the depot, unpacks it, and becomes `swarm.task`.

It is an argument of the task, so it holds nothing secret, and is as short as can be. A task may run before the depot's
name is known on its node, so it asks until its deadline.
"""

from __future__ import annotations

from stackproof.swarm.order import DEPOT, LIBRARY, SECRET

DEADLINE = 120.0
"""Seconds for the archive's first byte."""

_PROGRAM = """
import json, os, sys, tarfile, time, urllib.request
token = json.load(open("/run/secrets/{secret}"))["token"]
asked = urllib.request.Request(os.environ["{depot}"] + "/archive", headers={{"Authorization": "Bearer " + token}})
direct = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
end = time.monotonic() + {deadline}
while True:
    try:
        found = direct.open(asked, timeout=30)
        break
    except OSError as error:
        if time.monotonic() > end:
            sys.exit("stackproof: the depot did not answer: %s" % error)
        time.sleep(0.3)
with found, tarfile.open(fileobj=found, mode="r|") as archive:
    # Made by whoever started the run; newer Pythons would refuse links of a project that lead out of it.
    if hasattr(tarfile, "fully_trusted_filter"):
        archive.extraction_filter = staticmethod(tarfile.fully_trusted_filter)
    archive.extractall("/")
os.environ["PYTHONPATH"] = "{library}"
os.execv(sys.executable, [sys.executable, "-P", "-m", "stackproof.swarm.task"])
"""


def command(python: str) -> tuple[str, ...]:
    """The command of a task. python: that of its image."""
    return (
        python,
        "-c",
        _PROGRAM.format(secret=SECRET, depot=DEPOT, deadline=DEADLINE, library=LIBRARY).strip(),
    )
