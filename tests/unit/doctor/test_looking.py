"""What each check reads: real folders, files, repositories and variables."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.unit.doctor.looking_words import Make, fine, ids_of, installed, wrong

from stackproof.doctor import (
    of_install,
    of_libraries,
    of_machine,
    of_project,
    of_proxies,
    of_python,
    of_sealing,
    of_variables,
)
from stackproof.doctor.finding import Level
from stackproof.doctor.place import Place
from stackproof.run import namespace
from stackproof.run.namespace import Seal

# What is installed.


def test_old_libraries_are_found_by_the_names_of_their_folders(make: Make, tmp_path: Path) -> None:
    path = installed(
        tmp_path / "lib", "urllib3-1.26.20", "HTTPX-0.24.1", "aiohttp-3.14.1", "~rllib3-1.0", "openai-3.57.0"
    )
    found = wrong(of_libraries, make(path=path))
    assert [each.subject for each in found] == ["httpx 0.24.1", "urllib3 1.26.20"]
    assert found[1].remedy == "`python -m pip install 'urllib3>=2.0'`"
    assert "clients of providers: openai" in fine(of_libraries, make(path=path))


def test_of_two_versions_the_one_that_python_imports_counts(make: Make, tmp_path: Path) -> None:
    path = installed(tmp_path / "first", "urllib3-2.5.0") + installed(tmp_path / "second", "urllib3-1.26.20")
    assert ids_of(of_libraries, make(path=path)) == set()
    assert ids_of(of_libraries, make(path=path[::-1])) == {"libraries.version"}


def test_a_second_install_is_named_with_its_place(make: Make, tmp_path: Path) -> None:
    path = installed(tmp_path / "home" / "lib", "stackproof-0.1.0") + installed(
        tmp_path / "home" / "old", "stackproof-0.0.9"
    )
    (found,) = [each for each in wrong(of_install, make(path=path)) if each.id == "install.several"]
    assert "0.0.9 in ~/old" in found.says


@pytest.mark.parametrize(
    ("script", "other"),
    [
        (f"#!{sys.executable}\nprint()\n", False),
        ("#!/usr/bin/python3.99\nprint()\n", True),
        ('#!/bin/sh\n\'\'\'exec\' "/elsewhere/a long path/python" "$0" "$@"\n', True),
        ('#!/bin/sh\n\'\'\'exec\' "$(dirname -- "$(realpath -- "$0")")"/\'python\' "$0" "$@"\n', False),
        (f"#!{Path(sys.executable).with_name('python')}\n", False),
        ("no script at all", False),
    ],
    ids=["this", "another", "long path", "beside itself", "other name", "binary"],
)
def test_the_command_that_a_shell_starts_is_compared_by_its_python(
    make: Make, tmp_path: Path, script: str, other: bool
) -> None:
    command = tmp_path / "bin" / "stackproof"
    command.parent.mkdir()
    command.write_text(script)
    command.chmod(0o755)
    found = ids_of(of_install, make(environ={"PATH": str(command.parent)}))
    assert ("install.other-command" in found) is other


def test_a_package_of_our_name_in_the_project_is_seen(make: Make) -> None:
    assert "install.shadowed" in ids_of(of_install, make({"stackproof/__init__.py": ""}))


# Python and the machine.


def test_an_active_environment_that_is_another_is_named(make: Make, tmp_path: Path) -> None:
    found = wrong(of_python, make(environ={"VIRTUAL_ENV": str(tmp_path / "home" / "other")}))
    assert ("python.other-environment", "~/other") in {(each.id, each.subject) for each in found}
    assert "python.other-environment" not in ids_of(of_python, make(environ={"VIRTUAL_ENV": sys.prefix}))


def test_an_environment_in_the_project_that_is_another_is_named(make: Make) -> None:
    found = [each for each in wrong(of_python, make({".venv/pyvenv.cfg": ""})) if each.id == "python.other-environment"]
    assert [each.subject for each in found] == [".venv"]
    assert "python.other-environment" not in ids_of(of_python, make(environ={"VIRTUAL_ENV": sys.prefix}))


def test_an_environment_in_the_project_that_this_is_has_nothing_beside_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make({".venv/pyvenv.cfg": ""})
    monkeypatch.setattr(sys, "prefix", str(place.project / ".nox" / "integration"))
    assert "python.other-environment" not in ids_of(of_python, place)


def test_a_temporary_folder_that_is_not_there_is_an_obstacle(make: Make, tmp_path: Path) -> None:
    place = make(environ={"TMPDIR": str(tmp_path / "gone")})
    assert ("machine.temporary", Level.MISSING) in {(each.id, each.level) for each in wrong(of_machine, place)}
    assert "machine.temporary" not in ids_of(of_machine, make(environ={"TMPDIR": str(tmp_path)}))


def test_files_from_the_future_tell_of_the_clock(make: Make) -> None:
    place = make()
    (place.project / "late.txt").write_text("")
    os.utime(place.project / "late.txt", (place.now + 7200, place.now + 7200))
    (found,) = [each for each in wrong(of_machine, place) if each.id == "machine.clock"]
    assert found.says == "is 120 min behind the newest file of the project, late.txt"


# Variables.


def test_a_mode_that_is_set_is_named_and_no_value_of_a_variable_is(make: Make) -> None:
    environ = {"STACKPROOF_INFERENCE_MODE": "record", "STACKPROOF_SETUP": "local", "PYTHONOPTIMIZE": "1"}
    place = make(environ=environ)
    assert ids_of(of_variables, place) == {"variables.mode", "variables.python"}
    assert fine(of_variables, place) == "variables of Stackproof set options of a run: STACKPROOF_SETUP"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://user:pa55word@proxy.example:3128", "proxy.example:3128"),
        ("user:pa55word@proxy.example:3128", "proxy.example:3128"),
        ("http://user:pa%40ss@proxy.example", "proxy.example"),
        ("https://[::1]:8080/", "::1:8080"),
        ("socks5h://me:secret@127.0.0.1:1080", "socks5h://127.0.0.1:1080"),
        ("http://proxy.example:notaport", ""),
        ("http://", ""),
        ("proxy with blanks", ""),
        ("ftp://proxy.example", ""),
    ],
)
def test_of_a_proxy_the_host_is_told_and_nobody_who_signs_in(make: Make, address: str, shown: str) -> None:
    assert of_proxies.host_of(address) == shown
    said = repr(
        list(of_proxies.judge(of_proxies.look(make(environ={"HTTPS_PROXY": address, "PIP_INDEX_URL": address}))))
    )
    for secret in ("pa55word", "pa%40ss", "secret", "user", "me:"):
        assert secret not in said


def test_certificates_are_looked_for_where_variables_name_them(make: Make, tmp_path: Path) -> None:
    good, bad = tmp_path / "ca.pem", tmp_path / "empty.pem"
    good.write_text("-----BEGIN CERTIFICATE-----\n")
    bad.write_text("nothing")
    environ = {"SSL_CERT_FILE": str(good), "PIP_CERT": str(bad), "REQUESTS_CA_BUNDLE": "/not/there.pem"}
    found = {each.subject: each.says for each in wrong(of_proxies, make(environ=environ))}
    assert "holds no certificate" in found["PIP_CERT"]
    assert "is not there" in found["REQUESTS_CA_BUNDLE"]
    assert "SSL_CERT_FILE" not in found


def test_two_spellings_of_a_proxy_that_disagree_are_named(make: Make) -> None:
    differing = {"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:1"}
    assert "proxies.disagree" in ids_of(of_proxies, make(environ=differing))
    assert ids_of(of_proxies, make(environ={**differing, "https_proxy": "http://a:1"})) == set()


def test_a_namespace_that_cannot_be_made_is_said(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "unshare: unshare failed: Operation not permitted"
    monkeypatch.setattr(namespace, "available", lambda *_, **__: Seal(sealed=False, reason=reason))
    assert ids_of(of_sealing, make()) == {"sealing.namespace"}
    required = make({"pyproject.toml": '[tool.stackproof]\nstack_config = "server:desk"\nseal = "require"\n'})
    assert [each.level for each in wrong(of_sealing, required)] == [Level.MISSING]


# The project.


def test_a_plain_run_is_told(make: Make) -> None:
    assert fine(of_project, make()).endswith("a plain run is base × local × server:desk, replay")


def test_a_key_that_no_file_knows_is_told_with_its_line(make: Make) -> None:
    (found,) = wrong(of_project, make({"stacks/desk/stack.yaml": "description: d\nmodes: [server]\ncomand: [a]\n"}))
    assert (found.id, found.level) == ("project.files", Level.MISSING)
    assert found.says.startswith("stacks/desk/stack.yaml:3: unknown key 'comand'")


def test_a_variable_that_is_misspelt_is_told(make: Make) -> None:
    (found,) = wrong(of_project, make(environ={"STACKPROOF_SETTUP": "local"}))
    assert "did you mean STACKPROOF_SETUP?" in found.says


def test_a_folder_inside_of_a_project_names_the_project(make: Make) -> None:
    place = make()
    inside = Place(environ={}, project=place.project / "tests", home=place.home, path=(), now=place.now)
    (found,) = wrong(of_project, inside)
    assert (found.id, found.remedy) == ("project.none", "`cd ~/desk`, which is one")


def test_tests_that_a_stack_lacks_and_nobody_has_are_named(make: Make) -> None:
    lacks = "lacks: {tests/nowhere/test_it.py: the Responses API, tests: nothing}"
    (found,) = wrong(
        of_project, make({"stacks/desk/stack.yaml": f"description: d\nmodes: [server]\ncommand: [a]\n{lacks}\n"})
    )
    assert (found.id, found.subject) == ("project.lacks", "stacks/desk/stack.yaml")
    assert found.says.startswith("'lacks' names tests/nowhere/test_it.py, and there is no such file")


@pytest.mark.parametrize("name", ["suites.yaml", "tests/suites.yml", "stacks/other/stack.yml", "stacks/stack.yaml"])
def test_files_that_nobody_reads_are_named(make: Make, name: str) -> None:
    files: dict[str, str | None] = {name: ""}
    if name == "tests/suites.yml":
        files["tests/suites.yaml"] = None
    assert name in {each.subject for each in wrong(of_project, make(files)) if each.id == "project.misplaced"}
