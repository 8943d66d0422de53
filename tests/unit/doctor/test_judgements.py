"""What each check makes of facts: one case for every finding, and the ids that the page promises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stackproof.doctor
from stackproof.doctor import (
    clients,
    of_bypass,
    of_conflicts,
    of_docker,
    of_install,
    of_keys,
    of_libraries,
    of_machine,
    of_project,
    of_proxies,
    of_pytest,
    of_python,
    of_recordings,
    of_release,
    of_runs,
    of_sealing,
    of_variables,
    tools,
)
from stackproof.doctor.checks import CHECKS
from stackproof.doctor.finding import Finding, Level
from stackproof.doctor.installation import Environment, Kind
from stackproof.doctor.pytest_config import PytestConfig, Word
from stackproof.doctor.system import System
from stackproof.errors import UsageError
from stackproof.stack.engine_records import EngineFacts

_SOURCES = Path(stackproof.doctor.__file__).parent
_PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"
_GB = 1 << 30

PYTHON = of_python.PythonFacts(
    version=(3, 12, 4),
    implementation="CPython",
    free_threaded=False,
    environment=Environment.VENV,
    prefix="~/desk/venv",
    active=None,
    own=None,
    managed=False,
)
INSTALL = of_install.InstallFacts(
    version="0.1.0",
    kind=Kind.WHEEL,
    installer="pip",
    package="~/desk/venv/lib/stackproof",
    others=(),
    command="~/desk/venv/bin/stackproof",
    own_command="~/desk/venv/bin/stackproof",
    same_command=True,
    unmet=(),
    shadowed=None,
)
LINUX = System(kind="Linux", name="Debian GNU/Linux 12 (bookworm)", kernel="6.1", machine="x86_64")
DISK = of_machine.Disk(folder="~/desk", what="runs and recordings", free=50 * _GB, files=100_000)
MACHINE = of_machine.MachineFacts(
    system=LINUX,
    windows_disk=False,
    disks=(DISK,),
    temporary="/tmp",  # noqa: S108
    unusable=None,
    read_only=False,
    now=1_796_000_000.0,
    ahead=-10.0,
    newest="README.md",
    open_files=1024,
)
VARIABLES = of_variables.VariableFacts(options=(), mode=None, python=(), within=(), ci=False)
PROXIES = of_proxies.ProxyFacts(proxies={}, socks=(), disagree=(), exceptions=False, certificates={}, indexes={})
SEALED = of_sealing.SealFacts(sealed=True, reason="", linux=True)
OPEN = of_sealing.SealFacts(sealed=False, reason="unshare: unshare failed: Operation not permitted", linux=True)
ENGINE = EngineFacts(
    version="27.1.1", api=(1, 46), name="desk", system="Debian GNU/Linux 12", architecture="x86_64", rootless=False
)
DOCKER = of_docker.DockerFacts(where="unix:///var/run/docker.sock (default)", engine=ENGINE)
NO_DOCKER = replace(
    DOCKER, engine=None, error="no Docker engine answered at …: there is no such socket", hint="start it"
)
PROJECT = of_project.ProjectFacts(is_project=True, cells=("base × gpt × server:desk",), counts=(1, 1, 0))
PYTEST = of_pytest.PytestFacts(version="9.2.0", config=PytestConfig(file="pytest.ini"), entry_points=1)
KEYS = of_keys.KeyFacts(setups=(of_keys.SetupKeys(setup="gpt", states={"OPENAI_API_KEY": of_keys.State.SET}),))
RECORDINGS = of_recordings.RecordingFacts(folder="recordings", there=True, files=(("gpt", 3),), size=9000, read=3)
RELEASE = of_release.ReleaseFacts(policy=True, workflows=("ci.yml",), running=("ci.yml",))


def _words(text: str, source: str = "pytest.ini", **more: Any) -> of_pytest.PytestFacts:
    words = tuple(Word(text=word, source=source) for word in text.split())
    return replace(PYTEST, config=PytestConfig(file="pytest.ini", words=words, **more))


def _keys(state: of_keys.State) -> of_keys.KeyFacts:
    return replace(KEYS, setups=(of_keys.SetupKeys(setup="gpt", states={"OPENAI_API_KEY": state}),))


_USE = of_conflicts.Use(tool=tools.TOOLS[0], where="tests/conftest.py:3", everywhere=True)

# module, facts, and what is not in order: `id level`.
CASES: list[tuple[Any, Any, set[str]]] = [
    (of_python, PYTHON, set()),
    (of_python, replace(PYTHON, version=(3, 10, 1)), {"python.version missing"}),
    (of_python, replace(PYTHON, version=(3, 15, 0)), {"python.version odd"}),
    (of_python, replace(PYTHON, implementation="PyPy"), {"python.implementation odd"}),
    (of_python, replace(PYTHON, free_threaded=True), {"python.implementation odd"}),
    (of_python, replace(PYTHON, active="~/other/venv"), {"python.other-environment odd"}),
    (of_python, replace(PYTHON, own=".venv", environment=Environment.PIPX), {"python.other-environment odd"}),
    (of_python, replace(PYTHON, environment=Environment.UVX), {"python.tool-environment odd"}),
    (of_python, replace(PYTHON, environment=Environment.SYSTEM, managed=True), {"python.managed odd"}),
    (of_install, INSTALL, set()),
    (of_install, replace(INSTALL, others=("0.0.9 in ~/.local",)), {"install.several odd"}),
    (of_install, replace(INSTALL, same_command=False, command="/usr/bin/stackproof"), {"install.other-command odd"}),
    (of_install, replace(INSTALL, unmet=(("click>=8.1", "7.0 is installed"),)), {"install.requirement missing"}),
    (of_install, replace(INSTALL, shadowed="stackproof"), {"install.shadowed odd"}),
    (of_machine, MACHINE, set()),
    (of_machine, replace(MACHINE, disks=(replace(DISK, free=_GB // 2),)), {"machine.disk odd"}),
    (of_machine, replace(MACHINE, disks=(replace(DISK, free=1024),)), {"machine.disk missing"}),
    (of_machine, replace(MACHINE, disks=(replace(DISK, files=0),)), {"machine.disk missing"}),
    (of_machine, replace(MACHINE, unusable="is not there"), {"machine.temporary missing"}),
    (of_machine, replace(MACHINE, read_only=True), {"machine.read-only missing"}),
    (of_machine, replace(MACHINE, ahead=7200.0), {"machine.clock odd"}),
    (of_machine, replace(MACHINE, now=0.0), {"machine.clock odd"}),
    (of_machine, replace(MACHINE, open_files=256), {"machine.open-files odd"}),
    (of_machine, replace(MACHINE, system=replace(LINUX, kind="Windows")), {"machine.system missing"}),
    (of_machine, replace(MACHINE, system=replace(LINUX, wsl=1)), {"machine.wsl1 odd"}),
    (of_machine, replace(MACHINE, system=replace(LINUX, wsl=2), windows_disk=True), {"machine.windows-disk odd"}),
    (of_variables, VARIABLES, set()),
    (of_variables, replace(VARIABLES, options=("STACKPROOF_SETUP",), ci=True), set()),
    (of_variables, replace(VARIABLES, mode="replay"), set()),
    (of_variables, replace(VARIABLES, mode="record"), {"variables.mode odd"}),
    (of_variables, replace(VARIABLES, python=("PYTHONOPTIMIZE",)), {"variables.python odd"}),
    (of_variables, replace(VARIABLES, within=("STACKPROOF_CHILD",)), {"variables.within-a-run odd"}),
    (of_proxies, PROXIES, set()),
    (of_proxies, replace(PROXIES, proxies={"HTTPS_PROXY": "proxy.example:3128"}, exceptions=True), set()),
    (of_proxies, replace(PROXIES, proxies={"HTTPS_PROXY": ""}), {"proxies.address odd"}),
    (of_proxies, replace(PROXIES, proxies={"ALL_PROXY": "h:1"}, socks=("ALL_PROXY",)), {"proxies.socks odd"}),
    (of_proxies, replace(PROXIES, disagree=("HTTPS_PROXY",)), {"proxies.disagree odd"}),
    (of_proxies, replace(PROXIES, certificates={"SSL_CERT_FILE": ("a", "is not there")}), {"proxies.certificates odd"}),
    (of_sealing, SEALED, set()),
    (of_sealing, replace(SEALED, already=True), set()),
    (of_sealing, OPEN, {"sealing.namespace odd"}),
    (of_sealing, replace(OPEN, required=True), {"sealing.namespace missing"}),
    (
        of_sealing,
        replace(OPEN, linux=False, reason="network namespaces are a thing of Linux"),
        {"sealing.namespace odd"},
    ),
    (of_docker, DOCKER, set()),
    (of_docker, NO_DOCKER, set()),
    (of_docker, replace(NO_DOCKER, named=True), {"docker.engine odd"}),
    (of_docker, replace(NO_DOCKER, able=("docker:desk",)), {"docker.engine odd"}),
    (of_docker, replace(NO_DOCKER, wanted=("base × gpt × docker:desk",)), {"docker.engine missing"}),
    (of_docker, replace(DOCKER, lacking=(("python:3.11-slim", "V", "desk"),)), {"docker.base-image odd"}),
    (
        of_docker,
        replace(DOCKER, lacking=(("python:3.11-slim", "V", "desk"),), wanted=("base × gpt × docker:desk",)),
        {"docker.base-image missing"},
    ),
    (
        of_docker,
        replace(DOCKER, abandoned=("container a", "b", "c", "d"), going=("network n",)),
        {"docker.abandoned odd"},
    ),
    (of_docker, replace(DOCKER, room=_GB), {"docker.disk odd"}),
    (of_project, PROJECT, set()),
    (of_project, of_project.ProjectFacts(is_project=False, near="~/desk"), {"project.none odd"}),
    (of_project, replace(PROJECT, error=UsageError("stack.yaml:3: unknown key 'comand'")), {"project.files missing"}),
    (of_project, replace(PROJECT, misplaced=("suites.yaml",)), {"project.misplaced odd"}),
    (of_project, replace(PROJECT, unmet=(("stacks/desk/stack.yaml", "tests/x.py"),)), {"project.lacks odd"}),
    (of_pytest, PYTEST, set()),
    (of_pytest, replace(PYTEST, version=None), {"pytest.version missing"}),
    (of_pytest, replace(PYTEST, version="7.4.4"), {"pytest.version missing"}),
    (of_pytest, _words("", problem="pytest.ini: no"), {"pytest.config missing"}),
    (of_pytest, _words("", ini={"minversion": "99"}), {"pytest.minversion missing"}),
    (of_pytest, _words("-p no:stackproof"), {"pytest.plugin-off odd"}),
    (of_pytest, _words("-pno:stackproof"), {"pytest.plugin-off odd"}),
    (of_pytest, _words("-p no:timeout"), {"pytest.plugin-timeout odd"}),
    (of_pytest, _words("-p stackproof.pytest_plugin"), {"pytest.plugin-twice missing"}),
    (of_pytest, replace(PYTEST, named_in=("conftest.py",)), {"pytest.plugin-twice missing"}),
    (of_pytest, _words("", plugins=("stackproof.pytest_plugin",)), {"pytest.plugin-twice missing"}),
    (of_pytest, replace(PYTEST, entry_points=0), {"pytest.plugin-absent odd"}),
    (of_pytest, _words("", autoload=False), {"pytest.autoload odd"}),
    (of_pytest, _words("-p stackproof", autoload=False), set()),
    (of_pytest, _words("--collect-only"), {"pytest.runs-nothing missing"}),
    (of_pytest, _words("--lf"), {"pytest.leaves-out odd"}),
    (of_pytest, _words("-kfast"), {"pytest.leaves-out odd"}),
    (of_pytest, _words("--maxfail=1"), {"pytest.ends-early odd"}),
    (of_pytest, _words("-n 4"), {"pytest.workers odd"}),
    (of_pytest, _words("-n4"), {"pytest.workers odd"}),
    (of_pytest, _words("--junitxml=report.xml"), {"pytest.report odd"}),
    (of_pytest, _words("-q --strict-markers --import-mode=importlib -rs --maxprocesses=2"), set()),
    (of_pytest, _words("", markers=("slow", "fault")), {"pytest.marker odd"}),
    (of_conflicts, of_conflicts.ConflictFacts(idle=("vcrpy",)), set()),
    (of_conflicts, of_conflicts.ConflictFacts(uses=(_USE,)), {"conflicts.transport odd"}),
    (of_conflicts, of_conflicts.ConflictFacts(network="--block-network in a"), {"conflicts.network odd"}),
    (
        of_conflicts,
        of_conflicts.ConflictFacts(sockets="pytest.ini", loopback_allowed=False, server=True),
        {"conflicts.sockets missing"},
    ),
    (of_conflicts, of_conflicts.ConflictFacts(sockets="pytest.ini", server=True), {"conflicts.sockets odd"}),
    (of_conflicts, of_conflicts.ConflictFacts(fixtures=(("stack", "conftest.py:3"),)), {"conflicts.fixture odd"}),
    (of_libraries, of_libraries.LibraryFacts(installed={"httpx": "0.28.1", "requests": "2.0"}), set()),
    (of_libraries, of_libraries.LibraryFacts(installed={"urllib3": "1.26.20"}), {"libraries.version missing"}),
    (of_libraries, of_libraries.LibraryFacts(installed={"aiohttp": "3.9.5"}), {"libraries.version missing"}),
    (of_libraries, of_libraries.LibraryFacts(installed={}, impostors=("urllib3-future",)), {"libraries.impostor odd"}),
    (of_bypass, of_bypass.BypassFacts(read=3, installed=("grpcio",)), set()),
    (
        of_bypass,
        of_bypass.BypassFacts(imported=((clients.UNSEEN[0], ("a.py:1", "b.py:2", "c.py:3", "d.py:4")),)),
        {"bypass.import odd"},
    ),
    (of_bypass, of_bypass.BypassFacts(realtime=(("OpenAI's realtime", ("a.py:1",)),)), {"bypass.realtime odd"}),
    (of_bypass, of_bypass.BypassFacts(whole=False), {"bypass.unread odd"}),
    (of_keys, KEYS, set()),
    (of_keys, replace(KEYS, setups=(of_keys.SetupKeys(setup="ollama", states={}),)), set()),
    (of_keys, replace(KEYS, setups=(of_keys.SetupKeys(setup="a", states={}, given=("A_URL", "B_URL")),)), set()),
    (of_keys, _keys(of_keys.State.UNSET), set()),
    (of_keys, _keys(of_keys.State.BLANK), {"keys.value odd"}),
    (of_keys, _keys(of_keys.State.PLACEHOLDER), {"keys.value odd"}),
    (of_keys, _keys(of_keys.State.WRAPPED), {"keys.value odd"}),
    (of_keys, replace(KEYS, in_files={"OPENAI_API_KEY": ".env"}), {"keys.in-file odd"}),
    (of_recordings, RECORDINGS, set()),
    (of_recordings, replace(RECORDINGS, files=()), set()),
    (of_recordings, replace(RECORDINGS, lacking=(("gpt", "stackproof run"),)), {"recordings.none missing"}),
    (of_recordings, replace(RECORDINGS, damaged=("gpt/a.json",)), {"recordings.damaged missing"}),
    (of_recordings, replace(RECORDINGS, pointers=("gpt/a.json",)), {"recordings.pointers missing"}),
    (of_recordings, replace(RECORDINGS, unknown=(("gtp", ""),)), {"recordings.unknown-setup odd"}),
    (of_recordings, replace(RECORDINGS, ignored=("recordings/",)), {"recordings.ignored odd"}),
    (of_recordings, replace(RECORDINGS, changed=("recordings/gpt/a.json",)), {"recordings.uncommitted odd"}),
    (of_recordings, replace(RECORDINGS, size=_GB), {"recordings.size odd"}),
    (of_runs, of_runs.RunFacts(), set()),
    (of_runs, of_runs.RunFacts(number=2, going=("7f3c2a",), locked=(("~/.cache/stackproof/wheels/a/lock", 7),)), set()),
    (of_runs, of_runs.RunFacts(killed=("7f3c2a",)), {"runs.killed odd"}),
    (of_runs, of_runs.RunFacts(killed=("7f3c2a",), unpromoted=("7f3c2a",)), {"runs.unpromoted odd"}),
    (of_runs, of_runs.RunFacts(elsewhere=("7f3c2a",)), {"runs.elsewhere odd"}),
    (of_runs, of_runs.RunFacts(reports=("a.txt", "b.txt")), {"runs.reports odd"}),
    (of_runs, of_runs.RunFacts(size=3 * _GB), {"runs.size odd"}),
    (of_release, RELEASE, set()),
    (of_release, replace(RELEASE, policy=False), {"release.policy odd"}),
    (of_release, replace(RELEASE, error="ci/release.yaml:2: no"), {"release.policy odd"}),
    (
        of_release,
        replace(RELEASE, complaints=("a.json is missing: stackproof policy update",)),
        {"release.unexpected odd"},
    ),
    (of_release, replace(RELEASE, complaints=("a waiver is retired",)), {"release.stale odd"}),
    (of_release, replace(RELEASE, gone=("tests/a.py::test_b",)), {"release.expected odd"}),
    (of_release, replace(RELEASE, running=()), {"release.workflow odd"}),
    (of_release, replace(RELEASE, running=(), workflows=()), {"release.workflow odd"}),
]


def _judged(module: Any, facts: Any) -> tuple[Finding, ...]:
    return tuple(module.judge(facts))


@pytest.mark.parametrize(("module", "facts", "wrong"), CASES)
def test_what_is_not_in_order_is_said_with_its_level(module: Any, facts: Any, wrong: set[str]) -> None:
    found = _judged(module, facts)
    assert {f"{each.id} {each.level.value}" for each in found if each.level is not Level.OK} == wrong
    name = module.__name__.rpartition(".of_")[2]
    assert {each.check for each in found} == {name}


@pytest.mark.parametrize(("module", "facts", "wrong"), CASES)
def test_every_finding_is_a_sentence_and_what_is_wrong_has_a_remedy(module: Any, facts: Any, wrong: set[str]) -> None:
    for each in _judged(module, facts):
        assert each.subject, each
        assert each.says.strip(), each
        assert not each.says.endswith("."), each
        assert (each.remedy is None) is (each.level is Level.OK), each
        for text in (each.says, each.remedy or ""):
            assert text.count("`") % 2 == 0, each
            assert "None" not in text, each
            assert "  " not in text, each


def _ids() -> set[str]:
    """Every id that stands in the code: the first argument of what makes a finding."""
    found: set[str] = set()
    for path in _SOURCES.glob("of_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in {"ok", "odd", "missing", "refused", "make"} and isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


def test_every_finding_of_the_code_is_provoked_by_a_case_above() -> None:
    made = {each.id for module, facts, _ in CASES for each in _judged(module, facts)}
    assert _ids() == made


def test_the_page_lists_every_finding_that_asks_for_something_with_its_level() -> None:
    rows = re.findall(r"^\| `([\w-]+\.[\w-]+)` \| ([\w, ]+) \|", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    made: dict[str, set[str]] = {}
    for _, _, wrong in CASES:
        for entry in wrong:
            name, level = entry.split()
            made.setdefault(name, set()).add(level)
    assert {name: {*level.split(" or ")} for name, level in rows} == made


def test_the_fixtures_that_are_ours_are_those_of_the_plugin() -> None:
    found = {"claim"}
    for path in (_SOURCES.parent / "fixtures.py", _SOURCES.parent / "plugin" / "live.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any("fixture" in ast.unparse(one) for one in node.decorator_list):
                found.add(node.name)
    assert {name for name in found if not name.startswith("_")} == of_conflicts.FIXTURES


def test_checks_have_a_module_each_and_no_module_is_without_one() -> None:
    assert {check.name for check in CHECKS} == {path.stem.removeprefix("of_") for path in _SOURCES.glob("of_*.py")}


def _text(found: Iterable[Finding]) -> str:
    return "\n".join(f"{each.subject} {each.says}\n{each.remedy}" for each in found)


def test_a_remedy_for_a_closed_kernel_names_its_switch() -> None:
    found = _judged(of_sealing, replace(OPEN, switch="kernel.apparmor_restrict_unprivileged_userns"))
    assert "`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`" in _text(found)
    assert "seccomp" in _text(_judged(of_sealing, OPEN))
    assert "util-linux" in _text(
        _judged(of_sealing, replace(OPEN, reason="there is no `unshare` program (util-linux)"))
    )


def test_a_plain_run_that_needs_an_engine_is_named() -> None:
    found = _text(_judged(of_docker, replace(NO_DOCKER, wanted=("base × gpt × docker:desk",))))
    assert "a plain run needs it for base × gpt × docker:desk" in found
    assert "start it" in found
