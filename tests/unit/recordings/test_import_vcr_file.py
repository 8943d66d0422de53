"""What is read of a cassette's file, and in which words the rest is refused: damage, tricks and other formats."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc

import pytest
import yaml

from stackproof.recordings.importing import vcr_file
from stackproof.recordings.importing.imported import RefusedSource

WHOLE = b"interactions:\n- {request: {method: GET}, response: {}}\nversion: 1\n"


def refused(raw: bytes | str) -> str:
    """The reason for which a file is refused."""
    with pytest.raises(RefusedSource) as caught:
        vcr_file.interactions(raw if isinstance(raw, bytes) else raw.encode())
    return str(caught.value)


def test_yaml_and_json_are_the_same_data() -> None:
    found = vcr_file.interactions(WHOLE)
    assert found == [{"request": {"method": "GET"}, "response": {}}]
    assert vcr_file.interactions(json.dumps({"version": 1, "interactions": found}, indent=4).encode()) == found
    assert vcr_file.interactions(b"\xef\xbb\xbf" + WHOLE) == found
    assert vcr_file.interactions(b"{interactions: [], version: 1}") == []
    assert vcr_file.interactions(b"interactions: []\n") == []


def test_binary_is_data() -> None:
    found = vcr_file.interactions(b"interactions:\n- body: !!binary |\n    AP8=\nversion: 1\n")
    assert found == [{"body": b"\x00\xff"}]


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system [id]",
        "!!python/object/new:_io.BytesIO {state: !!python/tuple [a]}",
        "!!python/object:vcr.request.Request {}",
        "!!python/name:os.system ''",
        "!!python/unicode x",
    ],
)
def test_python_objects_are_refused_and_never_made(tag: str) -> None:
    why = refused(f"interactions:\n- {{body: {tag}}}\nversion: 1\n")
    assert why.startswith("it cannot be read as YAML: it asks for a Python object (!!python/")
    assert why.endswith("and cassettes are read as data only in line 2")


def test_the_full_loader_is_left_alone() -> None:
    assert not any("python/" in str(tag) for tag in yaml.SafeLoader.yaml_multi_constructors)
    assert vcr_file._PYTHON in vcr_file._Loader.yaml_multi_constructors


_VALUE = "it cannot be read as YAML: a value is not what its tag or its form says"
_UNKNOWN_TAG = "it cannot be read as YAML: could not determine a constructor for the tag '!mine' in line 1"
_OLD = "it is from before vcrpy 1.0; `python -m vcr.migration FILE` brings it up to date"
_RUBY = "it is a cassette of VCR for Ruby or of Betamax (`http_interactions`), not of vcrpy"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "it is no cassette: it has no list `interactions`"),
        (b"just text", "it is no cassette: it has no list `interactions`"),
        (b"- 1\n- 2\n", "it is no cassette: it has no list `interactions`"),
        (b"interactions: {}\nversion: 1\n", "it is no cassette: it has no list `interactions`"),
        (b"interactions:\nversion: 1\n", "it is no cassette: it has no list `interactions`"),
        (b"interactions: []\nversion: 2\n", "its version is '2'; version 1 of vcrpy's cassettes is read"),
        (b"interactions: []\nversion: true\n", "its version is 'True'; version 1 of vcrpy's cassettes is read"),
        (b"interactions: []\nversion: one\n", "its version is 'one'; version 1 of vcrpy's cassettes is read"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "it is no UTF-8 text"),
        (b"interactions:\n- [\n", "it cannot be read as YAML: did not find expected node content in line 3"),
        (b"interactions: *a\n", "it cannot be read as YAML: found undefined alias in line 1"),
        (b"interactions: !!int x\n", _VALUE),
        (b"interactions: [2024-99-99]\n", _VALUE),
        (b"interactions: [!!timestamp x]\n", _VALUE),
        (b"interactions: [!!bool x]\n", _VALUE),
        (b"interactions: [" + b"9" * 5000 + b"]\n", _VALUE),
        (b"interactions: [!mine x]\n", _UNKNOWN_TAG),
        (b"[{'request': {}, 'response': {}}]", _OLD),
        (b"http_interactions: []\n", _RUBY),
        (b'{"interactions": [', "it cannot be read as JSON: Expecting value: line 1 column 19 (char 18)"),
    ],
)  # fmt: skip
def test_what_is_no_cassette_is_refused_in_a_sentence(raw: bytes, why: str) -> None:
    assert refused(raw) == why


def test_a_key_that_is_there_twice_means_nothing_certain() -> None:
    assert refused("interactions: []\nversion: 1\ninteractions: []\n").startswith(
        "it cannot be read as YAML: the key 'interactions' is there twice in line 3"
    )
    assert refused('{"version": 1, "interactions": [], "interactions": []}') == (
        "it cannot be read as JSON: duplicate key"
    )


def test_a_repeated_answer_may_be_an_alias() -> None:
    raw = b"interactions:\n- {request: {a: 1}, response: &a {b: 2}}\n- {request: {a: 2}, response: *a}\nversion: 1\n"
    assert [item["response"] for item in vcr_file.interactions(raw)] == [{"b": 2}, {"b": 2}]


def test_aliases_that_unfold_without_end_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    tower = "\n".join([*lines, "interactions: [*a11]", "version: 1", ""])
    started = time.process_time()
    tracemalloc.start()
    assert refused(tower) == "its YAML aliases unfold to more than 256 MiB"
    assert tracemalloc.get_traced_memory()[1] < 16 * 1024 * 1024
    tracemalloc.stop()
    assert time.process_time() - started < 5


def test_merge_keys_that_copy_without_end_are_refused() -> None:
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12))]
    started = time.process_time()
    assert "a merge key (`<<`) is not read in line 2" in refused("\n".join([*lines, "interactions: []", ""]))
    assert time.process_time() - started < 5


def test_aliases_in_a_circle_are_refused() -> None:
    assert refused("interactions: &a [*a]\nversion: 1\n") == "its YAML aliases go round in a circle"
    assert refused("interactions: [&a {request: {b: [*a]}}]\n") == "its YAML aliases go round in a circle"


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_nesting_without_end_is_refused(opening: str) -> None:
    assert refused("interactions: \n" + opening * 100_000).startswith("it cannot be read as YAML: ")
    assert sys.getrecursionlimit() <= 10_000


def test_a_large_cassette_is_read_in_reasonable_time_and_space() -> None:
    raw = yaml.dump(
        {
            "interactions": [{"request": {"body": "b" * 1000}, "response": {"n": n}} for n in range(2000)],
            "version": 1,
        },
        Dumper=getattr(yaml, "CDumper", yaml.Dumper),
    ).encode()
    started = time.process_time()
    assert len(vcr_file.interactions(raw)) == 2000
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("raw", "is_one"),
    [
        (WHOLE, True),
        (b'{"version": 1, "interactions": []}', True),
        (b"# recorded\n---\nhttp_interactions: []\n", True),
        (b"- request:\n    body: null\n", True),
        (b"---\njobs: {}\n", False),
        (b'{"test_id": "t", "request": {}}', False),
        (b"\x00\xff", False),
        (b"", False),
    ],
)
def test_a_cassette_is_known_by_its_keys(raw: bytes, is_one: bool) -> None:
    assert vcr_file.looks_like_one(raw) is is_one
