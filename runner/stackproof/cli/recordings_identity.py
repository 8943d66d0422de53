"""`stackproof recordings identity`: which recording a request would have, and whether it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from stackproof import console, options, provider_urls
from stackproof.catalog.records import SetupSpec
from stackproof.cli import completing, recordings_find, recordings_form
from stackproof.cli import recordings_words as words
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_form import titled
from stackproof.cli.recordings_words import Room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.options import RunOptions
from stackproof.recorder.canonical import canonical
from stackproof.recorder.identity import digest
from stackproof.recorder.interaction import Call
from stackproof.recorder.scope import STACK_NAME
from stackproof.recorder.settings import Provider
from stackproof.recorder.store import MODELS
from stackproof.recordings import finding, folding, identifying
from stackproof.recordings.finding import Asked, Findings
from stackproof.recordings.folding import Active
from stackproof.recordings.identifying import Described
from stackproof.recordings.wording import json_text


@click.command("identity")
@click.option(
    "--setup", shell_complete=completing.setup, metavar="NAME", help="Whose providers and rules. Default: as for a run."
)
@click.option(
    "--suite", shell_complete=completing.suite, metavar="NAME", help="Whose rules, too. Default: that of the test."
)
@click.option(
    "--test",
    shell_complete=completing.tests,
    metavar="NODEID",
    default=STACK_NAME,
    help="Whose call. Default: the stack's own.",
)
@click.option("--url", metavar="URL", help="A URL below one of a provider's; {NAME} is the value of a variable.")
@click.option("--provider", metavar="NAME", help="In place of a URL: who is called.")
@click.option("--path", metavar="PATH", help="With --provider: the path below its URL, and the query.")
@click.option("--method", metavar="METHOD", default="", help="Default: POST with a body, else GET.")
@click.option(
    "--header", metavar="'NAME: VALUE'", multiple=True, help="Only the content type matters. May be repeated."
)
@click.option("--body", metavar="TEXT|@FILE|-", help="What is sent; - reads it from standard input.")
@click.option("--full", is_flag=True, help="The body in full.")
@words.recording_dir_option
@json_option
@click.pass_obj
def identity(around: Surroundings, /, recording_dir: str | None, **given: Any) -> ExitCode:
    """Compute which recording a request has, and tell whether it is there.

    Exit code 0 when a call would find it, 6 when not.
    """
    where = words.room(around, recording_dir)
    named = {name: given[name] for name in ("setup", "suite") if given[name]}
    chosen = options.resolve(named, around.environ, around.project)
    setup = _setup(where, chosen)
    values = {**setup.env, **{name: value for name, value in around.environ.items() if value}}
    active = _active(where, setup.name, given["suite"], given["test"])
    call = identifying.identify(
        _described(given, where.project),
        scope=given["test"],
        providers=_providers(setup, chosen, values),
        values=values,
        active=active.rules,
    )
    found = _find(where, setup.name, call)
    if given["as_json"]:
        console.out(json_text({"schema": 1, **_facts(where, setup.name, active, call, found)}))
    else:
        for line in _lines(where, setup.name, active, call, found, full=given["full"]):
            console.told(line)
    return ExitCode.PASS if found.is_there else ExitCode.RECORDINGS


def _setup(where: Room, chosen: RunOptions) -> SetupSpec:
    asked = chosen.setup
    if asked is None:
        suite = where.catalog.suites.get(chosen.suite)
        if suite is None:
            raise UsageError("no setup is named", hint="name one with --setup NAME; `stackproof setups` lists them")
        asked = suite.default_setup
    if "," in asked:
        raise UsageError(
            f"{chosen.origin('setup')}: {asked!r} is several setups, and one request is looked up in one of them",
            hint="name one with --setup NAME",
        )
    return where.catalog.setup(asked, where=chosen.origin("setup"))


def _providers(setup: SetupSpec, chosen: RunOptions, values: Mapping[str, str]) -> Sequence[Provider]:
    extra = tuple(Provider(name=name, prefixes=prefixes) for name, prefixes in chosen.providers.items())
    return provider_urls.of_setup(setup, values) + extra


def _active(where: Room, setup: str, suite: str | None, test: str) -> Active:
    own = where.catalog.setups[setup].rules
    if suite is not None:
        return Active(suite=suite, rules=own + where.catalog.suite(suite, where="--suite").rules)
    if test == STACK_NAME:
        return Active(suite="", rules=own)
    several = folding.active(where.catalog, setup, test)
    if len(several) > 1:
        names = ", ".join(those.suite for those in several)
        raise UsageError(f"{test} is in suites with different rules: {names}", hint="name one with --suite NAME")
    return several[0]


def _described(given: Mapping[str, Any], project: Path) -> Described:
    headers = {}
    for text in given["header"]:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"--header: {text!r} is no header", hint="write it as 'content-type: application/json'")
        headers[name.strip().lower()] = value.strip()
    return Described(
        url=given["url"],
        provider=given["provider"],
        path=given["path"],
        method=given["method"],
        headers=headers,
        body=_body(given["body"], project),
    )


def _body(text: str | None, project: Path) -> bytes:
    if text is None:
        return b""
    if text == "-":
        return sys.stdin.buffer.read()
    if not text.startswith("@"):
        return text.encode("utf-8", "surrogateescape")
    try:
        return (project / text[1:]).read_bytes()
    except OSError as error:
        raise UsageError(
            f"--body: {text[1:]} cannot be read: {error.strerror}",
            hint="@FILE takes a path below the project; text without @ is the body itself",
        ) from error


def _find(where: Room, setup: str, call: Call) -> Findings:
    identity_ = call.identity
    asked = Asked(scope=identity_.scope, request=identity_.request, number=1)
    if call.asks_for_models:
        asked = Asked(request=identity_.request)
    integration_root = where.catalog.integration_root
    scope = STACK_NAME if call.asks_for_models else call.scope.name
    found = Findings(asked=asked, scope=scope, places=(), hits=(), elsewhere=())
    if where.root.is_dir():
        found = finding.find(
            where.root, asked, setups=(), integration_root=integration_root, known_scopes=(call.scope.name,)
        )
    here = tuple(hit for hit in found.hits if hit.entry.setup == setup)
    places = finding.places(where.root, scope, setups=(setup,), integration_root=integration_root, hits=here)
    others = tuple(hit for hit in found.hits if hit.entry.setup != setup)
    return replace(found, scope=scope, places=places, hits=here, elsewhere=(*others, *found.elsewhere))


def _name(call: Call) -> str:
    return f"{MODELS}-{call.identity.request[:20]}-*.json" if call.asks_for_models else call.identity.file_name()


def _lines(where: Room, setup: str, active: Active, call: Call, found: Findings, *, full: bool) -> Iterator[str]:
    if call.asks_for_models:
        yield from titled("scope", ["none: a list of models answers whoever asks for it"])
    else:
        yield from recordings_form.scope(call.scope.name, call.identity)
    yield from recordings_form.request(call.form, call.identity, full=full)
    yield from titled("rules", [*recordings_form.in_force(where.catalog, setup, [active]), *_acted(call)])
    yield from titled("name", [_name(call)])
    yield ""
    yield from recordings_find.what_is_there(where, found)


def _acted(call: Call) -> Iterator[str]:
    if call.acted:
        yield f"acted: {', '.join(str(rule['name']) for rule in call.acted)}; without them {digest(call.plain)[:20]}…"


def _facts(where: Room, setup: str, active: Active, call: Call, found: Findings) -> dict[str, Any]:
    return {
        "setup": setup,
        "suite": active.suite or None,
        "scope_digest": call.identity.scope,
        "request_digest": call.identity.request,
        "form": call.form,
        "canonical": canonical(call.form),
        "rules": {"in_force": [dict(rule) for rule in active.rules], "acted": [dict(rule) for rule in call.acted]},
        **recordings_find.facts(where, found),
        "file": _name(call),
    }
