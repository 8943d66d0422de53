"""A cassette becomes recordings: whose, to whom, in which order, and what is refused of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackproof.catalog.records import ProviderSpec, SetupSpec
from stackproof.recorder import recording
from stackproof.recorder.identity import Identity, describe, digest
from stackproof.recorder.scope import Scope
from stackproof.recordings.importing import vcr, walk
from stackproof.recordings.importing.imported import Choices
from stackproof.recordings.importing.place import Place
from stackproof.recordings.importing.report import Report

TEST = "tests/integration/test_it.py::test_it"
CHAT = "https://api.openai.com/v1/chat/completions"
LOCAL = SetupSpec(
    name="local",
    description="A server of one's own",
    source=Path("setups.yaml"),
    env={"LOCAL_URL": "http://localhost:8123/v1"},
    secrets=("LOCAL_KEY",),
    providers=(ProviderSpec(name="local", variable="LOCAL_URL"),),
)
GPT = SetupSpec(name="gpt", description="OpenAI", source=Path("setups.yaml"), providers=(ProviderSpec(name="openai"),))


def interaction(body: Any = None, *, url: str = CHAT, answer: Any = "ok", **more: Any) -> dict[str, Any]:
    """A JSON request and its JSON answer."""
    sent = json.dumps(body if body is not None else {"model": "m", "messages": []})
    return {
        "request": {"method": "POST", "uri": url, "body": sent, "headers": {"Content-Type": ["application/json"]}},
        "response": {
            "status": {"code": more.get("status", 200), "message": ""},
            "headers": {"Content-Type": ["application/json"]},
            "body": {"string": json.dumps(answer)},
        },
    }


class Project:
    """A project with one test and its cassette."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cassettes = root / "tests/integration/cassettes/test_it"
        self.cassettes.mkdir(parents=True)
        (root / "tests/integration/test_it.py").write_text("def test_it(): ...\n")

    def record(self, *found: dict[str, Any], name: str = "test_it.yaml") -> Path:
        path = self.cassettes / name
        path.write_text(yaml.safe_dump({"interactions": list(found), "version": 1}))
        return path

    def import_(self, environ: dict[str, str] | None = None, **given: Any) -> Report:
        setups = {setup.name: setup for setup in (LOCAL, GPT)}
        choices = Choices(setups=setups, project=self.root, **given)
        place = Place(self.root / "recordings", integration_root="tests/integration", environ=environ)
        paths = list(walk.sources(self.cassettes, [vcr]))
        return walk.Import(root=self.cassettes, readers=[vcr], choices=choices, place=place).run(paths)

    def kept(self) -> dict[str, dict[str, Any]]:
        """Path below recordings/ → content."""
        root = self.root / "recordings"
        return {
            path.relative_to(root).as_posix(): dict(recording.read(str(path)) or {})
            for path in sorted(root.rglob("*.json"))
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A fresh project."""
    return Project(tmp_path)


def reasons(report: Report) -> list[str]:
    """Each refusal as a person reads it."""
    return [f"{item.source}: {item.reason}" for item in report.refused]


def test_a_call_lies_where_the_recorder_looks_for_it(project: Project) -> None:
    path = project.record(interaction({"model": "m", "messages": []}))
    report = project.import_()
    form = describe(
        provider="openai", method="POST", path="/chat/completions", query="", content_type="application/json",
        body=b'{"messages":[],"model":"m"}',
    )  # fmt: skip
    name = Identity(scope=Scope(name=TEST).digest, request=digest(form)).file_name()
    assert reasons(report) == []
    kept = project.kept()[f"gpt/{name}"]
    assert (kept["scope"], kept["test_id"]) == (TEST, TEST)
    assert kept["request"]["url"] == "{openai}/chat/completions"
    origin = kept["provenance"]["imported_from"]
    assert (origin["format"], origin["file"], origin["interaction"]) == ("vcr", "test_it.yaml", 1)
    assert len(origin["sha256"]) == 64
    assert path.exists()


def test_equal_requests_are_numbered_in_the_order_of_the_cassette(project: Project) -> None:
    other = interaction({"model": "n"}, answer="other")
    project.record(interaction(answer=1), other, interaction(answer=2), interaction(answer=2))
    assert project.import_().imported == 4
    answers = {
        name.removesuffix(".json").partition("-")[2].partition("-")[2]: item["response"]["body"]["json"]
        for name, item in project.kept().items()
        if item["request"]["model"] == "m"
    }
    assert answers == {"": 1, "2": 2, "3": 2}


def test_ids_and_times_of_an_answer_stay(project: Project) -> None:
    answer = {"object": "chat.completion", "id": "chatcmpl-1", "created": 17, "choices": []}
    project.record(interaction(answer=answer))
    project.import_()
    (kept,) = project.kept().values()
    assert kept["response"]["body"] == {"json": answer}
    assert kept["id_normalization_mapping"] == {}


def test_hosts_that_are_no_provider_are_refused_by_name(project: Project) -> None:
    project.record(
        interaction(url="https://example.com/cat.png"),
        interaction(url="http://localhost:8123/v1/x"),
        interaction(url="http://127.0.0.1:8123/v1/y"),
        interaction(url="https://oauth2.googleapis.com/token"),
        interaction(url="nowhere"),
        interaction(url="http://[/x"),
    )
    assert reasons(project.import_()) == [
        "test_it.yaml, interaction 1: no setup has a provider at example.com; say --setup or --provider",
        "test_it.yaml, interaction 4: it gives out tokens",
        "test_it.yaml, interaction 5: its URL names no host",
        "test_it.yaml, interaction 6: its URL cannot be read",
    ]
    assert {item["request"]["path"] for item in project.kept().values()} == {"/x", "/y"}


def test_a_chosen_setup_makes_no_host_its_own(project: Project) -> None:
    project.record(interaction(), interaction(url="http://localhost:8123/v1/x"))
    report = project.import_(setup=LOCAL)
    assert reasons(report) == [
        "test_it.yaml, interaction 1: api.openai.com is no provider of setup 'local'; --provider says whose it is"
    ]
    assert report.setups == {"local": 1}


def test_a_named_provider_owns_what_is_asked(project: Project) -> None:
    project.record(interaction(url="http://10.0.0.7:9000/v1/x"))
    assert reasons(project.import_(setup=LOCAL, provider="local")) == []
    (kept,) = project.kept().values()
    assert (kept["request"]["url"], kept["request"]["path"]) == ("{LOCAL_URL}/x", "/x")


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 529])
def test_what_a_bad_minute_answered_is_taken_as_asked_only(project: Project, status: int) -> None:
    project.record(interaction(status=status))
    assert reasons(project.import_()) == [f"test_it.yaml, interaction 1: status {status} (kept with --record-errors)"]
    assert project.import_(record_errors=True).imported == 1


def test_what_a_request_did_wrong_is_taken(project: Project) -> None:
    project.record(interaction(status=400), interaction({"model": "x"}, status=404))
    assert project.import_().imported == 2


def test_secrets_are_refused_with_their_place_and_never_shown(project: Project) -> None:
    key, value = "sk-0123456789abcdefghijklmnop", "a-value-of-the-environment"
    project.record(
        interaction(answer={"said": [f"use {key}"]}),
        interaction({"model": "m", "user": value}, url="http://localhost:8123/v1/x"),
        interaction({"model": "m", "api_key": key}, answer={"api_key": key, "n": 1}),
    )
    report = project.import_(environ={"LOCAL_KEY": value})
    assert reasons(report) == [
        "test_it.yaml, interaction 1: an OpenAI or Anthropic key is in response.body.json.said[0]",
        "test_it.yaml, interaction 2: the value of LOCAL_KEY is in request.body.json.user",
    ]
    (kept,) = project.kept().values()
    assert key not in json.dumps(kept)
    assert kept["response"]["body"] == {"json": {"api_key": "***", "n": 1}}


def test_headers_of_a_request_never_travel(project: Project) -> None:
    made = interaction()
    made["request"]["headers"] |= {"Authorization": ["Bearer sk-1"], "x-api-key": ["k"], "User-Agent": ["OpenAI/1"]}
    project.record(made)
    project.import_()
    (kept,) = project.kept().values()
    assert kept["request"]["headers"] == {}
    assert kept["provenance"]["sdk"] == "OpenAI/1"
    assert "Bearer" not in json.dumps(kept)


def test_a_filtered_request_is_refused_and_a_guessed_name_told(project: Project) -> None:
    made = interaction()
    made["request"]["headers"]["Content-Length"] = ["500"]
    project.record(made, interaction({"model": "n"}), name="test_it[a-b].yaml")
    report = project.import_()
    (refused,) = report.refused
    assert refused.source == "test_it[a-b].yaml, interaction 1"
    assert refused.reason == (
        "its request's body is not what was sent (content-length differs): it was filtered or lost"
    )
    assert [what[:26] for what in report.lost] == ["a test's parameters: `-` i"]


def test_the_test_that_the_caller_names_is_the_owner(project: Project) -> None:
    project.record(interaction(), name="any.yaml")
    assert "nobody can tell whose it is" in reasons(project.import_())[0]
    assert project.import_(test="tests/integration/deep/test_x.py::test_x[a/b]").imported == 1
    ((name, kept),) = project.kept().items()
    assert name.startswith("gpt/deep/")
    assert kept["scope"] == "tests/integration/deep/test_x.py::test_x[a/b]"


def test_tests_that_moved_since_have_their_new_name(project: Project) -> None:
    project.record(interaction())
    project.import_(renames=(("tests/integration/test_it.py", "tests/integration/chat/test_new.py"),))
    (kept,) = project.kept().values()
    assert kept["scope"] == "tests/integration/chat/test_new.py::test_it"


def test_cassettes_of_another_project_have_node_ids_below_the_folder_that_is_imported(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("other")
    other = Project(root)
    path = other.record(interaction())
    choices = Choices(setups={"gpt": GPT}, project=project.root)
    place = Place(project.root / "recordings", integration_root="tests/integration")
    report = walk.Import(root=root, readers=[vcr], choices=choices, place=place).run([path])
    assert reasons(report) == []
    assert [item["scope"] for item in project.kept().values()] == [TEST]


def test_a_damaged_cassette_is_refused_as_a_whole(project: Project) -> None:
    (project.cassettes / "test_it.yaml").write_text("interactions: [\n")
    project.record(interaction(), name="test_it.yml")
    report = project.import_()
    assert [item.source for item in report.refused] == ["test_it.yaml"]
    assert report.imported == 1


def test_a_file_larger_than_any_cassette_is_not_read(project: Project) -> None:
    with (project.cassettes / "test_it.yaml").open("wb") as file:
        file.truncate(walk.SIZE_LIMIT + 1)
    assert reasons(project.import_()) == ["test_it.yaml: it is larger than 64 MiB"]
