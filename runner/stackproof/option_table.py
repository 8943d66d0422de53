"""The one table of `stackproof run`'s options: command line, variables, file keys and documentation come from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stackproof.recorder.mode import Mode


class Kind(StrEnum):
    """What an option's value is."""

    TEXT = "text"
    CHOICE = "choice"
    WHOLE = "whole number"
    SECONDS = "seconds"
    FLAG = "flag"
    TEXTS = "texts"


class Group(StrEnum):
    """Under which heading `--help` and the reference list an option."""

    WHAT = "What to run"
    CALLS = "Provider calls and recordings"
    MODELS = "Models"
    RUN = "How to run it"
    SHOW = "What to show"


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One option.

    name: the field of RunOptions and the key in `[tool.stackproof]`. flags: as on the command line. anywhere: it may
    also come from a variable or the file; options that shape a single run come from the command line only. in_file:
    False where a file that everybody shares must not decide. bare: its value where none is given.
    """

    name: str
    flags: tuple[str, ...]
    kind: Kind
    group: Group
    help: str
    default: str | int | float | bool | tuple[str, ...] | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    anywhere: bool = True
    in_file: bool = True
    bare: str | None = None

    @property
    def flag(self) -> str:
        """The long spelling, as messages and reproduction lines use it."""
        return self.flags[-1]

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it, or None."""
        return "STACKPROOF_" + self.flag[2:].replace("-", "_").upper() if self.anywhere else None

    @property
    def key(self) -> str | None:
        """The key in `[tool.stackproof]` that sets it, or None."""
        return self.name if self.anywhere and self.in_file else None


def _model(role: str) -> Option:
    return Option(
        name=f"{role}_model",
        flags=(f"--{role}-model",),
        kind=Kind.TEXT,
        group=Group.MODELS,
        help=f"{role.capitalize()} model, in place of the setup's.",
        metavar="PROVIDER/MODEL",
    )


OPTIONS: tuple[Option, ...] = (
    Option(
        name="suite",
        flags=("--suite",),
        kind=Kind.TEXT,
        group=Group.WHAT,
        default="base",
        metavar="NAME",
        help="Set of tests, from tests/suites.yaml. Several by comma give a cell each.",
    ),
    Option(
        name="setup",
        flags=("--setup",),
        kind=Kind.TEXT,
        group=Group.WHAT,
        metavar="NAME",
        help="Named environment: provider URLs, models, secrets. Default: the suite's own. Several by comma.",
    ),
    Option(
        name="stack_config",
        flags=("--stack-config",),
        kind=Kind.TEXT,
        group=Group.WHAT,
        default="server:reference",
        metavar="MODE:NAME",
        help="Software under test and how it runs: library:NAME, server:NAME, or the URL of one that runs already. "
        "Several by comma.",
    ),
    Option(
        name="file",
        flags=("--file",),
        kind=Kind.TEXTS,
        group=Group.WHAT,
        default=(),
        metavar="PATH",
        anywhere=False,
        help="Run these test files or node ids instead of the suite's roots. May be repeated.",
    ),
    Option(
        name="subdirs",
        flags=("--subdirs",),
        kind=Kind.TEXTS,
        group=Group.WHAT,
        default=(),
        metavar="DIRS",
        anywhere=False,
        help="Only these directories below the integration root. By comma, or repeated.",
    ),
    Option(
        name="pattern",
        flags=("--pattern",),
        kind=Kind.TEXT,
        group=Group.WHAT,
        metavar="EXPRESSION",
        anywhere=False,
        help="Only tests that match, as pytest's -k.",
    ),
    Option(
        name="inference_mode",
        flags=("--inference-mode",),
        kind=Kind.CHOICE,
        group=Group.CALLS,
        default=Mode.REPLAY.value,
        choices=tuple(mode.value for mode in Mode),
        help="What happens to a provider call: answered from a recording (replay), sent out and recorded (record, or "
        "only where nothing is recorded: record-if-missing), sent out and observed, with recordings left alone "
        "(verify), or just sent out (live).",
    ),
    Option(
        name="recording_dir",
        flags=("--recording-dir",),
        kind=Kind.TEXT,
        group=Group.CALLS,
        default="recordings",
        metavar="DIR",
        help="Where recordings lie, a folder for each setup. Relative to the project.",
    ),
    Option(
        name="provider_service",
        flags=("--provider-service",),
        kind=Kind.TEXT,
        group=Group.CALLS,
        metavar="NAME",
        help="Start this provider service where calls go out, and let the setup's providers mean it; "
        "docker:NAME: in a container.",
    ),
    Option(
        name="record_errors",
        flags=("--record-errors",),
        kind=Kind.FLAG,
        group=Group.CALLS,
        default=False,
        help="Also keep answers that say more about the moment than about the request: 401, 403, 429, 5xx, resets.",
    ),
    Option(
        name="allow_record_in_ci",
        flags=("--allow-record-in-ci",),
        kind=Kind.FLAG,
        group=Group.CALLS,
        default=False,
        in_file=False,
        help="Let a mode that records run although the variable CI is set.",
    ),
    Option(
        name="strict",
        flags=("--strict",),
        kind=Kind.FLAG,
        group=Group.CALLS,
        default=False,
        help="Fail on recordings that were not used and on hosts that were contacted and not recorded.",
    ),
    Option(
        name="seal",
        flags=("--seal",),
        kind=Kind.CHOICE,
        group=Group.CALLS,
        default="auto",
        choices=("auto", "never", "require"),
        help="Whether a replay runs in a network namespace of its own: where the machine permits, never, or else fail.",
    ),
    Option(
        name="pace",
        flags=("--pace",),
        kind=Kind.TEXT,
        group=Group.CALLS,
        default="instant",
        metavar="instant|recorded|FACTOR",
        help="When replayed chunks arrive: at once, as recorded, or with the recorded waits times FACTOR.",
    ),
    Option(
        name="chunk_fuzz",
        flags=("--chunk-fuzz",),
        kind=Kind.TEXT,
        group=Group.CALLS,
        metavar="bytes|SEED",
        help="Cut replayed answers anew, to try parsers: between every two bytes, or at places that follow from SEED.",
    ),
    Option(
        name="inject",
        flags=("--inject",),
        kind=Kind.TEXTS,
        group=Group.CALLS,
        default=(),
        metavar="FAULT",
        in_file=False,
        help="Put a fault into the replayed answers of every test: cut:N, damage:N, error-event:N, status:CODE, "
        "refused, slow-first-byte:SECONDS, stall:N,SECONDS, content-type:VALUE, truncate:BYTES. May be repeated; in "
        "the variable a line each. In replay only.",
    ),
    _model("text"),
    _model("tool"),
    _model("vision"),
    _model("embedding"),
    Option(
        name="embedding_dimension",
        flags=("--embedding-dimension",),
        kind=Kind.WHOLE,
        group=Group.MODELS,
        metavar="N",
        help="Length of the embedding model's vectors, in place of the setup's.",
    ),
    _model("rerank"),
    _model("safety"),
    _model("judge"),
    Option(
        name="env",
        flags=("--env",),
        kind=Kind.TEXTS,
        group=Group.RUN,
        default=(),
        metavar="NAME=VALUE",
        anywhere=False,
        help="Variable for the tests and the stack; wins over all others. May be repeated.",
    ),
    Option(
        name="workers",
        flags=("-n", "--workers"),
        kind=Kind.TEXT,
        group=Group.RUN,
        metavar="N",
        help="Spread the tests over N processes, or 'auto' (needs pytest-xdist).",
    ),
    Option(
        name="test_timeout",
        flags=("--timeout",),
        kind=Kind.SECONDS,
        group=Group.RUN,
        metavar="SECONDS",
        help="Limit for a single test.",
    ),
    Option(
        name="suite_timeout",
        flags=("--suite-timeout",),
        kind=Kind.SECONDS,
        group=Group.RUN,
        default=1800.0,
        metavar="SECONDS",
        help="Limit for all tests of a cell.",
    ),
    Option(
        name="start_timeout",
        flags=("--start-timeout",),
        kind=Kind.SECONDS,
        group=Group.RUN,
        metavar="SECONDS",
        help="Limit for the stack and for a service to become ready. Default: what their own files say.",
    ),
    Option(
        name="coverage",
        flags=("--coverage",),
        kind=Kind.TEXT,
        group=Group.RUN,
        metavar="[PATHS]",
        in_file=False,
        bare="configured",
        help="Measure which lines run, in the tests, the stack's processes and its container, and combine it (needs "
        "the package coverage). PATHS: folders, files or packages, by comma; without them the project's own "
        "configuration of coverage decides, else it is everything but the tests.",
    ),
    Option(
        name="keep",
        flags=("--keep",),
        kind=Kind.FLAG,
        group=Group.RUN,
        default=False,
        anywhere=False,
        help="Keep the stack after the tests, until interrupted.",
    ),
    Option(
        name="post_command",
        flags=("--post-command",),
        kind=Kind.TEXT,
        group=Group.RUN,
        metavar="COMMAND",
        help="Shell command to run after the tests while the stack is still up.",
    ),
    Option(
        name="collect_only",
        flags=("--collect-only",),
        kind=Kind.FLAG,
        group=Group.SHOW,
        default=False,
        anywhere=False,
        help="List the tests and run none.",
    ),
    Option(
        name="dry_run",
        flags=("--dry-run",),
        kind=Kind.FLAG,
        group=Group.SHOW,
        default=False,
        anywhere=False,
        help="Print the plan and stop.",
    ),
    Option(
        name="format",
        flags=("--format",),
        kind=Kind.CHOICE,
        group=Group.SHOW,
        default="text",
        choices=("text", "json", "github-matrix", "gitlab"),
        anywhere=False,
        help="How --dry-run prints the plan: for people, for machines, as a matrix for GitHub Actions, as a child "
        "pipeline for GitLab.",
    ),
    Option(
        name="print_env",
        flags=("--print-env",),
        kind=Kind.FLAG,
        group=Group.SHOW,
        default=False,
        anywhere=False,
        help="Print the variables that the tests and the stack would get, secrets masked, and stop.",
    ),
    Option(
        name="json",
        flags=("--json",),
        kind=Kind.FLAG,
        group=Group.SHOW,
        default=False,
        anywhere=False,
        help="Facts as JSON on standard output, for machines.",
    ),
    Option(
        name="verbose",
        flags=("-v", "--verbose"),
        kind=Kind.FLAG,
        group=Group.SHOW,
        default=False,
        help="Show pytest's own output while it runs.",
    ),
    Option(
        name="debug",
        flags=("--debug",),
        kind=Kind.FLAG,
        group=Group.SHOW,
        default=False,
        help="Tell every look-up of a recording, step by step, and show tracebacks in full.",
    ),
)

BY_NAME = {option.name: option for option in OPTIONS}
