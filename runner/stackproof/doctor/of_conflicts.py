"""Other tools that answer HTTP calls in this project's tests, or take over names of ours: two cannot both answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackproof.doctor.finding import Finding, missing, odd, ok
from stackproof.doctor.place import Place
from stackproof.doctor.sources import Source, Sources
from stackproof.doctor.tools import TOOLS, Tool

_SOCKET = "pytest-socket"
FIXTURES = frozenset(
    {
        "stack", "openai_client", "async_openai_client", "anthropic_client", "async_anthropic_client", "http_client",
        "text_model", "tool_model", "vision_model", "embedding_model", "embedding_dimension", "rerank_model",
        "safety_model", "judge_model", "claim", "live_model",
    }
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """A tool in use. everywhere: from a conftest.py or the configuration, so for every test below."""

    tool: Tool
    where: str
    everywhere: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ConflictFacts:
    """uses: of tools, in tests of the suites or above them. idle: tools that are installed and nowhere in use.

    sockets: what gives pytest-socket the order to block them, and whether loopback is excepted. server: a plain run
    calls the stack through a socket. fixtures: names of ours that a file of the project defines, with the line.
    """

    uses: tuple[Use, ...] = ()
    idle: tuple[str, ...] = ()
    sockets: str | None = None
    loopback_allowed: bool = True
    server: bool = False
    network: str | None = None
    fixtures: tuple[tuple[str, str], ...] = ()


def look(place: Place) -> ConflictFacts:
    """Read test files and pytest's configuration."""
    config, known = place.pytest_config, place.chosen.known
    root = known.integration_root if known is not None else "tests/integration"
    uses = tuple(_uses(place.sources, root))
    used = {use.tool.name for use in uses}
    idle = [tool for tool in TOOLS if tool.name not in used and place.version(tool.distribution) is not None]
    blocked = config.has("--disable-socket")
    hosts = next((word.text for word in config.words if word.text.startswith("--allow-hosts")), "")
    cells = place.chosen.planned.cells if place.chosen.planned is not None else ()
    network = config.has("--block-network", "--record-mode", "--vcr-record")
    return ConflictFacts(
        uses=uses,
        idle=tuple(tool.name for tool in idle),
        sockets=None if blocked is None or place.version(_SOCKET) is None else blocked.source,
        loopback_allowed="127.0.0.1" in hosts or "localhost" in hosts,
        server=any(cell.mode.stack_type == "server" for cell in cells),
        network=None if network is None else f"{network.text} in {network.source}",
        fixtures=tuple(_fixtures(place.sources, root)),
    )


def judge(facts: ConflictFacts) -> Iterator[Finding]:
    """Does anybody else answer the calls of the suites' tests?"""
    for use in facts.uses:
        yield odd(
            "conflicts.transport",
            use.tool.name,
            f"is used in {use.where}: it {use.tool.does}" + (", for every test below it" if use.everywhere else ""),
            "keep it to tests outside of the suites, or take a recording for what it answers"
            + ("; for cassettes: stackproof docs import-vcr" if use.tool.name in ("vcrpy", "pytest-recording") else ""),
        )
    if facts.network is not None:
        yield odd(
            "conflicts.network",
            "vcrpy",
            f"is told what to do for every test: {facts.network}",
            "keep the option to runs without Stackproof",
        )
    if facts.sockets is not None:
        make = missing if facts.server and not facts.loopback_allowed else odd
        yield make(
            "conflicts.sockets",
            _SOCKET,
            f"blocks sockets (--disable-socket in {facts.sockets})"
            + ("" if facts.loopback_allowed else ", that of the stack on 127.0.0.1 too"),
            "a replay blocks what leaves the machine itself: take it out, or add `--allow-hosts=127.0.0.1,::1 "
            "--allow-unix-socket`",
        )
    for name, where in facts.fixtures:
        yield odd(
            "conflicts.fixture",
            f"fixture {name}",
            f"is defined in {where}, and is taken in place of Stackproof's",
            "nothing, if it is meant so; else give it another name",
        )
    if not (facts.uses or facts.sockets or facts.network):
        idle = f"; installed, and not in use in the suites: {', '.join(facts.idle)}" if facts.idle else ""
        yield ok("conflicts.none", "conflicts", f"nobody else answers HTTP calls in the suites' tests{idle}")


def _uses(sources: Sources, root: str) -> Iterator[Use]:
    for tool in TOOLS:
        for file in sources.files:
            if not _concerns(file.name, root):
                continue
            line = next((line for _, line in file.imports_of(*tool.modules)), None)
            if (
                line is None
                and tool.sign is not None
                and file.name.rpartition("/")[2].startswith(("test_", "conftest"))
            ):
                line = file.line_of(re.compile(tool.sign))
            if line is not None:
                everywhere = file.name.endswith("conftest.py")
                yield Use(tool=tool, where=f"{file.name}:{line}", everywhere=everywhere)
                break


def _concerns(name: str, root: str) -> bool:
    """Whether a file has to do with tests of suites: it lies among them, or is a conftest.py above."""
    folder = name.rpartition("/")[0]
    return f"{folder}/".startswith(f"{root}/") or (
        name.endswith("conftest.py") and f"{root}/".startswith(f"{folder}/" if folder else "")
    )


def _fixtures(sources: Sources, root: str) -> Iterator[tuple[str, str]]:
    for file in sources.files:
        if (
            not _concerns(file.name, root)
            or "fixture" not in file.text
            or not any(name in file.text for name in FIXTURES)
        ):
            continue
        yield from _defined(file)


def _defined(file: Source) -> Iterator[tuple[str, str]]:
    tree = file.tree()
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in FIXTURES:
            continue
        if any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield node.name, f"{file.name}:{node.lineno}"
