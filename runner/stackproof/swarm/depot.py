"""The depot: a small server beside the tasks of a run, which hands out one archive and takes in what they have done.

`python depot.py FOLDER PORT PIECES` serves FOLDER/archive.tar, and keeps results below FOLDER/results/. Everything that
happens is a line of JSON on standard output, which is what the coordinator follows. Who asks shows the token that lies
in `TOKEN_FILE`, a folder in memory, before the first request. Standard library only: it runs in the image of a stack.

    GET  /archive                     the archive
    POST /signs/PIECE/ATTEMPT         a sign of life, one JSON object of at most 64 KiB
    PUT  /results/PIECE/ATTEMPT       a tar archive; the first one of a piece is kept, a later one is only noted
"""

import hashlib
import hmac
import itertools
import json
import re
import shutil
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN_FILE = Path("/run/stackproof/given.json")
PORT = 8077
LARGEST_SIGN = 64 << 10
LARGEST_RESULT = 512 << 20
ALIVE = 5.0
"""Seconds between two lines that say that it is there, and that what follows its log still hears it."""
_WAIT = 120.0  # seconds for the token; whoever made this container is gone then
_SILENT = 60.0  # seconds that a request may say nothing
_PIECE = 1 << 16

_TARGET = re.compile(r"/(signs|results)/(\d{1,7})/(\d{1,3})")


class Depot:
    """What the depot knows. told: gets what happens."""

    def __init__(self, folder: Path, token: str, pieces: int, told: "Any" = None) -> None:
        self.folder, self.token, self.pieces = folder, token, pieces
        self._told = told or _print
        self._lock = threading.Lock()
        self._first: dict[int, int] = {}
        self._uploads = itertools.count()
        (folder / "results").mkdir(exist_ok=True)

    def may(self, header: "str | None") -> bool:
        """Whether the value of `Authorization` is right."""
        return hmac.compare_digest((header or "").encode(), f"Bearer {self.token}".encode())

    def say(self, event: str, **facts: object) -> None:
        """Tell the coordinator."""
        with self._lock:
            self._told({"event": event, **facts})

    def place(self, piece: int, attempt: int) -> Path:
        """Where a result lies while it comes in: another one each time, since a task may try again meanwhile."""
        return self.folder / "results" / f"{piece}.{attempt}.{next(self._uploads)}.part"

    def settle(self, partial: Path, piece: int, attempt: int, digest: str, size: int) -> bool:
        """A result has come whole: whether it was the first one of its piece, which is kept."""
        with self._lock:
            first = piece not in self._first
            # Whose answer got lost delivers once more: that is no second result.
            event = "delivered" if first else "again" if self._first[piece] == attempt else "late"
            if first:
                partial.replace(self.folder / "results" / f"{piece}.tar")
                self._first[piece] = attempt
            else:
                partial.unlink()
            self._told({"event": event, "piece": piece, "attempt": attempt, "sha256": digest, "bytes": size})
        return first


class Handler(BaseHTTPRequestHandler):
    """One request."""

    depot: Depot
    timeout = _SILENT
    server_version = "stackproof-depot"
    sys_version = ""

    def do_GET(self) -> None:
        """The archive."""
        if not self._allowed():
            return
        if self.path != "/archive":
            self._answer(404)
            return
        path = self.depot.folder / "archive.tar"
        with path.open("rb") as file:
            self.send_response(200)
            self.send_header("Content-Length", str(path.stat().st_size))
            self.end_headers()
            shutil.copyfileobj(file, self.wfile, _PIECE)

    def do_POST(self) -> None:
        """A sign of life."""
        if (target := self._target("signs", LARGEST_SIGN)) is None:
            return
        piece, attempt, length = target
        try:
            said = json.loads(self.rfile.read(length))
        except ValueError:
            said = None
        if not isinstance(said, dict):
            self._answer(400)
            return
        self.depot.say("sign", piece=piece, attempt=attempt, said=said)
        self._answer(204)

    def do_PUT(self) -> None:
        """A result."""
        if (target := self._target("results", LARGEST_RESULT)) is None:
            return
        piece, attempt, length = target
        path = self.depot.place(piece, attempt)
        try:
            digest = self._keep(path, length)
        except OSError as error:
            path.unlink(missing_ok=True)
            self.depot.say("trouble", piece=piece, attempt=attempt, text=error.strerror or type(error).__name__)
            self._answer(507)
            return
        if digest is None:
            path.unlink(missing_ok=True)
            self.depot.say("trouble", piece=piece, attempt=attempt, text="a result came cut")
            return
        self.depot.settle(path, piece, attempt, digest, length)
        self._answer(204)

    def log_message(self, *_: object) -> None:
        """What happens is told in our own words."""

    def _keep(self, path: Path, length: int) -> "str | None":
        digest, left = hashlib.sha256(), length
        with path.open("wb") as file:
            while left and (data := self.rfile.read(min(_PIECE, left))):
                digest.update(data)
                file.write(data)
                left -= len(data)
        return None if left else digest.hexdigest()

    def _allowed(self) -> bool:
        if self.depot.may(self.headers.get("Authorization")):
            return True
        self._answer(401)
        return False

    def _target(self, kind: str, largest: int) -> "tuple[int, int, int] | None":
        """Piece, attempt and length of a request; None where it was answered already."""
        if not self._allowed():
            return None
        found = _TARGET.fullmatch(self.path)
        length = self.headers.get("Content-Length", "")
        if found is None or found[1] != kind or int(found[2]) >= self.depot.pieces:
            self._answer(404)
            return None
        if not length.isdecimal() or int(length) > largest:
            self._answer(413)
            return None
        return int(found[2]), int(found[3]), int(length)

    def _answer(self, status: int) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Server(ThreadingHTTPServer):
    """Tasks of one job ask in the same moment: more of them may wait than usual."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, depot: Depot, address: "tuple[str, int]") -> None:
        self._depot, self._said = depot, time.monotonic()
        super().__init__(address, type("Bound", (Handler,), {"depot": depot}))

    def service_actions(self) -> None:
        """Twice a second."""
        if time.monotonic() - self._said > ALIVE:
            self._said = time.monotonic()
            self._depot.say("alive")


def serve(depot: Depot, address: "tuple[str, int]") -> Server:
    """A server that listens, and does not serve yet."""
    return Server(depot, address)


def _print(facts: "dict[str, Any]") -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def main(folder: Path, port: int, pieces: int) -> int:
    """Wait for the token, and serve until the container ends."""
    deadline = time.monotonic() + _WAIT
    while not TOKEN_FILE.exists():
        if time.monotonic() > deadline:
            sys.stderr.write("stackproof: nobody gave the depot its token\n")
            return 70
        time.sleep(0.02)
    token = str(json.loads(TOKEN_FILE.read_text(encoding="utf-8"))["token"])
    TOKEN_FILE.unlink()
    depot = Depot(folder, token, pieces)
    with serve(depot, ("", port)) as server:
        depot.say("open", name=socket.gethostname())
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
