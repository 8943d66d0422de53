"""The command `stackproof smoke`, as a click object that the command line registers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from stackproof.cli import completing
from stackproof.cli.cli_words import PYTEST_ARGS, PytestCommand, json_option
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import UsageError
from stackproof.live.order import SUITE, Limits, SmokeOrder
from stackproof.option_table import BY_NAME
from stackproof.option_values import read_value

_USUAL = Limits()


def _checked(name: str) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Read a number as the option of that name of `stackproof run` is read."""

    def read(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
        return None if value is None else read_value(BY_NAME[name], value, where=BY_NAME[name].flag)

    return read


@click.command("smoke", cls=PytestCommand)
@click.option(
    "--setup",
    "setups",
    shell_complete=completing.setups,
    metavar="NAME",
    help="Setup to call. Several by comma. Default: those of the providers that STACKPROOF_LIVE_MODEL names.",
)
@click.option(
    "--suite",
    shell_complete=completing.suite,
    default=SUITE,
    metavar="NAME",
    help=f"Whose tests make the calls. Default: {SUITE}.",
)
@click.option(
    "--stack-config",
    shell_complete=completing.stacks,
    metavar="MODE:NAME",
    help="Stack that calls. Default: what the project has set, else library:reference.",
)
@click.option("--require", is_flag=True, help="Fail where a secret is missing, as schedules want it.")
@click.option(
    "--strict",
    is_flag=True,
    help="Fail on drift, answers that differ in shape from the recordings; end with 7 where none could be compared.",
)
@click.option(
    "--max-requests",
    metavar="N",
    callback=_checked("max_requests"),
    help=f"Requests at most, repetitions and those before the tests among them. Default: {_USUAL.max_requests}.",
)
@click.option(
    "--max-tokens",
    metavar="N",
    callback=_checked("max_tokens"),
    help=f"Tokens at most, in and out. Default: {_USUAL.max_tokens}.",
)
@click.option(
    "--max-seconds",
    metavar="SECONDS",
    callback=_checked("max_seconds"),
    help=f"Seconds at most, from the first test on. Default: {_USUAL.max_seconds:g}.",
)
@click.option(
    "--provider-service",
    shell_complete=completing.service,
    metavar="NAME",
    help="Start this provider service and call it; it counts as the setup's own variable.",
)
@click.option(
    "--timeout", metavar="SECONDS", callback=_checked("test_timeout"), help="Limit for a single test. Default: 180."
)
@json_option
@click.pass_context
def smoke(
    ctx: click.Context,
    /,
    *,
    setups: str | None,
    suite: str,
    stack_config: str | None,
    require: bool,
    strict: bool,
    max_requests: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    provider_service: str | None,
    timeout: float | None,
    as_json: bool,
) -> int:
    """Make a few real calls of each model, within a budget.

    Two variables ask for them: the setup's own (its key, or its URL where there is no key) and STACKPROOF_LIVE_MODEL,
    provider/model, several by comma. Without them nothing is called, and the command ends with 0, or with 7 where
    --require is given.
    """
    from stackproof.live import smoke as smokes  # noqa: PLC0415 - it imports all that runs tests

    around: Surroundings = ctx.obj
    names = tuple(part.strip() for part in (setups or "").split(",") if part.strip())
    if setups is not None and not names:
        raise UsageError("--setup: the value is empty", hint="leave it out to have those of STACKPROOF_LIVE_MODEL")
    order = SmokeOrder(
        setups=names,
        suite=suite,
        stack_config=stack_config,
        require=require,
        budget=Limits(
            max_requests=max_requests or _USUAL.max_requests,
            max_tokens=max_tokens or _USUAL.max_tokens,
            max_seconds=max_seconds or _USUAL.max_seconds,
        ),
        strict=strict,
        provider_service=provider_service,
        timeout=timeout,
        as_json=as_json,
        pytest_args=ctx.meta.get(PYTEST_ARGS, ()),
    )
    return smokes.run(around.project, order, environ=around.environ, today=datetime.now(UTC).date())
