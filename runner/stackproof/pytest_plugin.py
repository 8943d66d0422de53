"""The pytest plugin: the same tests run in a run of `stackproof`, under plain pytest, and one by one from an editor.

It is installed for every pytest of an environment, so it does nothing, and imports nothing, before it is sure that
there are integration tests of a Stackproof project to run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from stackproof.faults.claim import ClaimUnderTest
    from stackproof.plugin.session import PluginSession

T = TypeVar("T")
_SESSION: pytest.StashKey[PluginSession] = pytest.StashKey()
_SUITES = Path("tests") / "suites.yaml"


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Offer the fixtures before a project's own are known: of two with one name pytest takes the later one."""
    _offer(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Offer the fixtures where they may be needed; in a run, begin at once."""
    config.addinivalue_line("markers", "claim(name): the claim of claims.yaml that this test serves")
    config.addinivalue_line("markers", "fault(spec, …): a fault in replayed answers, 'cut:3': stackproof docs faults")
    if _offer(config) and _in_run() and not config.option.collectonly:
        _begin(config)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where nothing is replayed no fault can happen, and a test that is marked with one must not pass without it."""
    if item.get_closest_marker("fault") is not None and _SESSION not in item.config.stash:
        pytest.fail(
            f"{item.nodeid}: faults are injected into replayed provider calls, and no suite of Stackproof runs here",
            pytrace=False,
        )


@pytest.fixture
def claim(request: pytest.FixtureRequest) -> ClaimUnderTest:
    """The claim that `@pytest.mark.claim("name")` names, to be told what the test observed. Any project has it."""
    from stackproof.plugin import claiming

    return claiming.of_test(request.node)


def _offer(config: pytest.Config) -> bool:
    """Whether there may be tests of ours; then the fixtures are there."""
    if not _in_run() and not (config.rootpath / _SUITES).is_file():
        return False
    fixtures = _or_end(lambda: import_module("stackproof.fixtures"))
    if not config.pluginmanager.is_registered(fixtures):
        config.pluginmanager.register(fixtures, "stackproof-fixtures")
    return True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that makes real calls runs once for each model that is asked for."""
    if "live_model" in metafunc.fixturenames and metafunc.config.pluginmanager.has_plugin("stackproof-fixtures"):
        from stackproof.plugin import live

        live.parametrize(metafunc)


def pytest_itemcollected(item: pytest.Item) -> None:
    """One that is not to make them is skipped with what is missing, before anything is started for it."""
    if "live_model" in getattr(item, "fixturenames", ()) and item.config.pluginmanager.has_plugin(
        "stackproof-fixtures"
    ):
        from stackproof.plugin import live

        live.mark(item)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Alone, begin before the tests are collected where something would come too late afterwards.

    With xdist the controller starts the stack before it starts workers, which inherit its variables. A stack in this
    process is imported with the tests, and both may look for their variables as they are: `skipif` a key is missing.
    """
    config = session.config
    if _in_run() or _is_worker(config) or not (config.rootpath / _SUITES).is_file() or config.option.collectonly:
        return
    root = config.rootpath / _integration_root(config)
    if not any(_overlap(Path(config.invocation_params.dir, arg.partition("::")[0]), root) for arg in config.args):
        return
    if workers := getattr(config.option, "numprocesses", None):
        _begin(config, workers=str(workers))
    elif _or_end(lambda: _in_this_process(config)):
        _begin(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """What tests of ours import, SDKs above all, is no garbage."""
    if not session.config.pluginmanager.has_plugin("stackproof-fixtures"):
        return (yield)
    from stackproof import garbage

    with garbage.no_search():
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a shard, keep its part of what is left when everybody else has picked theirs."""
    if not _in_run():
        return
    from stackproof.plugin import sharding

    _or_end(lambda: sharding.divide(config, items, Path(os.environ["STACKPROOF_RUN_DIR"])))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Alone, the tests that were collected tell whether there is anything to do."""
    config = session.config
    if config.option.collectonly:
        if _in_run() and not _is_worker(config):
            _list(session)
        return
    if not (config.rootpath / _SUITES).is_file():
        return
    root = _integration_root(config).rstrip("/") + "/"
    if _SESSION not in config.stash and any(item.nodeid.startswith(root) for item in session.items):
        _begin(config)
    if _SESSION in config.stash and not _is_worker(config) and not getattr(config.option, "numprocesses", None):
        config.stash[_SESSION].collected([item.nodeid for item in session.items])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Under xdist, tell a worker what the environment was before."""
    if _SESSION in node.config.stash:
        from stackproof.plugin.session import OUTSIDE

        node.workerinput[OUTSIDE] = node.config.stash[_SESSION].outside


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Under xdist the workers collect, all the same tests."""
    if _SESSION in node.config.stash:
        node.config.stash[_SESSION].collected(ids)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, Any, Any]:
    """Keep what is to be kept, and count: after the last fixture's teardown, before the terminal's summary."""
    result = yield
    if _SESSION in session.config.stash:
        status = session.config.stash[_SESSION].finish(int(session.exitstatus))
        if status is not None:
            session.exitstatus = status
    return result


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was recorded, replayed, missed and left unused."""
    if _SESSION in config.stash:
        lines = config.stash[_SESSION].summary
        if lines:
            terminalreporter.write_sep("=", "stackproof")
            for line in lines:
                terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Whatever happened: nothing that was started or patched stays."""
    if _SESSION in config.stash:
        config.stash[_SESSION].close()
    if _in_run() and not _is_worker(config):
        from stackproof.stack.handle import OVER

        # What a Python takes to end itself, a container can use to do the same.
        with contextlib.suppress(OSError):
            (Path(os.environ["STACKPROOF_RUN_DIR"]) / OVER).touch()


def _list(session: pytest.Session) -> None:
    """Write down for the run which tests there are, since none is going to run."""
    from stackproof.plugin.journal import Journal

    journal = Journal(Path(os.environ["STACKPROOF_RUN_DIR"]) / "tests.jsonl")
    journal.collected([item.nodeid for item in session.items])
    journal.close()


def _begin(config: pytest.Config, *, workers: str | None = None) -> None:
    from stackproof.plugin.session import PluginSession

    session = _or_end(lambda: PluginSession.open(config, workers=workers))
    config.stash[_SESSION] = session
    session.register()


def _in_this_process(config: pytest.Config) -> bool:
    from stackproof.plugin import opening

    return opening.in_this_process(config.rootpath, dict(os.environ))


def _or_end(make: Callable[[], T]) -> T:
    """What `make` gives; an expected error of it is said, and ends pytest with its code."""
    from stackproof import disk
    from stackproof.errors import StackproofError, lacking_posix

    try:
        return make()
    except (StackproofError, OSError, ImportError) as error:
        told = error if isinstance(error, StackproofError) else None
        if isinstance(error, OSError):
            told = disk.refusal(error, near=Path(os.environ.get("STACKPROOF_RUN_DIR") or "."))
        elif isinstance(error, ImportError):
            told = lacking_posix(error)
        if told is None:
            raise
        hint = f"\n  {told.hint}" if told.hint else ""
        pytest.exit(f"stackproof: {told.message}{hint}", returncode=int(told.exit_code))


def _in_run() -> bool:
    return "STACKPROOF_CHILD" in os.environ and "STACKPROOF_RECORDER" in os.environ


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _integration_root(config: pytest.Config) -> str:
    from stackproof import catalog

    return _or_end(lambda: catalog.load(config.rootpath).integration_root)


def _overlap(path: Path, root: Path) -> bool:
    path, root = path.resolve(), root.resolve()
    return path.is_relative_to(root) or root.is_relative_to(path)
