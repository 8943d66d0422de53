"""Cassettes of vcrpy, pytest-recording and pytest-vcr: each interaction is one call, in the order of the cassette.

Answers keep the ids that the provider gave: in a test of several steps the later requests carry these very ids, both in
the cassette and when the test runs again, so replacing them in the answers alone would part the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from stackproof.catalog.records import SetupSpec
from stackproof.recorder import interaction
from stackproof.recorder.identity import describe
from stackproof.recorder.providers import Providers, Target
from stackproof.recorder.scope import Scope
from stackproof.recordings.importing import addressee, vcr_body, vcr_file, vcr_interaction, vcr_owner
from stackproof.recordings.importing.answer import response_of
from stackproof.recordings.importing.imported import Choices, Imported, RefusedSource, Source
from stackproof.recordings.importing.vcr_interaction import Exchange
from stackproof.recordings.importing.vcr_owner import Owner

NAME = "vcr"
SUFFIXES: tuple[str, ...] = (".yaml", ".yml", ".json")


def recognises(source: Source) -> bool:
    """Whether the content is a cassette, of a version that is read or not."""
    return vcr_file.looks_like_one(source.raw)


def read(source: Source, choices: Choices) -> Iterator[Imported | RefusedSource]:
    """The calls of a cassette. RefusedSource for the file: it is no cassette, or nobody can tell whose it is."""
    found = vcr_file.interactions(source.raw)
    owner = _owner(source, choices)
    for number, raw in enumerate(found, start=1):
        try:
            yield _imported(vcr_interaction.read(raw), number, owner, choices)
        except RefusedSource as refused:
            yield RefusedSource(str(refused), number=number)


def _owner(source: Source, choices: Choices) -> Owner:
    if choices.test is not None:
        return Owner(test_id=choices.test)
    below_project = source.path.is_relative_to(choices.project)
    base = choices.project if below_project else source.path.parents[source.name.count("/")]
    owner = vcr_owner.of(source.path, base)
    return replace(owner, test_id=choices.renamed(owner.test_id))


def _imported(exchange: Exchange, number: int, owner: Owner, choices: Choices) -> Imported:
    setup, target = _addressee(exchange.url, choices)
    if target.gives_tokens:
        raise RefusedSource("it gives out tokens")
    reason = interaction.reason_against(response_of(exchange.answer), record_errors=choices.record_errors)
    if reason is not None:
        raise RefusedSource(reason)
    content_type = exchange.headers.get("content-type", "")
    form = describe(
        provider="", method="", path="", query="", content_type=content_type, body=exchange.body
    )["body"]  # fmt: skip
    if not exchange.is_rewritten and vcr_body.was_changed(exchange.body, exchange.headers, form):
        raise RefusedSource("its request's body is not what was sent (content-length differs): it was filtered or lost")
    provenance = {"recorded_at": exchange.recorded_at, "sdk": exchange.headers.get("user-agent")}
    is_streamed = "text/event-stream" in exchange.answer.headers.get("content-type", "")
    return Imported(
        kind=f"{target.provider}, stream" if is_streamed else target.provider,
        scope=Scope(name=owner.test_id, test_id=owner.test_id),
        setup=setup,
        target=target,
        method=exchange.method,
        content_type=content_type,
        body=exchange.body,
        answer=exchange.answer,
        repeats=True,
        provenance={key: value for key, value in provenance.items() if value},
        number=number,
        lost=(*exchange.lost, *([vcr_owner.GUESSED] if owner.is_guess else [])),
    )


def _addressee(url: str, choices: Choices) -> tuple[SetupSpec, Target]:
    """Who was called. A cassette holds whatever a test asked for, so a chosen setup makes no host a provider's."""
    if choices.provider is None and Providers.is_token_endpoint(url):
        raise RefusedSource("it gives out tokens")
    if choices.setup is None or choices.provider is not None:
        return addressee.find(url, choices)
    only: Mapping[str, SetupSpec] = {choices.setup.name: choices.setup}
    try:
        return addressee.find(url, replace(choices, setup=None, setups=only))
    except RefusedSource as refused:
        if "no setup has a provider" not in str(refused):
            raise
        host = urlsplit(url).netloc.rpartition("@")[2]
        reason = f"{host} is no provider of setup {choices.setup.name!r}; --provider says whose it is"
        raise RefusedSource(reason) from None
