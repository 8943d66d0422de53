"""What `--shard`, `--shards` and what belongs to them may be given with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stackproof.errors import UsageError
from stackproof.shards import ci_variables
from stackproof.shards.records import Shard

AUTO = "auto"
_SCOPES = ("module", "file", "class")
_FIXTURE = "fixture:"
# They pick from what this machine has run before, so no two machines would divide the same list.
_FROM_BEFORE = frozenset(
    {
        *("--lf", "--last-failed", "--lfnf", "--last-failed-no-failures"),
        # Of these each asks for the first, too.
        *("--sw", "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset"),
    }
)


def shard(text: str, environ: Mapping[str, str]) -> tuple[Shard, str]:
    """What `--shard` means, and where that is from; UsageError for what is no shard."""
    if text.strip() == AUTO:
        told = ci_variables.read(environ)
        return told.shard, told.source
    return Shard.parse(text, where="--shard"), "--shard"


def check_together(values: Sequence[str], *, where: str) -> None:
    """UsageError for a way to keep tests together that is none."""
    for text in values:
        if text in _SCOPES or (text.startswith(_FIXTURE) and text != _FIXTURE):
            continue
        raise UsageError(
            f"{where}: {text!r} is none of module, file, class and fixture:NAME",
            hint="for example --together fixture:vector_store",
        )


def refuse_from_before(pytest_args: Sequence[str], *, where: str) -> None:
    """UsageError for arguments of pytest with which each machine would divide another list."""
    for text in pytest_args:
        name = text.partition("=")[0]
        if name in _FROM_BEFORE:
            raise UsageError(
                f"{where}: {name} picks from what this machine ran before, so each machine would divide other tests",
                hint=f"leave out {name}, or name the tests: --file PATH::TEST",
            )
