"""Tools that answer HTTP calls in tests themselves, and how one sees that a project uses them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """modules: what a project imports of it. sign: what else in a test file shows that it is in use. does: to a call.

    distribution: its normalised name. plugin: its name for `-p no:`.
    """

    name: str
    distribution: str
    modules: tuple[str, ...]
    does: str
    sign: str | None = None
    plugin: str | None = None


TOOLS = (
    Tool(
        name="vcrpy",
        distribution="vcrpy",
        modules=("vcr",),
        does="records and answers below httpx, aiohttp and urllib3 itself",
    ),
    Tool(
        name="pytest-recording",
        distribution="pytest-recording",
        modules=("pytest_recording",),
        plugin="recording",
        does="records with vcrpy where a test is marked `vcr`",
        sign=r"mark\.(?:vcr|block_network|default_cassette)\b",
    ),
    Tool(
        name="respx",
        distribution="respx",
        modules=("respx",),
        does="answers httpx before a call reaches the recorder",
        sign=r"\brespx_mock\b",
    ),
    Tool(
        name="pytest-httpx",
        distribution="pytest-httpx",
        modules=("pytest_httpx",),
        plugin="pytest_httpx",
        does="puts itself in the place of httpx's transports, where the recorder is",
        sign=r"\bhttpx_mock\b",
    ),
    Tool(
        name="responses",
        distribution="responses",
        modules=("responses",),
        does="answers requests before a call reaches the recorder",
    ),
    Tool(
        name="requests-mock",
        distribution="requests-mock",
        modules=("requests_mock",),
        plugin="requests_mock",
        does="answers requests before a call reaches the recorder",
        sign=r"\brequests_mock\b",
    ),
    Tool(
        name="aioresponses",
        distribution="aioresponses",
        modules=("aioresponses",),
        does="takes over aiohttp's own request method, where the recorder is",
    ),
    Tool(
        name="HTTPretty",
        distribution="httpretty",
        modules=("httpretty",),
        does="takes over Python's sockets, the stack's among them",
    ),
    Tool(
        name="mocket",
        distribution="mocket",
        modules=("mocket",),
        does="takes over Python's sockets, the stack's among them",
    ),
    Tool(
        name="pook",
        distribution="pook",
        modules=("pook",),
        does="answers urllib3, aiohttp and httpx before a call reaches the recorder",
    ),
    Tool(
        name="betamax",
        distribution="betamax",
        modules=("betamax",),
        does="records through requests' adapters, before a call reaches the recorder",
    ),
    Tool(
        name="cassetter", distribution="cassetter", modules=("cassetter",), does="records below HTTP libraries itself"
    ),
    Tool(
        name="ddtrace", distribution="ddtrace", modules=("ddtrace",), does="wraps methods of httpx, aiohttp and urllib3"
    ),
)
