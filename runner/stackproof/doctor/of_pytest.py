"""pytest: its version, whether our plugin is there once, and what the project's configuration adds to every call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor.finding import Finding, missing, odd, ok, some
from stackproof.doctor.place import Place
from stackproof.doctor.pytest_config import PytestConfig, Word
from stackproof.recorder.patching import version_of

_OLDEST = (8, 3)
_OURS = ("stackproof", "stackproof.pytest_plugin")
_MARKERS = ("claim", "fault")
_SELECTING = ("--lf", "--last-failed", "--sw", "--stepwise", "-k", "-m", "--deselect", "--ignore", "--ignore-glob")
_NOTHING = ("--collect-only", "--co", "--setup-only", "--setup-plan", "--fixtures", "--markers")
_ENDING = ("-x", "--exitfirst", "--maxfail")
_WORKERS = ("-n", "--numprocesses", "--dist", "--tx")
_REPORTS = ("--junitxml", "--junit-xml")


@dataclass(frozen=True, kw_only=True, slots=True)
class PytestFacts:
    """version: None where pytest is not installed. entry_points: how many installed packages offer our plugin.

    named_in: conftest files that name our plugin as one of theirs. plugins: what else is installed for pytest.
    """

    version: str | None
    config: PytestConfig
    entry_points: int
    named_in: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()


def look(place: Place) -> PytestFacts:
    """Read metadata, the configuration, and conftest files; pytest itself is not imported."""
    offering = [item for item in place.distributions if _offers_plugin(item.folder)]
    return PytestFacts(
        version=place.version("pytest"),
        config=place.pytest_config,
        entry_points=len({item.folder for item in offering if item.name == "stackproof"}),
        named_in=tuple(
            file.name
            for file in place.sources.conftests
            if "stackproof.pytest_plugin" in file.text and "pytest_plugins" in file.text
        ),
        plugins=tuple(dict.fromkeys(item.name for item in offering if item.name != "stackproof")),
    )


def _offers_plugin(folder: Path) -> bool:
    try:
        return "[pytest11]" in (folder / "entry_points.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def judge(facts: PytestFacts) -> Iterator[Finding]:
    """Will the project's tests run under it, with the plugin, all of them?"""
    yield from _itself(facts)
    yield from _plugin(facts)
    yield from _words(facts.config)
    for marker in _MARKERS:
        if marker in facts.config.markers:
            yield odd(
                "pytest.marker",
                f"marker {marker!r}",
                f"is declared in {facts.config.file}, and is one of Stackproof's: a test that has it is taken for one "
                "of " + ("a claim" if marker == "claim" else "a fault on the wire"),
                "give the project's own another name, unless Stackproof's is meant",
            )


def _itself(facts: PytestFacts) -> Iterator[Finding]:
    if facts.version is None:
        yield missing(
            "pytest.version", "pytest", "is not installed in this environment", "`python -m pip install pytest`"
        )
    elif version_of(facts.version) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        yield missing(
            "pytest.version",
            f"pytest {facts.version}",
            f"is older than Stackproof's plugin can work with, which is {oldest}",
            f"`python -m pip install 'pytest>={oldest}'`",
        )
    else:
        others = f"; beside ours it has {some(facts.plugins, 6)}" if facts.plugins else ""
        yield ok(
            "pytest.version", f"pytest {facts.version}", f"is configured in {facts.config.file or 'no file'}{others}"
        )
    if facts.config.problem is not None:
        yield missing(
            "pytest.config", "pytest", f"cannot read its configuration: {facts.config.problem}", "correct that file"
        )
    wanted = facts.config.ini.get("minversion", "")
    if facts.version is not None and version_of(wanted) > version_of(facts.version):
        yield missing(
            "pytest.minversion",
            f"pytest {facts.version}",
            f"is older than minversion in {facts.config.file}, {wanted}",
            f"`python -m pip install 'pytest>={wanted}'`",
        )


def _plugin(facts: PytestFacts) -> Iterator[Finding]:
    for name, word in facts.config.without_plugins():
        if name in _OURS:
            yield odd(
                "pytest.plugin-off",
                f"-p no:{name}",
                f"in {word.source} switches Stackproof's plugin off: pytest alone, or from an editor, replays nothing",
                "take it out",
            )
        elif name == "timeout":
            yield odd(
                "pytest.plugin-timeout",
                f"-p no:{name}",
                f"in {word.source}: --test-timeout is an option that pytest does not know then",
                "take it out, or do without --test-timeout",
            )
    twice = [word.source for name, word in facts.config.with_plugins() if name == "stackproof.pytest_plugin"]
    twice += [name for name in facts.config.plugins if name == "stackproof.pytest_plugin" and not twice]
    for source in (*facts.named_in, *twice):
        yield missing(
            "pytest.plugin-twice",
            "stackproof.pytest_plugin",
            f"is named in {'PYTEST_PLUGINS' if source.startswith('stackproof') else source}, and pytest loads it by "
            "itself too: it refuses the second",
            "take it out: an installed plugin needs no name",
        )
    if not facts.entry_points:
        yield odd(
            "pytest.plugin-absent",
            "the plugin",
            "is not registered by any installed package, so pytest by itself does not know of Stackproof",
            "install Stackproof with pip, instead of putting its folder on the import path",
        )
    elif not facts.config.autoload and not any(name in _OURS for name, _ in facts.config.with_plugins()):
        yield odd(
            "pytest.autoload",
            "plugins",
            "are not loaded by themselves here (PYTEST_DISABLE_PLUGIN_AUTOLOAD, --disable-plugin-autoload): "
            "pytest alone replays nothing",
            "add `-p stackproof` to addopts, and the other plugins that the tests need",
        )
    else:
        yield ok("pytest.plugin", "the plugin", "is registered once")


def _words(config: PytestConfig) -> Iterator[Finding]:
    """Options that are given to every pytest, also to that of a run."""
    if (word := config.has(*_NOTHING)) is not None:
        yield missing(
            "pytest.runs-nothing", word.text, f"in {word.source} keeps pytest from running a test", "take it out"
        )
    for word in config.words:
        name = word.text.partition("=")[0]
        # `-kname` and `-m=name`, but no `-m` in the middle of a longer option.
        short = word.text[:2] if word.text[:2] in ("-k", "-m") and not word.text.startswith("--") else name
        if short in _SELECTING:
            yield odd(
                "pytest.leaves-out",
                short,
                f"in {word.source} leaves tests out of every run, which the verdict then calls missing",
                "choose tests where they are run: --file, --pattern, or behind `--`",
            )
        elif name in _ENDING:
            yield odd(
                "pytest.ends-early",
                name,
                f"in {word.source} ends a run at a failure, and the tests behind it are not proven",
                "give it where it is wanted: behind `--`",
            )
        elif name in _REPORTS:
            yield odd(
                "pytest.report",
                name,
                f"in {word.source} is given way to: a run writes its report into its own folder",
                "copy the report from .stackproof/runs, or keep the option for runs without Stackproof",
            )
    if (word := config.has(*_WORKERS)) is not None or (word := _glued(config)) is not None:
        yield odd(
            "pytest.workers",
            word.text,
            f"in {word.source} spreads every run over processes: in library mode each of them starts the stack, and "
            "recording with several is slower to read",
            '`--workers N` says it for one run, `workers = "N"` in [tool.stackproof] for all',
        )


def _glued(config: PytestConfig) -> Word | None:
    return next((word for word in config.words if word.text[:2] == "-n" and word.text[2:].isalnum()), None)
