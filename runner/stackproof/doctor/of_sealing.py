"""Whether a replay would be sealed: in a network namespace of its own, in which there is nothing but loopback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor.finding import Finding, missing, odd, ok
from stackproof.doctor.place import Place
from stackproof.run import namespace

_SECONDS = 4.0  # for each way that is tried
_SWITCHES = {
    "kernel.unprivileged_userns_clone": ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    "kernel.apparmor_restrict_unprivileged_userns": ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    "user.max_user_namespaces": ("/proc/sys/user/max_user_namespaces", "0"),
}
_BETTER = {
    "kernel.unprivileged_userns_clone": "1",
    "kernel.apparmor_restrict_unprivileged_userns": "0",
    "user.max_user_namespaces": "10000",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SealFacts:
    """already: nothing but loopback is up here. required: the project asks for `seal: require`.

    switch: the setting of the kernel that forbids it, as far as one is known to.
    """

    sealed: bool
    reason: str
    linux: bool
    already: bool = False
    required: bool = False
    switch: str | None = None


def look(place: Place) -> SealFacts:
    """Make a network namespace, as a run would, and leave it at once."""
    found = namespace.available(place.environ, timeout=_SECONDS)
    planned = place.chosen.planned
    return SealFacts(
        sealed=found.sealed,
        reason=found.reason,
        linux=sys.platform == "linux",
        already=found.sealed and not found.prefix,
        required=planned is not None and planned.options.seal == "require",
        switch=None if found.sealed else _switch(),
    )


def judge(facts: SealFacts) -> Iterator[Finding]:
    """Can the kernel prove that nothing left?"""
    if facts.sealed:
        how = (
            "this machine has no other network than loopback" if facts.already else "in a network namespace of its own"
        )
        yield ok("sealing.namespace", "sealing", f"a replay is sealed: {how}")
        return
    text = f"a replay is not sealed here: {facts.reason}"
    if facts.required:
        yield missing("sealing.namespace", "sealing", f"{text}; the project asks for it (seal)", _remedy(facts))
        return
    tripwire = "; the recorder's tripwire watches Python code alone"
    yield odd("sealing.namespace", "sealing", text + tripwire, _remedy(facts))


def _remedy(facts: SealFacts) -> str:
    if not facts.linux:
        return "nothing to be done here: CI on Linux seals it, and so does a stack in a container (docker:NAME)"
    if "unshare" in facts.reason and "no `" in facts.reason:
        return "install util-linux, which has `unshare`"
    if facts.switch is not None:
        return f"`sudo sysctl -w {facts.switch}={_BETTER[facts.switch]}`"
    return (
        "allow user namespaces; in a container, by its seccomp profile (`docker run --security-opt seccomp=unconfined`)"
    )


def _switch() -> str | None:
    for name, (path, off) in _SWITCHES.items():
        try:
            if Path(path).read_text(encoding="ascii").strip() == off:
                return name
        except OSError:
            continue
    return None
