"""The command that leads to an engine over ssh: what is in an address is an address, and nothing else."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from stackproof.stack.engine import ssh
from stackproof.stack.engine_words import UnreachableError


@pytest.fixture
def ssh_there(tmp_path: Path) -> dict[str, str]:
    """An environment in which there is a program `ssh`."""
    program = tmp_path / "ssh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return {"PATH": str(tmp_path)}


def parts(command: list[str]) -> tuple[list[str], str, list[str]]:
    """Options, host, and what the shell there makes of the rest."""
    end = command.index("--")
    return command[1:end], command[end + 1], shlex.split(" ".join(command[end + 2 :]))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("ssh://builder", "builder"),
        ("ssh://Builder", "Builder"),
        ("ssh://me@Builder:2222/run/docker.sock", "Builder"),
        ("ssh://me@[2001:DB8::1]:2222", "2001:DB8::1"),
    ],
)
def test_the_host_is_what_was_written(url: str, host: str, ssh_there: dict[str, str]) -> None:
    _, found, there = parts(ssh.command(url, ssh_there))
    assert found == host
    assert there[0] == "docker"
    assert there[-2:] == ["system", "dial-stdio"]


def test_user_and_port_are_values_of_options(ssh_there: dict[str, str]) -> None:
    options, _, _ = parts(ssh.command("ssh://somebody%20else@builder:2222", ssh_there))
    assert options[options.index("-l") + 1] == "somebody else"
    assert options[options.index("-p") + 1] == "2222"
    assert "BatchMode=yes" in options


@pytest.mark.parametrize("path", ["/run/docker.sock", "/run/a b/docker.sock", "/run/$(touch x)/;true/docker.sock"])
def test_a_socket_there_is_one_word_to_the_shell_there(path: str, ssh_there: dict[str, str]) -> None:
    _, _, there = parts(ssh.command(f"ssh://builder{path}", ssh_there))
    assert there == ["docker", f"--host=unix://{path}", "system", "dial-stdio"]


def test_an_encoded_space_is_a_space(ssh_there: dict[str, str]) -> None:
    _, _, there = parts(ssh.command("ssh://builder/run/a%20b/docker.sock", ssh_there))
    assert there[1] == "--host=unix:///run/a b/docker.sock"


@pytest.mark.parametrize("where", ["-oProxyCommand=touch", "-oProxyCommand=touch@builder", "%2doX=y@builder"])
def test_what_ssh_would_take_for_an_option_is_refused(where: str, ssh_there: dict[str, str]) -> None:
    with pytest.raises(UnreachableError, match="no host or user begins with a dash"):
        ssh.command(f"ssh://{where}", ssh_there)


@pytest.mark.parametrize("url", ["ssh://", "ssh://me:secret@builder", "ssh://builder:many", "ssh://[::1"])
def test_what_is_no_address_is_refused_without_its_password(url: str, ssh_there: dict[str, str]) -> None:
    with pytest.raises(UnreachableError) as refused:
        ssh.command(url, ssh_there)
    assert "secret" not in refused.value.reason.text
