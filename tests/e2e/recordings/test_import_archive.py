"""Every file of another project's archive, imported and asked for again with the SDK that made it.

2,501 calls to ten kinds of provider that somebody else recorded; nobody of this project chose them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof import catalog, provider_urls
from stackproof.catalog.records import Catalog
from stackproof.recorder import install, recording, scope
from stackproof.recorder.identity import digest
from stackproof.recorder.miss import form_of
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings
from stackproof.recordings.importing import ogx, walk
from stackproof.recordings.importing.imported import Choices
from stackproof.recordings.importing.place import Place
from stackproof.recordings.importing.report import Fate, Report

_ROOT = Path(__file__).parents[3]


def _load(name: str) -> Any:
    """A module of this folder: pytest's import mode makes the folders of tests no packages."""
    spec = importlib.util.spec_from_file_location(f"stackproof_recordings_{name}", Path(__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])
    return sys.modules[spec.name]


if TYPE_CHECKING:
    from tests.e2e.recordings import ogx_calls
else:
    ogx_calls = _load("ogx_calls")

KINDS = {
    "chat completion": 743,
    "chat completion, stream": 1305,
    "chat completion, stream, exception": 13,
    "completion": 9,
    "completion, stream": 2,
    "embeddings": 52,
    "generate_content": 8,
    "generate_content, stream": 119,
    "interactions over HTTP": 20,
    "interactions over HTTP, stream": 2,
    "loaded models": 28,
    "messages over HTTP": 9,
    "messages over HTTP, stream": 2,
    "model list": 177,
    "web search": 12,
}
SETUPS = {
    "azure": 339, "bedrock": 54, "gemini": 41, "gpt": 976, "llama-cpp": 1, "ollama": 809, "tavily": 4,
    "vertexai": 127, "vllm": 63, "watsonx": 87,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The archive, where it was imported to, and what the import said."""

    archive: Path
    root: Path
    report: Report
    catalog: Catalog

    def files(self) -> Iterator[ogx_calls.File]:
        """The sources in the order in which they were imported."""
        for path in walk.sources(self.archive, [ogx]):
            name = path.relative_to(self.archive).as_posix()
            yield ogx_calls.File(name=name, content=ogx_calls.as_a_run_has_it(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """OGX's recordings, unpacked. STACKPROOF_ARCHIVE names the file where it is not beside the repository."""
    told = os.environ.get("STACKPROOF_ARCHIVE")
    packed = Path(told) if told else _ROOT.parent / "shared" / "data" / "ogx-recordings.tar.xz"
    if not packed.is_file():
        pytest.skip("the archive that the importer of OGX's format is proved with is not here (STACKPROOF_ARCHIVE)")
    folder = tmp_path_factory.mktemp("ogx")
    with tarfile.open(packed) as content:
        content.extractall(folder, filter="data")
    return folder


def _import(archive: Path, root: Path, paths: Any, known: Catalog) -> Report:
    place = Place(root, integration_root=known.integration_root)
    return walk.Import(root=archive, readers=[ogx], choices=Choices(setups=known.setups), place=place).run(paths)


@pytest.fixture(scope="module")
def taken(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    root = tmp_path_factory.mktemp("recordings")
    known = catalog.load(_ROOT)
    return Taken(
        archive=archive, root=root, catalog=known, report=_import(archive, root, walk.sources(archive, [ogx]), known)
    )  # fmt: skip


@contextmanager
def replaying(taken: Taken, root: Path, run: Path, setup: str, urls: Mapping[str, set[str]]) -> Iterator[None]:
    """Replay from `root`, as a run with this setup whose variables hold these URLs would."""
    spec = taken.catalog.setups[setup]
    told = []
    for item in spec.providers:
        prefixes: dict[str, None] = {}
        for url in sorted(urls.get(item.variable or "", ())) or [spec.env.get(item.variable or "", "")]:
            values = {**spec.env, item.variable or "": url}
            prefixes |= dict.fromkeys(provider_urls.of_provider(item, values).prefixes)
        told.append(Provider(name=item.name, variable=item.variable, prefixes=tuple(prefixes)))
    settings = Settings(
        mode=Mode.REPLAY, recordings=str(root), setup=setup, run_dir=str(run), run_id="a-run",
        integration_root=taken.catalog.integration_root, providers=tuple(told), rules=spec.rules,
    )  # fmt: skip
    with install.installed(settings, {}):
        yield


def owner(file: ogx_calls.File) -> Scope:
    """Whose call it was, as the recorder says it."""
    if file.test_id is None or "tool_name" in file.request:
        return scope.STACK
    return Scope(name=file.test_id, test_id=file.test_id)


@pytest.mark.timeout(900)
def test_every_file_of_the_archive_is_imported(taken: Taken) -> None:
    assert taken.report.files == sum(KINDS.values()) == 2501
    assert taken.report.refused == ()
    assert {kind: sum(fates.values()) for kind, fates in taken.report.kinds.items()} == KINDS
    assert taken.report.setups == SETUPS
    # Only lists of the same models are one recording; no two calls of a test were equal in request and answer.
    assert {kind: fates[Fate.FOLDED] for kind, fates in taken.report.kinds.items() if Fate.FOLDED in fates} == {
        "model list": 148
    }
    assert sum(1 for _ in taken.root.rglob("*.json")) == 2501 - 148


@pytest.mark.timeout(900)
def test_every_imported_file_has_the_name_of_its_own_request(taken: Taken) -> None:
    for path in taken.root.rglob("*.json"):
        content = recording.read(str(path))
        assert content is not None
        assert digest(form_of(content["request"]))[:20] in path.name
        assert content["provenance"]["imported_from"]["format"] == "ogx"
        assert "recorded_at" not in content["provenance"]


@pytest.mark.timeout(900)
def test_every_call_gives_again_what_its_file_says_it_gave(taken: Taken, tmp_path: Path) -> None:
    files = [file for file in taken.files() if not file.is_model_list]
    urls: dict[str, dict[str, set[str]]] = {}
    for file in files:
        setup, variable, url = file.home
        urls.setdefault(setup, {}).setdefault(variable, set()).add(url)
    equal, different = Counter[str](), list[tuple[str, Any, Any]]()
    with ogx_calls.caller() as calls:
        for setup, told in urls.items():
            with replaying(taken, taken.root, tmp_path / setup, setup, told):
                for file in files:
                    if file.home[0] != setup:
                        continue
                    with scope.use(owner(file)):
                        got, expected = calls.ask(file)
                    if got == expected:
                        equal[setup] += 1
                    else:
                        different.append((file.name, got, expected))
    assert different == []
    assert equal.total() == 2501 - 177


@pytest.mark.timeout(900)
def test_every_list_of_models_gives_again_what_its_file_says(taken: Taken, tmp_path: Path) -> None:
    """Each by itself: all lists of one server together are one answer, merged by the ids of the models."""
    equal = list[str]()
    with ogx_calls.caller() as calls:
        for number, file in enumerate(file for file in taken.files() if file.is_model_list):
            root, (setup, variable, url) = tmp_path / f"{number}", file.home
            report = _import(taken.archive, root, [taken.archive / file.name], taken.catalog)
            assert report.imported == 1
            with (
                replaying(taken, root, tmp_path / f"{number}-run", setup, {variable: {url}}),
                scope.use(Scope(name="tests/integration/base/test_models.py::test_any")),
            ):
                got, expected = calls.ask(file)
            assert got == expected, file.name
            equal.append(file.name)
    assert len(equal) == 177


@pytest.mark.timeout(900)
def test_all_lists_of_a_server_are_one_answer(taken: Taken, tmp_path: Path) -> None:
    files = [file for file in taken.files() if file.is_model_list and file.home[0] == "gpt"]
    wanted = {item["__data__"]["id"] for file in files for item in file.response["body"]}
    with (
        ogx_calls.caller() as calls,
        replaying(taken, taken.root, tmp_path, "gpt", {"OPENAI_BASE_URL": {files[0].home[2]}}),
    ):
        got, _ = calls.ask(files[0])
    assert sorted(fields["id"] for _, fields in got) == sorted(wanted)
    assert len(files) == 99
