"""Record and replay within a `with`, in any Python program: no run, no pytest, no file of a project is needed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from . import install
from . import scope as scopes
from .brain import Brain
from .inject.fault import Fault
from .mode import Mode
from .settings import Provider, Settings

MODE = "STACKPROOF_INFERENCE_MODE"
_OPEN = 0.5  # seconds for a stream that nobody reads on
_IN_FLIGHT = 5.0  # seconds for calls of threads that the block has left behind


class MissedError(Exception):
    """A block has made provider calls that no recording answers. The message has a paragraph for each of them."""


class RecordingInCIError(Exception):
    """A mode that records was asked for where the variable CI is set, and nobody has said that this is meant."""


@dataclass(kw_only=True, slots=True)
class Recorded:
    """What became of the provider calls of a block. All numbers are whole and count from 0; they are final at its end.

    replayed: calls answered from a recording. recorded: calls that went out and whose answers were taken. missed: calls
    that were refused. dropped: answers that are not kept: of such as 429, or since the block failed. written, removed:
    files in the folder; a recording that is equal to what is there is not written again.
    """

    replayed: int = 0
    recorded: int = 0
    missed: int = 0
    dropped: int = 0
    written: int = 0
    removed: int = 0


@contextlib.contextmanager
def recorded(
    folder: str | os.PathLike[str],
    *,
    scope: str,
    mode: Mode | str | None = None,
    providers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
    reachable: Iterable[str] = (),
    faults: Iterable[Fault] = (),
    record_errors: bool = False,
    allow_in_ci: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Recorded]:
    """Record the provider calls of a block into `folder`, or answer them from there.

    Calls through httpx, httpx2, aiohttp, requests and urllib3 are seen, and with them the SDKs on top, sync and async,
    in this process and its threads. The providers that everybody knows (OpenAI, Anthropic, Gemini, …) are known.

    ```python
    import requests

    from stackproof.recorder import recorded

    url = "http://localhost:11434/v1"
    question = {"model": "smollm2:135m", "messages": [{"role": "user", "content": "Hello"}]}
    with recorded("recordings/ollama", scope="greeting", providers={"ollama": url}) as calls:
        answer = requests.post(f"{url}/chat/completions", json=question, timeout=60).json()
    print(answer["choices"][0]["message"]["content"], calls.replayed)
    ```

    The first time it is run with `STACKPROOF_INFERENCE_MODE=record-if-missing`, from then on it needs no model.

    folder: for files as docs/recording-format.md has them; its last part counts as the setup for
    `stackproof recordings …`. scope: whose recordings they are, unique in the folder; equal requests of one scope
    are told apart by their order. mode: a `Mode` or its text; default: the variable STACKPROOF_INFERENCE_MODE, else
    replay. In `record` the recordings of this scope that were not asked for again go; in `live` nothing is installed.
    providers: further ones, name → URL below which calls are recorded; it is not written into files. secrets: names of
    variables whose values must not be in a file. reachable: hosts that replay lets the block call although nothing of
    them is recorded, as "127.0.0.1"; all others are refused. faults: put into replayed answers, from
    `stackproof.faults.parse`. record_errors: keep answers such as 429, too. allow_in_ci: record although the variable
    CI is set. environ: in place of `os.environ`.

    When the block ends with an error nothing is kept, and what was missed is added to the error as a note. Blocks may
    be nested, the innermost is asked; they belong to the process, so that two threads cannot have one each.

    Raises MissedError at the end of a block whose calls were not all answered; ValueError for an unknown mode or scope;
    RecordingInCIError; InstallError where another tool has replaced the same methods, or a library is too old.
    """
    env = os.environ if environ is None else environ
    chosen = _mode(mode, env)
    if chosen.records and env.get("CI", "").lower() not in ("", "0", "false", "no", "off") and not allow_in_ci:
        raise RecordingInCIError(f"mode {chosen} would record, and CI is set; say allow_in_ci=True where that is meant")
    path = os.path.abspath(os.fspath(folder))
    owner, result = _owner(scope), Recorded()
    with tempfile.TemporaryDirectory(prefix="stackproof-") as run_dir:
        settings = Settings(
            mode=chosen,
            recordings=os.path.dirname(path),
            setup=os.path.basename(path),
            run_dir=run_dir,
            run_id=os.path.basename(run_dir),
            project=os.getcwd(),
            integration_root=".",
            providers=tuple(Provider(name=name, prefixes=(url,)) for name, url in (providers or {}).items()),
            secrets=tuple(secrets),
            beside=tuple(reachable),
            faults=tuple(fault.to_data() for fault in faults),
            record_errors=record_errors,
        )
        with install.installed(settings, env) as brain:
            try:
                with _in_force(owner):
                    yield result
            except BaseException as error:
                # What was blocked is both: it need not be said twice.
                if (missed := _settled(brain, owner, result)) and missed != str(error):
                    error.add_note(missed)
                result.dropped += brain.store.drop(owner)
                raise
            missed = _settled(brain, owner, result)
            if missed:
                brain.store.drop(owner)
                raise MissedError(missed)
            _keep(brain, owner, result)


def _mode(mode: Mode | str | None, environ: Mapping[str, str]) -> Mode:
    return Mode.parse(str(mode if mode is not None else environ.get(MODE) or Mode.REPLAY))


def _owner(name: str) -> scopes.Scope:
    """A block counts as a test, so that it has its own recordings, each used once, and faults may happen to it."""
    owner = scopes.Scope(name=name, test_id=name)
    if not name or owner.is_shared:
        raise ValueError(f"{name!r} is no scope of a block: it is empty, 'stack' or a fixture's")
    return owner


@contextlib.contextmanager
def _in_force(owner: scopes.Scope) -> Iterator[None]:
    """For this context and, as long as the block lasts, for threads that have one from before."""
    before = scopes.of_process()
    scopes.set_process_scope(owner)
    try:
        with scopes.use(owner):
            yield
    finally:
        scopes.set_process_scope(before)


def _settled(brain: Brain, owner: scopes.Scope, into: Recorded) -> str:
    """Wait for what is under way, count what was done, and say what was missed; empty for nothing."""
    if brain.settings.mode.calls_out:
        brain.settle(_OPEN, owner.name)
        brain.ledger.wait_for_calls(owner, _IN_FLIGHT)
    brain.ledger.end(owner)
    counts = Counter(str(entry.get("kind")) for entry in brain.ledger.read("calls")[0])
    into.replayed, into.recorded = counts["replayed"], counts["recorded"]
    into.missed, into.dropped = counts["missed"], counts["dropped"]
    return "\n".join(dict.fromkeys(str(entry.get("message")) for entry in brain.ledger.read("misses")[0]))


def _keep(brain: Brain, owner: scopes.Scope, into: Recorded) -> None:
    if not brain.settings.mode.records:
        return
    # Where an answer was not worth keeping, what was recorded before stays: an expired key must not cost good files.
    replace = brain.settings.mode is Mode.RECORD
    into.written, into.removed = brain.store.promote(owner, replace=replace, prune=not into.dropped)
    into.written += brain.store.promote_models()
