"""What a reader of a foreign format gives: one call and its answer, in words that no format owns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from stackproof.catalog.records import SetupSpec
from stackproof.recorder.providers import Target
from stackproof.recorder.scope import Scope


class RefusedSource(Exception):  # noqa: N818 - a finding about one file, counted and told, not an error of the command
    """A file, or one call of it, that is not imported. The message is the reason, without the file's name.

    Equal reasons are counted together in the summary: keep what differs from file to file out of them where it tells
    nobody anything. `number` is that of the call in its file, from 1, where a file holds several.
    """

    def __init__(self, reason: str, *, number: int | None = None) -> None:
        super().__init__(reason)
        self.number = number


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A file to be read. `name` is its path below the folder that is imported, with slashes; `path` is absolute."""

    name: str
    raw: bytes
    path: Path = field(default_factory=Path)

    @property
    def sha256(self) -> str:
        """Digest of the file, 64 hexadecimal digits."""
        return sha256(self.raw).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedAnswer:
    """An answer as it was on the wire.

    headers: lower-case names; those on the recorder's allow-list are kept. body: whole, still in the
    `content-encoding` that the headers name. exception: what the transport raised, as `recorder.failures.tell` says
    it, with status None where there was no head. complete: False where the source says that the body was cut short.
    """

    status: int | None
    headers: Mapping[str, str]
    body: bytes = b""
    complete: bool = True
    exception: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """One call of a source and its answer.

    kind: what it is counted as (`chat completion, stream`). scope: whose it is; `scope.STACK` for what belongs to no
    test. setup and target: who was called, as `addressee.find` says. body: the request's body as it was sent.
    repeats: an equal request with an equal answer in the same scope is a further take of its own (a cassette in which
    a call was made twice); False folds it into the one before. ids: written id -> the provider's own. provenance:
    only what the source says (`recorded_at`, `server`, `sdk`) and what had to be derived; nothing is added to it but
    `imported_from`. number: of the call in its file, from 1, where a file holds several. lost: what of the call cannot
    be carried over though it is imported, each a phrase that is counted.
    """

    kind: str
    scope: Scope
    setup: SetupSpec
    target: Target
    method: str
    content_type: str = ""
    body: bytes = b""
    answer: ImportedAnswer
    repeats: bool = False
    ids: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)
    number: int | None = None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """What the caller decided, and what readers need to know of the project.

    setup: `--setup`; None chooses by the URL. provider: `--provider`. renames: prefixes of test paths, old -> new.
    test: the node id that the calls of a file belong to, where the caller says it. record_errors: answers 401, 429,
    5xx and the like are taken, too. project: the folder that node ids begin in.
    """

    setups: Mapping[str, SetupSpec]
    setup: SetupSpec | None = None
    provider: str | None = None
    renames: tuple[tuple[str, str], ...] = ()
    test: str | None = None
    record_errors: bool = False
    project: Path = field(default_factory=Path.cwd)

    def renamed(self, test_id: str) -> str:
        """A node id after `--rename`; the first prefix that ends at a `/` or `::` of it counts."""
        for old, new in self.renames:
            rest = test_id[len(old) :]
            if test_id.startswith(old) and (not rest or rest.startswith(("/", "::", "["))):
                return new + rest
        return test_id


class Reader(Protocol):
    """What a format's module offers."""

    NAME: str
    SUFFIXES: tuple[str, ...]

    def recognises(self, source: Source) -> bool:
        """Whether the content is of this format; cheap, and never raises."""

    def read(self, source: Source, choices: Choices) -> Iterator[Imported | RefusedSource]:
        """The calls of a file in their order; a call that cannot be taken is given as the reason.

        Raises RefusedSource for the file as a whole.
        """
