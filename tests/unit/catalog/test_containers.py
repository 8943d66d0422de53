"""What runs beside a stack: read with file and line, and put in the order of its needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.catalog.containers import in_order
from stackproof.catalog.records import Until
from stackproof.errors import UsageError

WHOLE = """\
description: a database
docker: {image: "database:1", port: 5432}
command: [serve, --port, "{port}"]
env: {DB_PASSWORD: "{SHOP_PASSWORD}"}
memory: [/data]
readiness: {command: [is-it-there], timeout: 3}
provides: {DB_HOST: "{host}", DB_URL: "db://{host}:{port}/shop"}
"""
JOB = "description: tables\ndocker: {image: job}\nuntil: completed\n"


def write(project: Path, name: str, text: str) -> None:
    folder = project / "stacks" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "container.yaml").write_text(text, encoding="utf-8")


def test_a_container_is_named_after_its_folder(tmp_path: Path) -> None:
    write(tmp_path, "db", WHOLE)
    spec = catalog.load(tmp_path).container("db")
    assert (spec.docker.image, spec.docker.port, spec.command) == ("database:1", 5432, ("serve", "--port", "{port}"))
    assert (spec.asked, spec.readiness.timeout, spec.until) == (("is-it-there",), 3.0, Until.HEALTHY)
    assert spec.provides == {"DB_HOST": "{host}", "DB_URL": "db://{host}:{port}/shop"}
    assert spec.env == {"DB_PASSWORD": "{SHOP_PASSWORD}"}
    assert spec.memory == ("/data",)


def test_the_former_name_of_readiness_is_read_alike(tmp_path: Path) -> None:
    write(tmp_path, "new", WHOLE)
    write(tmp_path, "old", WHOLE.replace("readiness", "ready"))
    known = catalog.load(tmp_path).containers
    assert known["old"].readiness == known["new"].readiness
    assert known["old"].asked == known["new"].asked == ("is-it-there",)


def test_each_comes_behind_what_it_needs_and_once(tmp_path: Path) -> None:
    write(tmp_path, "db", WHOLE)
    write(tmp_path, "tables", JOB + "needs: [db]\n")
    write(tmp_path, "rows", JOB + "needs: [tables, db]\n")
    known = catalog.load(tmp_path).containers
    assert [spec.name for spec in in_order(["rows", "db"], known)] == ["db", "tables", "rows"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("db", "description: d\n", "1: container 'db' lacks 'docker'"),
        (
            "db",
            "description: d\ndoker: {image: x}\n",
            "2: unknown key 'doker' in container 'db', did you mean 'docker'?",
        ),
        ("db", "description: d\ndocker: {image: x}\n", "1: container 'db' does not say when it is ready"),
        (
            "db",
            "description: d\ndocker: {image: x, shared: true}\n",
            "2: unknown key 'shared' in 'docker' of container 'db'",
        ),
        ("db", JOB + "readiness: {command: [x]}\n", "4: unknown key 'command' in 'readiness' of container 'db'"),
        ("db", JOB + "ready: {command: [x]}\n", "4: unknown key 'command' in 'ready' of container 'db'"),
        ("db", WHOLE + "ready: {path: /}\n", "8: container 'db' has 'readiness' and 'ready', its former name"),
        (
            "db",
            WHOLE.replace("readiness", "readyness"),
            "6: unknown key 'readyness' in container 'db', did you mean 're",
        ),
        ("db", JOB.replace("completed", "complete"), "3: 'until' of container 'db' cannot be 'complete', did you mean"),
        ("db", JOB + "needs: [dbb]\n", "4: container 'db' needs 'dbb', which is not known, did you mean 'db'?"),
        ("db", JOB + "needs: [db]\n", "4: containers need each other in a circle: db → db"),
        ("db", JOB + "memory: [data]\n", "4: 'memory' of container 'db' names folders from '/' on, not 'data'"),
        ("db", JOB + "env: {a-b: c}\n", "4: 'a-b' in 'env' of container 'db' is no name of a variable"),
        (
            "db",
            JOB + "provides: {A: '{hots}'}\n",
            "4: {hots} in A of container 'db' is not known, did you mean 'host'?",
        ),
        ("db", JOB + "provides: {A: '{host}'}\n", "4: A of container 'db' names a host that has ended by then"),
        ("localhost", JOB, "1: a container cannot be called 'localhost': others call it by its name"),
        ("stack", JOB, "1: a container cannot be called 'stack': stack.log is the log of something else"),
    ],
)
def test_impossible_container_is_named(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    write(tmp_path, name, text)
    with pytest.raises(UsageError) as caught:
        catalog.load(tmp_path)
    assert caught.value.message.startswith(f"stacks/{name}/container.yaml:{sentence}")


def test_a_longer_circle_is_shown_whole(tmp_path: Path) -> None:
    for name, other in {"a": "b", "b": "c", "c": "a"}.items():
        write(tmp_path, name, JOB + f"needs: [{other}]\n")
    with pytest.raises(UsageError, match="in a circle: a → b → c → a"):
        catalog.load(tmp_path)
