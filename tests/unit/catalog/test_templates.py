"""`{prot}` in a file of ours is refused when the file is read; braces that are somebody else's stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.environment.build_cases import CELL, STACK, Case, run

from stackproof import catalog
from stackproof.catalog import templates
from stackproof.errors import UsageError
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.stack import beside
from stackproof.stack.command import completed

SHOP, SERVICE, JOB = "stacks/shop/stack.yaml", "stacks/model/service.yaml", "stacks/job/container.yaml"
SETUPS, SUITES = "stacks/setups.yaml", "tests/suites.yaml"
HEAD = "description: d\nmodes: [server]\n"
FILES = {
    "stacks/shop/files.txt": "",
    SHOP: HEAD + 'command: [shop, --port, "{port}"]\n',
    SERVICE: 'description: d\nserver: s 1\ncommand: ["{python}", --port, "{port}", "{cache}"]\n',
    JOB: "description: d\ndocker: {image: job}\nuntil: completed\n",
    SETUPS: "gpt:\n  description: d\n",
    SUITES: "suites:\n  ts:\n    description: d\n    roots: [tests/ts]\n    default_setup: gpt\n    runner:\n"
    "      name: vitest\n      folder: tests/ts\n      command: [vitest, '{junit}']\n",
    "tests/ts/a.test.ts": "",
}


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def put(project: Path, file: str, text: str) -> None:
    (project / file).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        (
            SHOP,
            HEAD + 'command: [shop, "{prot}"]\n',
            "3: {prot} in 'command' of stack 'shop' is not known, did you mean {port}?",
        ),
        (SHOP, HEAD + 'command: [shop, "http://{Hots}:{port}"]\n', "3: {Hots} in 'command' {…}, did you mean {host}?"),
        (SHOP, HEAD + "command: [shop, '{\"a\": {pot}}']\n", "3: {pot} in 'command' {…}, did you mean {port}?"),
        (SHOP, HEAD + 'command: ["{pyhton}"]\n', "3: {pyhton} in 'command' {…}, did you mean {python}?"),
        (
            SHOP,
            HEAD + 'command: [shop, "{base_url}"]\n',
            "3: {base_url} in 'command' of stack 'shop' stands for nothing there",
        ),
        (
            SHOP,
            HEAD + 'command: [shop, "{prepared}"]\n',
            "3: {prepared} in 'command' of stack 'shop' stands for nothing there",
        ),
        (SHOP, FILES[SHOP] + "env:\n  A: x\n  B: '{PORT}'\n", "6: {PORT} in 'env' {…}, did you mean {port}?"),
        (SHOP, FILES[SHOP] + "env: {A: '{recording_dir} {run-dir}'}\n", "4: {run-dir} {…}, did you mean {run_dir}?"),
        (SHOP, FILES[SHOP] + "env: {A: '{python}'}\n", "4: {python} in 'env' of stack 'shop' stands for nothing there"),
        (SHOP, FILES[SHOP] + "models: {text: 'gateway:{nmae}'}\n", "4: {nmae} {…}, did you mean {name}?"),
        (SHOP, FILES[SHOP] + "readiness: {path: '/{port}/health'}\n", "4: {port} in 'path' of 'readiness' {…} there"),
        (SHOP, FILES[SHOP] + "readiness:\n  path: '/{prot}'\n", "5: {prot} in 'path' of 'readiness' {…} there"),
        (
            SHOP,
            FILES[SHOP] + "prepare: {command: [make, '{folder}'], files: [files.txt]}\n",
            "4: {folder} in 'command' of 'prepare' of stack 'shop' stands for nothing there",
        ),
        (
            SHOP,
            FILES[SHOP] + "benchmark: {command: ['{python}', '{result}', '{foldr}']}\n",
            "4: {foldr} in 'command' of 'benchmark' {…}, did you mean {folder}?",
        ),
        (
            SHOP,
            FILES[SHOP] + "recorder: edge\nedge:\n  probe:\n    path: /a\n    body: {m: [{n: '{text_modle}'}]}\n",
            "8: {text_modle} in 'edge' of stack 'shop' is not known, did you mean {text_model}?",
        ),
        (
            SERVICE,
            FILES[SERVICE].replace("{cache}", "{chache}"),
            "3: {chache} in 'command' of service 'model' is not known, did you mean {cache}?",
        ),
        (SERVICE, FILES[SERVICE] + "for_each: /for/{provder}\n", "4: {provder} {…}, did you mean {provider}?"),
        (
            SERVICE,
            FILES[SERVICE] + "docker: {image: i, port: 1, env: {A: '{cache}'}}\n",
            "4: {cache} in 'env' of 'docker' of service 'model' stands for nothing there",
        ),
        (
            JOB,
            FILES[JOB] + "command: [job, '{hst}']\n",
            "4: {hst} in 'command' of container 'job' is not known, did you mean {host}?",
        ),
        (
            JOB,
            FILES[JOB] + "command: [job, '{run_dir}']\n",
            "4: {run_dir} in 'command' of container 'job' stands for nothing there",
        ),
        (
            SETUPS,
            FILES[SETUPS] + "  replay: {A: '{fodler}/a'}\n",
            "3: {fodler} in 'replay' {…}, did you mean {folder}?",
        ),
        (
            SETUPS,
            FILES[SETUPS] + "  env: {TENANT: a}\n  providers: {p: {prefixes: ['http://p/{TENNANT}']}}\n",
            "4: prefix 'http://p/{TENNANT}' {…}, which is not in 'env' of the setup, did you mean 'TENANT'?",
        ),
        (SUITES, FILES[SUITES].replace("'{junit}'", "'{junit}', '{jnuit}'"), "9: {jnuit} {…}, did you mean {junit}?"),
        (
            SUITES,
            FILES[SUITES] + "      options: {workers: [--workers, '{valeu}']}\n",
            "10: {valeu} in 'workers' of 'options' {…}, did you mean {value}?",
        ),
    ],
)
def test_a_slip_is_one_sentence_with_its_line(project: Path, file: str, text: str, sentence: str) -> None:
    put(project, file, text)
    with pytest.raises(UsageError) as caught:
        catalog.load(project)
    where, _, ending = sentence.partition("{…}")
    assert caught.value.message.startswith(f"{file}:{where}")
    assert caught.value.message.endswith(ending)
    assert (caught.value.hint or "what is filled in there: ").startswith("what is filled in there: ")


def test_a_variable_that_no_run_has_is_named_with_the_nearest(project: Path) -> None:
    put(project, JOB, FILES[JOB] + "env: {A: '{SHOP_PASWORD}'}\n")
    spec = catalog.load(project).container("job")
    with pytest.raises(
        UsageError, match="made of SHOP_PASWORD, which this run does not have, did you mean 'SHOP_PASSWORD'"
    ):
        beside._filled(spec, "A", spec.env["A"], {"SHOP_PASSWORD": "x"})


@pytest.mark.parametrize(
    "text",
    [
        # A word in braces that is another word.
        "{a,b}",
        "{post} {part} {cost} {text} {x}",
        "{report} {hostname} {project_id} {import}",
        # JSON, and templates of other languages.
        '{"port": 1, "host": {"a": 2}}',
        "${prot} ${PORT:-1}",
        "{{.Hots}} {{prot}} {{ .Port }}",
        "%{prot} #{prot} @{prot}",
        "{} {0} \\d{3} {pro-t} {prot",
    ],
)
def test_braces_that_are_meant_stay(project: Path, text: str) -> None:
    quoted = text.replace("'", "''")
    put(project, SHOP, f"{HEAD}command: [shop, '{quoted}']\nenv: {{A: '{quoted}'}}\n")
    spec = catalog.load(project).stacks["shop"]
    assert spec.command == ("shop", text)
    assert spec.env == {"A": text}


def test_all_that_is_known_in_a_command_is_filled_in() -> None:
    settings = Settings(mode=Mode.REPLAY, recordings="/r", setup="s", run_dir="/run", run_id="a", project="/shop")
    words = [f"{{{word}}}" for word in templates.COMMAND]
    assert set(templates.IN_A_CONTAINER) <= set(templates.COMMAND)
    found = completed(
        words,
        python="/py",
        host="127.0.0.1",
        port=4000,
        folder="/shop/stacks",
        variables={VARIABLE: settings.to_json()},
    )
    assert not [word for word in found if "{" in word]


def test_all_that_is_known_in_env_is_filled_in() -> None:
    words = " ".join(f"{{{word}}}" for word in templates.ENV)
    built = run(Case(cell=replace(CELL, stack=replace(STACK, env={"ALL": words}))))
    assert "{" not in built.stack["ALL"]
    assert len(built.stack["ALL"].split()) == len(templates.ENV)
