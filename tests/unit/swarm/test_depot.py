"""The depot over a real connection: who may ask, what it keeps, what it tells."""

from __future__ import annotations

import hashlib
import io
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackproof.stack import ports
from stackproof.swarm import depot as depots
from stackproof.swarm.way import NotDeliveredError, Way

TOKEN = "a token that nobody knows"


class Served:
    """A depot that serves on loopback."""

    def __init__(self, folder: Path) -> None:
        self.told: list[dict[str, Any]] = []
        (folder / "archive.tar").write_bytes(b"all that is needed")
        self.depot = depots.Depot(folder, TOKEN, 3, self.told.append)
        self.server = depots.serve(self.depot, ("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def way(self, piece: int = 0, attempt: int = 1, token: str = TOKEN) -> Way:
        return Way(self.url, token, piece, attempt, sleep=lambda _: None)

    def status(self, method: str, path: str, body: bytes = b"", token: str = TOKEN) -> int:
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{self.url}{path}", data=body or None, method=method, headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path)
    thread = threading.Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.server.shutdown()
    thread.join(timeout=60)
    found.server.server_close()


def test_nobody_is_answered_without_the_token(served: Served) -> None:
    for method, path in (("GET", "/archive"), ("POST", "/signs/0/1"), ("PUT", "/results/0/1")):
        assert served.status(method, path, b"{}" if method != "GET" else b"", token="another") == 401
    assert served.told == []
    assert list((served.depot.folder / "results").iterdir()) == []


def test_the_archive_comes_whole(served: Served) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    request = urllib.request.Request(f"{served.url}/archive", headers=headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        assert answer.read() == b"all that is needed"


def test_a_sign_of_life_is_told(served: Served) -> None:
    assert served.way(2, 1).sign({"phase": "running", "done": 3})
    assert served.told == [{"event": "sign", "piece": 2, "attempt": 1, "said": {"phase": "running", "done": 3}}]


def test_the_first_result_of_a_piece_is_kept_and_a_later_one_only_noted(served: Served) -> None:
    served.way(1, 2).deliver(io.BytesIO(b"second attempt"))
    served.way(1, 1).deliver(io.BytesIO(b"first attempt"))
    assert (served.depot.folder / "results" / "1.tar").read_bytes() == b"second attempt"
    assert [(each["event"], each["attempt"]) for each in served.told] == [("delivered", 2), ("late", 1)]
    assert served.told[0]["sha256"] == hashlib.sha256(b"second attempt").hexdigest()
    assert [path.name for path in (served.depot.folder / "results").iterdir()] == ["1.tar"]


def test_who_delivers_once_more_because_the_answer_got_lost_is_not_late(served: Served) -> None:
    served.way().deliver(io.BytesIO(b"result"))
    served.way().deliver(io.BytesIO(b"result"))
    assert [each["event"] for each in served.told] == ["delivered", "again"]


def test_who_tries_again_while_the_first_upload_still_hangs_is_not_cut_by_it(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.server.server_address[1]), timeout=60) as line:
        head = f"PUT /results/0/1 HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 600\r\n\r\nXXX"
        line.sendall(head.encode())
        deadline = time.monotonic() + 60
        while not list((served.depot.folder / "results").iterdir()):
            assert time.monotonic() < deadline
        served.way().deliver(io.BytesIO(b"result"))
        # Of the first one a little more comes, in letters by which it can be told.
        line.sendall(b"XX")
        line.shutdown(socket.SHUT_WR)
        while line.recv(1000):
            pass
    assert [each["event"] for each in served.told] == ["delivered", "trouble"]
    (kept,) = (served.depot.folder / "results").iterdir()
    assert kept.read_bytes() == b"result"


def test_it_says_now_and_then_that_it_is_there(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depots, "ALIVE", 0.05)
    deadline = time.monotonic() + 60
    while len(served.told) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert served.told[:2] == [{"event": "alive"}] * 2


def test_what_is_cut_is_not_kept(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.server.server_address[1]), timeout=60) as line:
        head = f"PUT /results/0/1 HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100\r\n\r\nhalf"
        line.sendall(head.encode())
        line.shutdown(socket.SHUT_WR)
        while line.recv(1000):
            pass
    assert [each["event"] for each in served.told] == ["trouble"]
    assert list((served.depot.folder / "results").iterdir()) == []


def test_a_disk_without_room_is_told_and_the_task_is_answered(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(served.depot, "place", lambda *_: tmp_path / "nowhere" / "part")
    with pytest.raises(NotDeliveredError, match="507"):
        served.way().deliver(io.BytesIO(b"result"))
    assert {each["event"] for each in served.told} == {"trouble"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/results/0/1", b"", 404),
        ("GET", "/../archive", b"", 404),
        ("PUT", "/results/3/1", b"x", 404),
        ("PUT", "/results/../../etc/1", b"x", 404),
        ("PUT", "/results/0/1/2", b"x", 404),
        ("POST", "/results/0/1", b"{}", 404),
        ("POST", "/signs/0/1", b"[]", 400),
        ("POST", "/signs/0/1", b"no JSON", 400),
        ("POST", "/signs/0/1", b"x" * (depots.LARGEST_SIGN + 1), 413),
    ],
)
def test_what_no_task_asks_for_is_refused(served: Served, method: str, path: str, body: bytes, status: int) -> None:
    assert served.status(method, path, body) == status
    assert served.told == []


def test_what_answers_and_is_no_depot_is_no_end_of_signs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                line, _ = server.accept()
                with line:
                    line.recv(1000)
                    line.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        way = Way(f"http://127.0.0.1:{server.getsockname()[1]}", TOKEN, 0, 1)
        assert not way.sign({"phase": "running"})
        assert not way.sign({"phase": "running"})
        thread.join(timeout=60)


def test_a_task_without_a_depot_says_so_at_the_end_and_does_not_wait_for_signs() -> None:
    url = f"http://127.0.0.1:{ports.free_port()}"
    waits: list[float] = []
    way = Way(url, TOKEN, 0, 1, sleep=waits.append)
    assert not way.sign({"phase": "running"})
    with pytest.raises(NotDeliveredError, match="refused"):
        way.deliver(io.BytesIO(b"result"))
    assert waits == [1.0, 2.0, 4.0, 8.0]
