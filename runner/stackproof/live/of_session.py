"""Which models the tests of a session call for real. Does no I/O.

In a run that answers from recordings, or makes them, it is the setup's own text model, whatever the variables say: so
a recording belongs to the test that replays it. Where calls go out and nothing is kept, the variables have to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stackproof.catalog.records import Catalog, ModelRole, SetupSpec
from stackproof.live.opt_in import USUAL, VARIABLE, LiveModel, NotWanted
from stackproof.recorder.mode import Mode

Asked = Callable[[str], tuple[LiveModel | NotWanted, ...]]


def models(environ: Mapping[str, str], known: Catalog, asked: Asked) -> tuple[LiveModel | NotWanted, ...]:
    """At least one. asked: what the two variables ask for; it is given the provider to speak of where they say nothing.

    environ: in a run, that of its tests, where the setup's variables are set. UsageError when `asked` raises it.
    """
    name = environ.get("STACKPROOF_SETUP") if "STACKPROOF_CHILD" in environ else None
    if name is None:
        return asked(USUAL)
    mode = Mode.parse(environ.get("STACKPROOF_INFERENCE_MODE", Mode.REPLAY.value))
    setup = known.setup(name)
    if mode.answers or mode.records:
        return (_own(setup, environ),)
    own = _text_model(environ).partition("/")[0] or next((each.name for each in setup.providers), USUAL)
    found = asked(own)
    # Others are for the runs of their setups: this one's stack knows no key of theirs.
    here = tuple(each for each in found if each.setup == name)
    if here:
        return here
    said = ", ".join(each.title for each in found if each.title is not None)
    return (NotWanted(reason=f"{VARIABLE} names no model of setup {name}, but {said}", setup=name, provider=""),)


def _own(setup: SetupSpec, environ: Mapping[str, str]) -> LiveModel | NotWanted:
    provider, slash, model = _text_model(environ).partition("/")
    spec = next((each for each in setup.providers if each.name == provider), None)
    if not slash or spec is None:
        reason = f"setup {setup.name} names no text model of its own providers (--text-model)"
        return NotWanted(reason=reason, setup=setup.name, provider=provider)
    url = environ.get(spec.variable or "", "") or next(iter(spec.prefixes), "")
    names = dict.fromkeys((*setup.all_secrets, *setup.needs, *setup.env, *filter(None, [spec.variable])))
    variables = {**setup.env, **{name: environ[name] for name in names if environ.get(name)}}
    return LiveModel(provider=provider, model=model, setup=setup.name, url=url, variables=variables)


def _text_model(environ: Mapping[str, str]) -> str:
    # Options may have named another than the setup's; the run has put it into its tests' variables.
    return environ.get(f"STACKPROOF_{ModelRole.TEXT.name}_MODEL", "")
