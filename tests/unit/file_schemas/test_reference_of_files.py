"""Pages and schemas of files say what the code asks for, and fit every file of this project."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import pytest
import yaml

from stackproof.catalog import catalog
from stackproof.cli.reference_pages import all_schemas, main
from stackproof.errors import UsageError
from stackproof.file_schemas.files import FILES, schemas
from stackproof.file_schemas.pages import page
from stackproof.file_schemas.reference import FOLDER, WRITTEN, file_pages
from stackproof.recorder import events, recording
from stackproof.trace.events import TYPES, Completed, Message, TextDelta, ToolCall, encode
from stackproof.trace.exchange import Why

PROJECT = Path(__file__).parents[3]
REFERENCE, SCHEMAS = PROJECT / "docs" / "reference", PROJECT / "docs" / "schemas"
AGAIN = "write it again: python -m stackproof.cli.reference_pages docs/reference"
OF_FILES = {(FOLDER / name).as_posix(): text for name, text in file_pages(PROJECT).items()}

MADE = all_schemas()


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return found


def problems(name: str, value: object) -> list[str]:
    checker = jsonschema.Draft202012Validator(schema(name), format_checker=jsonschema.FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in checker.iter_errors(value)]


def closed(value: Any) -> Any:
    """The schema without room for keys that it does not name: what we write, it has to describe."""
    if isinstance(value, list):
        return [closed(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: closed(item) for key, item in value.items()}
    described = "type" in value and "properties" in value
    return {"additionalProperties": False, **inner} if described else inner


def mappings(value: dict[str, Any], place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every key of a schema, with the schema of its value."""
    for key, inner in value.get("properties", {}).items():
        yield (*place, key), inner
        yield from mappings(inner, (*place, key))
    for inner in (*value.get("anyOf", ()), value.get("items"), value.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from mappings(inner, (*place, "*"))


@pytest.mark.parametrize("name", OF_FILES)
def test_a_page_is_current(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == OF_FILES[name], AGAIN


@pytest.mark.parametrize("name", MADE)
def test_a_schema_is_current(name: str) -> None:
    assert (SCHEMAS / name).read_text(encoding="utf-8") == MADE[name], AGAIN
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_nothing_lies_beside_them_that_is_of_no_file_any_more() -> None:
    assert {path.name for path in (REFERENCE / FOLDER).iterdir()} == {Path(name).name for name in OF_FILES}
    assert {path.name for path in SCHEMAS.iterdir()} == {*MADE, *(f"{each.name}.json" for each in WRITTEN)}


@pytest.mark.parametrize("file", [file.name for file in FILES])
def test_each_key_has_a_meaning_and_a_type(file: str) -> None:
    free = {("edge", "probe", "body")}  # any JSON
    for place, value in mappings(schemas(PROJECT)[file], ()):
        assert value.get("description"), f"{file}: the record's docstring says nothing about {'.'.join(place)}"
        assert value.keys() - {"description", "default"} or place in free, f"{file}: no reader asked for {place}"


def own_files() -> list[Path]:
    tracked = [
        *(PROJECT / "stacks").glob("*/*.yaml"),
        *(PROJECT / "stacks").glob("*.yaml"),
        *(PROJECT / "ci").glob("*.yaml"),
    ]
    named = {file.name for file in FILES}
    more = [PROJECT / "tests" / "suites.yaml", PROJECT / "tests" / "faults" / "claims.yaml"]
    return sorted(path for path in (*tracked, *more) if path.name in named)


@pytest.mark.parametrize("path", own_files(), ids=[path.relative_to(PROJECT).as_posix() for path in own_files()])
def test_this_projects_own_files_fit_their_schemas(path: Path) -> None:
    def day(value: Any) -> Any:
        """YAML makes days of what JSON has as text."""
        if isinstance(value, dict):
            return {key: day(item) for key, item in value.items()}
        if isinstance(value, list):
            return [day(item) for item in value]
        return value.isoformat() if isinstance(value, datetime.date) else value

    value = day(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert problems(f"{path.stem}.json", value) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("stack.json", "{description: A, modes: [server], comand: [x]}", "'comand' was unexpected"),
        ("stack.json", "{description: A, modes: [serve]}", "'serve' is not one of"),
        ("stack.json", "{modes: [server]}", "'description' is a required property"),
        ("stack.json", "{description: A, modes: [server], port: 0}", "0 is less than the minimum of 1"),
        ("suites.json", "{suites: {a: {description: A, roots: b, default_setup: c}}}", "'b' is not of type 'array'"),
        ("release.json", "{version: 2, cells: []}", "1 was expected"),
        ("release.json", "{version: 1, cells: [], recordings: {damaged: null}}", "None is not of type 'integer'"),
        ("matrix.json", "{version: 1, lanes: {a: {description: A, triggers: [pull]}}}", "'pull' is not one of"),
        ("setups.json", "{a: {description: A, models: {txt: a/b}}}", "'txt' is not one of"),
        ("claims.json", "{version: 1, claims: {a: {invariant: b}}}", "'fault' is a required property"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_found(name: str, text: str, said: str) -> None:
    assert any(said in each for each in problems(name, yaml.safe_load(text)))


def test_what_says_something_as_null_may_be_null() -> None:
    text = "{version: 1, cells: [], recordings: {unused: null, not_promoted: null}}"
    assert problems("release.json", yaml.safe_load(text)) == []


def test_every_recording_fits_its_schema_and_has_no_key_that_it_does_not_name() -> None:
    checker = jsonschema.Draft202012Validator(closed(schema("recording.json")))
    paths = [path for path in sorted((PROJECT / "recordings").rglob("*.json")) if recording.read(str(path)) is not None]
    assert len(paths) > 700
    for path in paths:
        found = [error.message for error in checker.iter_errors(json.loads(path.read_bytes()))]
        assert found == [], path.name


def test_the_schema_of_a_recording_knows_the_framings_of_streams() -> None:
    assert schema("recording.json")["$defs"]["response"]["properties"]["framing"]["enum"] == list(events.FRAMINGS)


def test_every_list_of_expected_tests_fits_its_schema() -> None:
    checker = jsonschema.Draft202012Validator(closed(schema("expected.json")))
    for path in (PROJECT / "ci" / "expected").glob("*.json"):
        assert list(checker.iter_errors(json.loads(path.read_bytes()))) == [], path.name


def test_every_line_of_the_traces_here_fits_its_schema() -> None:
    paths = (PROJECT / "tests/faults/traces").glob("*.jsonl")
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines
    assert [problem for line in lines for problem in problems("trace.json", json.loads(line))] == []


def test_the_schema_of_traces_has_all_events_and_ways_to_end() -> None:
    parts = schema("trace.json")["$defs"]
    assert {each["$ref"].rpartition("/")[2] for each in parts["event"]["oneOf"]} == set(TYPES)
    assert parts["partial"]["properties"]["why"]["enum"] == [why.value for why in Why]
    made = (
        TextDelta(text="a"), Message(text="a"), ToolCall(call_id="a", name="b", arguments="{}", items=({},)),
        Completed(),
    )  # fmt: skip
    checker = jsonschema.Draft202012Validator({"$ref": "#/$defs/event", "$defs": parts})
    assert [list(checker.iter_errors(encode(event))) for event in made] == [[], [], [], []]


def test_main_writes_pages_and_schemas(tmp_path: Path) -> None:
    main(tmp_path / "reference")
    assert (tmp_path / "reference" / FOLDER / "stack.md").is_file()
    assert (tmp_path / "schemas" / "stack.json").is_file()


def test_looking_at_readers_leaves_them_as_they_were(tmp_path: Path) -> None:
    schemas(PROJECT)
    (tmp_path / "stacks/a").mkdir(parents=True)
    (tmp_path / "stacks/a/stack.yaml").write_text("description: A\nmodes: [serve]\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"stacks/a/stack.yaml:2: unknown mode 'serve'"):
        catalog.load(tmp_path)


def test_two_forms_of_a_key_share_a_section() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
    other = {"type": "object", "properties": {"c": {"type": "boolean", "default": False}}}
    text = page({"properties": {"a": {"anyOf": [other, {"type": "array", "items": inner}]}}}, head=["# A"])
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `a` | [a](#a) or list of [a](#a) |  |  |",
        "| `c` | true or false | `false` |  |",
        "| `b` | text |  |  |",
    ]
    assert text.count("## a") == 1
