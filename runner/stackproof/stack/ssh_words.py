"""Why ssh, or `docker` at its other end, did not lead to an engine: from what they complained of."""

from __future__ import annotations

from dataclasses import dataclass

_SHELL_FOUND_NOTHING = 127
_ASKS_NOTHING = "ssh is not let ask for anything here (BatchMode)"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What is said where all of `signs` are. {host}: the machine. {last}: the line that tells it."""

    signs: tuple[str, ...]
    text: str
    remedy: str


_KNOWN = (
    _Known(
        signs=("IDENTIFICATION HAS CHANGED",),
        text="ssh refuses its host key, which is not the one that it knows of this machine",
        remedy="find out why it changed; `ssh {host}` names the file and the line that have the old one",
    ),
    _Known(
        signs=("Host key verification failed",),
        text="ssh does not know its host key",
        remedy="`ssh {host}` once, and compare the fingerprint; " + _ASKS_NOTHING,
    ),
    _Known(
        signs=("Permission denied (",),
        text="ssh was refused: {last}",
        remedy=f"have a key that is let in there, in an agent where it has a passphrase; {_ASKS_NOTHING}",
    ),
    _Known(
        signs=("raw stream connection", "permission denied"),
        text="its user may not use the engine there",
        remedy="put that user into the group that owns the socket (`usermod -aG docker NAME`), or name another",
    ),
    _Known(
        signs=("raw stream connection",),
        text="`docker` is there, and no engine: {last}",
        remedy="start the engine there; `ssh {host} docker version` says more",
    ),
    _Known(
        signs=("Could not resolve hostname",),
        text="its host name is not known",
        remedy="correct DOCKER_HOST or the context; a short name may be a `Host` of ~/.ssh/config",
    ),
    _Known(
        signs=("timed out",),
        text="ssh got no answer in time",
        remedy="is it the right machine and port? it may be off, or out of reach",
    ),
    _Known(
        signs=("Connection refused",),
        text="no sshd listens there",
        remedy="is it the right port? `ssh {host}` tries the same",
    ),
)
_NO_DOCKER = _Known(
    signs=(),
    text="there is no command `docker` for the user that ssh becomes",
    remedy="install Docker's command line there; `ssh {host} docker version` has to answer",
)
_OTHER = _Known(signs=(), text="ssh ended: {last}", remedy="`ssh {host} docker version` tries the same")


def told(said: str, code: int, host: str) -> tuple[str, str]:
    """What went wrong and what to do next. said: all that ssh wrote. code: its exit code."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    found = next((known for known in _KNOWN if all(sign in said for sign in known.signs)), None)
    if found is None:
        found = _NO_DOCKER if code == _SHELL_FOUND_NOTHING else _OTHER
    last = next((line for line in reversed(lines) if found.signs and found.signs[0] in line), "")
    last = last or (lines[-1] if lines else f"exit code {code}")
    return found.text.format(last=last), found.remedy.format(host=host)
