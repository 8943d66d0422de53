"""Command line > environment > file > default; each value remembers its source, a bad one names it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from stackproof.errors import ExitCode, UsageError
from stackproof.option_table import BY_NAME, OPTIONS
from stackproof.options import RunOptions, Source, resolve


def project(folder: Path, table: str = "") -> Path:
    (folder / "pyproject.toml").write_text(f"[tool.stackproof]\n{table}", encoding="utf-8")
    return folder


def test_table_and_record_name_the_same_options_and_defaults() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(RunOptions)}
    rest = {"pytest_args", "providers", "tests", "program", "sources", "shard_source"}
    assert set(fields) - rest == set(BY_NAME)
    assert {name: fields[name] for name in BY_NAME} == {option.name: option.default for option in OPTIONS}


def test_variables_and_flags_are_unique() -> None:
    flags = [flag for option in OPTIONS for flag in option.flags]
    variables = [option.variable for option in OPTIONS if option.variable]
    assert len(flags) == len(set(flags))
    assert len(variables) == len(set(variables))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (({"setup": "a"}, {"STACKPROOF_SETUP": "b"}, 'setup = "c"'), ("a", Source.COMMAND_LINE, "--setup")),
        (({}, {"STACKPROOF_SETUP": "b"}, 'setup = "c"'), ("b", Source.ENVIRONMENT, "STACKPROOF_SETUP")),
        (({}, {"STACKPROOF_SETUP": ""}, 'setup = "c"'), ("c", Source.FILE, "pyproject.toml")),
        (({}, {}, ""), (None, Source.DEFAULT, "default")),
        (({}, {"STACKPROOF_SETUP": "b", "STACKPROOF_CHILD": "7f3c2a"}, ""), (None, Source.DEFAULT, "default")),
    ],
    ids=["command line", "environment", "file, variable empty", "default", "child of another run"],
)
def test_strongest_source_wins_and_is_remembered(
    tmp_path: Path,
    given: tuple[Mapping[str, object], Mapping[str, str], str],
    expected: tuple[str | None, Source, str],
) -> None:
    cli, environ, table = given
    options = resolve(cli, environ, project(tmp_path, table))
    assert (options.setup, options.sources["setup"], options.origin("setup")) == expected


def test_values_have_their_types_whatever_the_source(tmp_path: Path) -> None:
    table = "strict = true\nstart_timeout = 5\nembedding_dimension = 384\n"
    environ = {"STACKPROOF_RECORD_ERRORS": "Yes", "STACKPROOF_TIMEOUT": "2.5", "STACKPROOF_WORKERS": "auto"}
    cli = {"strict": False, "subdirs": ("a,b", "c"), "pytest_args": ("-x", "--", "y")}
    options = resolve(cli, environ, project(tmp_path, table))
    assert options.strict is False
    assert options.record_errors is True
    assert options.start_timeout == 5.0
    assert options.test_timeout == 2.5
    assert options.embedding_dimension == 384
    assert options.workers == "auto"
    assert options.subdirs == ("a", "b", "c")
    assert options.pytest_args == ("-x", "--", "y")


@pytest.mark.parametrize(
    ("cli", "environ", "table", "sentence"),
    [
        pytest.param(
            {"inference_mode": "recrod"},
            {},
            "",
            "--inference-mode: 'recrod' is not one of live, record, replay, record-if-missing, verify, "
            "did you mean 'record'?",
            id="mode",
        ),
        pytest.param({}, {"STACKPROOF_TIMEOUT": "soon"}, "", "STACKPROOF_TIMEOUT: 'soon' is not a number", id="word"),
        pytest.param({}, {"STACKPROOF_TIMEOUT": "nan"}, "", "STACKPROOF_TIMEOUT: 'nan' is not a positive", id="nan"),
        pytest.param({"suite_timeout": "-1"}, {}, "", "--suite-timeout: '-1' is not a positive", id="negative"),
        pytest.param({}, {"STACKPROOF_STRICT": "maybe"}, "", "STACKPROOF_STRICT: 'maybe' is neither yes", id="flag"),
        pytest.param(
            {}, {}, 'strict = "very"', "pyproject.toml, [tool.stackproof] strict: 'very' is neither", id="file flag"
        ),
        pytest.param({}, {}, "embedding_dimension = 1.5", "pyproject.toml, [tool.stackproof] embedding", id="fraction"),
        pytest.param({"embedding_dimension": "0"}, {}, "", "--embedding-dimension: 0 is not a whole", id="zero"),
        pytest.param({"suite": ""}, {}, "", "--suite: the value is empty", id="empty"),
        pytest.param({}, {}, "suite = 3", "pyproject.toml, [tool.stackproof] suite: 3 is not text", id="type"),
        pytest.param(
            {},
            {},
            "steup = 'gpt'",
            "pyproject.toml: unknown key 'steup' in [tool.stackproof], did you mean 'setup'?",
            id="key",
        ),
        pytest.param({}, {}, "dry_run = true", "pyproject.toml: 'dry_run' cannot be set in", id="command line only"),
        pytest.param(
            {}, {}, "allow_record_in_ci = true", "pyproject.toml: 'allow_record_in_ci' cannot be", id="not shared"
        ),
        pytest.param(
            {},
            {"STACKPROOF_STEUP": "gpt"},
            "",
            "unknown variable STACKPROOF_STEUP, did you mean STACKPROOF_SETUP?",
            id="variable",
        ),
        pytest.param({"env": ("A",)}, {}, "", "--env: 'A' is not NAME=VALUE", id="env"),
        pytest.param({"env": ("1A=x",)}, {}, "", "--env: '1A=x' is not NAME=VALUE", id="env name"),
        pytest.param({"workers": "many"}, {}, "", "--workers: 'many' is neither a number", id="workers"),
        pytest.param({"format": "gitlab"}, {}, "", "--format is about the plan", id="format"),
        pytest.param(
            {"inference_mode": "record"},
            {"CI": "true"},
            "",
            "inference mode 'record' (--inference-mode) does not run under CI",
            id="record in CI",
        ),
        pytest.param(
            {},
            {"CI": "1", "STACKPROOF_INFERENCE_MODE": "record-if-missing"},
            "",
            "inference mode 'record-if-missing' (STACKPROOF_INFERENCE_MODE) does not run under CI",
            id="record by variable in CI",
        ),
        pytest.param({}, {}, "providers = 3", "pyproject.toml, [tool.stackproof.providers]: not", id="providers"),
        pytest.param({}, {}, "[tool.stackproof.providers]\nx = 'host'", "pyproject.toml, [tool", id="provider"),
        pytest.param({}, {}, "= 3", "pyproject.toml: cannot be read as TOML", id="no TOML"),
    ],
)
def test_bad_value_is_one_sentence_that_names_its_source(
    tmp_path: Path, cli: Mapping[str, object], environ: Mapping[str, str], table: str, sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(cli, environ, project(tmp_path, table))
    assert caught.value.message.startswith(sentence)
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize("ci", ["", "0", "false"])
def test_recording_is_free_where_ci_says_no(tmp_path: Path, ci: str) -> None:
    assert resolve({"inference_mode": "record"}, {"CI": ci}, project(tmp_path)).mode.records


def test_recording_in_ci_on_request(tmp_path: Path) -> None:
    options = resolve(
        {"inference_mode": "record"}, {"CI": "1", "STACKPROOF_ALLOW_RECORD_IN_CI": "1"}, project(tmp_path)
    )
    assert options.mode.records


def test_other_variables_with_the_prefix_are_let_be(tmp_path: Path) -> None:
    environ = {"STACKPROOF_LIVE_MODEL": "a/b", "STACKPROOF_OF_CONCEPT": "1", "STACKPROOF_RUN_ID": "x"}
    assert resolve({}, environ, project(tmp_path)).setup is None


def test_providers_of_the_project_are_read(tmp_path: Path) -> None:
    table = '[tool.stackproof.providers]\nsearch = "https://s.example.com"\nmore = ["https://a.example", "http://b"]\n'
    assert resolve({}, {}, project(tmp_path, table)).providers == {
        "search": ("https://s.example.com",),
        "more": ("https://a.example", "http://b"),
    }


def test_project_without_pyproject_has_the_defaults(tmp_path: Path) -> None:
    assert resolve({}, {}, tmp_path).suite == "base"


@pytest.mark.parametrize(
    ("noxfile", "program"),
    [
        (None, "stackproof run"),
        ("", "stackproof run"),
        ("def integration(session):\n    session.run('pytest')\n", "stackproof run"),
        ("def tests(session):\n    session.run('stackproof', 'integration')\n", "stackproof run"),
        ("def integration(session):\n    session.run('stackproof', 'run')\n", "nox -s integration --"),
        ("@nox.session(name='integration')\ndef run(session):\n    stackproof(session)\n", "nox -s integration --"),
        (b"\xff\xfe def integration(session)", "stackproof run"),
    ],
)
def test_program_is_nox_where_a_session_of_it_runs_us(
    tmp_path: Path, noxfile: str | bytes | None, program: str
) -> None:
    if noxfile is not None:
        (tmp_path / "noxfile.py").write_bytes(noxfile.encode() if isinstance(noxfile, str) else noxfile)
    assert resolve({}, {}, tmp_path).program == program


def test_where_nox_is_not_there_nobody_is_told_to_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noxfile.py").write_text("def integration(session): ...  # stackproof\n")
    monkeypatch.setattr("stackproof.nox_sessions._is_here", lambda: False)
    assert resolve({}, {}, tmp_path).program == "stackproof run"
