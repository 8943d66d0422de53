"""The commands that lead from the written files to a verdict, as they can be typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from stackproof.adopting import installing
from stackproof.adopting.drafting import Drafted
from stackproof.adopting.found import Found, Framework
from stackproof.adopting.wishes import Wishes

# SDKs that take their URL from the variable that the built-in setup has for it.
_TOLD_BY_VARIABLE = frozenset(
    {"openai", "anthropic", "@anthropic-ai/sdk", "langchain_openai", "langchain_anthropic", "litellm", "agents"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One job, and what to type for it. instead: another way to do it."""

    says: str
    commands: tuple[str, ...]
    instead: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Here:
    """What only the machine tells. missing: modules that the Python of this command lacks. dotenv: there is a file
    .env; lock: one package-lock.json. git: in a repository. uncommitted: what is there beside our files and in no
    commit; left_out: of that what should be in none.
    """

    missing: tuple[str, ...] = ()
    dotenv: bool = False
    git: bool = True
    lock: bool = False
    uncommitted: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def steps(found: Found, wishes: Wishes, drafted: Drafted, here: Here) -> tuple[Step, ...]:
    """All of them, in order."""
    return tuple(_steps(found, wishes, drafted, here))


def _steps(found: Found, wishes: Wishes, drafted: Drafted, here: Here) -> Iterator[Step]:
    run, runner = _run(found, wishes, drafted), installing.RUNNERS[found.manager]
    if commands := installing.at_home(found, wishes, drafted.start, here.missing):
        yield Step(says="Install what is not there, in the environment of your software", commands=commands)
    if found.framework is Framework.NODE:
        yield Step(says="Install the packages of the server", commands=("npm ci" if here.lock else "npm install",))
    yield from _recording(found, drafted, run, dotenv=here.dotenv)
    yield Step(says="Replay: no key, no network, every time the same", commands=(run,))
    yield Step(says="Say that these are the tests to expect", commands=(f"{runner}stackproof policy update",))
    yield from _committing(drafted, here, runner)


def _recording(found: Found, drafted: Drafted, run: str, *, dotenv: bool) -> Iterator[Step]:
    secrets = drafted.setup.secrets
    given = ["set -a; . ./.env; set +a"] if secrets and dotenv else [f"export {name}=…" for name in secrets]
    given += [f"export {name}=…" for name in drafted.setup.needs]
    yield Step(
        says=f"Record once, with real calls{_with(secrets)}", commands=(*given, f"{run} --inference-mode record")
    )
    if local(found):
        yield Step(
            says="Or without a key: a small local model answers (139 MB, fetched once)",
            commands=(f"{run} --provider-service llama-cpp --inference-mode record",),
            instead=True,
        )


def _committing(drafted: Drafted, here: Here, runner: str) -> Iterator[Step]:
    commands = [] if here.git else ["git init"]
    if here.left_out:
        commands.append(f"printf '%s\\n' {' '.join(map(shlex.quote, here.left_out))} >> .gitignore")
    others = [*here.uncommitted, *([".gitignore"] if here.left_out and ".gitignore" not in here.uncommitted else [])]
    if others:
        yield Step(
            says="A verdict is about a commit: keep what is yours and not committed yet",
            commands=(*commands, f"git add {' '.join(map(shlex.quote, others))}"),
        )
        commands = []
    commands += [
        f"git add {' '.join(map(shlex.quote, _paths(drafted)))}",
        "git commit -m 'Test with Stackproof'",
        f"{runner}stackproof verify-release",
    ]
    yield Step(says="Keep it all, then ask whether it may go out", commands=tuple(commands))


def local(found: Found) -> bool:
    """Whether a model server on this machine can stand in for all providers that the code calls, and gets the calls."""
    return bool(found.clients) and all(
        client.url is not None
        or (client.literal is None and client.sdk in _TOLD_BY_VARIABLE and client.provider in ("openai", "anthropic"))
        for client in found.clients
    )


def _run(found: Found, wishes: Wishes, drafted: Drafted) -> str:
    """With suite and stack only where the project has several."""
    words = [f"{installing.RUNNERS[found.manager]}stackproof", "run"]
    if [each for each in found.stacks if each != wishes.name]:
        words += ["--suite", wishes.name, "--stack-config", drafted.cell]
    return " ".join(words)


def _with(secrets: tuple[str, ...]) -> str:
    return "" if not secrets else " and your key" if len(secrets) == 1 else " and your keys"


def _paths(drafted: Drafted) -> list[str]:
    tops = [draft.path.partition("/")[0] for draft in drafted.drafts]
    return list(dict.fromkeys([*tops, "recordings"]))
