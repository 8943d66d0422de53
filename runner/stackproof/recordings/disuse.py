"""From run folders, policy and catalog to what is known of the use of each recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stackproof.catalog.records import Catalog
from stackproof.evidence import digests
from stackproof.recorder.store import folder_of
from stackproof.recordings import collection
from stackproof.recordings.collection import Collected
from stackproof.recordings.corpus import Entry
from stackproof.recordings.existing import Collect, Existing
from stackproof.recordings.findings import Kind
from stackproof.recordings.observed import Observed
from stackproof.recordings.query import suites_of
from stackproof.recordings.usage import File, Judged, Usage, Use
from stackproof.verdict.policy import Policy, Required


@dataclass(frozen=True, kw_only=True, slots=True)
class Disuse:
    """What all evidence says together. deleted comes before any use: a run from before a deletion proves nothing."""

    usage: Usage
    existing: Existing

    def of(self, entry: Entry) -> tuple[Kind | None, Judged]:
        """DELETED or UNUSED and why; None with what is known else (used, or not observed)."""
        gone = None if entry.path.name.startswith("models-") else self.existing.gone(entry.setup, entry.scope)
        if gone is not None:
            suites = suites_of(entry.scope, self.usage.suites)
            return Kind.DELETED, Judged(use=Use.UNUSED, why=gone, suites=suites)
        file = File(name=entry.name, setup=entry.setup, scope=entry.scope, changed=entry.path.stat().st_ctime)
        judged = self.usage.judge(file)
        return (Kind.UNUSED if judged.use is Use.UNUSED else None), judged


def gather(
    *,
    project: Path,
    root: Path,
    catalog: Catalog,
    environ: Mapping[str, str],
    observed: Iterable[Observed],
    policy: Policy | None,
    collected: Collected | None,
    collect: Collect | None = None,
) -> Disuse:
    """Put it together. collected: the tests that there are; None when nobody looked, so that none is called deleted.

    collect: in the place of pytest's collection for one setup.
    """

    def recorded(suite: str, setup: str) -> bool:
        bases = (root.partition("::")[0] for root in suites[suite])
        folders = (folder_of(f"fixture:{base}::", catalog.integration_root) for base in bases)
        return any((root / setup / folder).is_dir() for folder in folders)

    suites = {name: spec.roots for name, spec in catalog.suites.items()}
    usage = Usage(
        project=project,
        suites=suites,
        recordings_digest=cache(lambda setup: digests.recordings(root, setup)),
        suite_digest=cache(lambda suite: digests.suite(project, suites[suite])),
        recorded=cache(recorded),
        tests=None if collected is None else collected.tests,
    )
    # Where a stack cannot run everywhere, its observation cannot be insisted upon.
    for cell in policy.cells if policy is not None else ():
        if cell.required is Required.ALWAYS:
            usage.expected.setdefault((cell.suite, cell.setup), set()).add(cell.stack)
            usage.listed.add((cell.suite, cell.setup, cell.stack))
    usage.take_in(observed)
    existing = Existing(
        project=project,
        suites=suites,
        collect=collect or (lambda setup: collection.collect(project, catalog, environ, suites=suites, setup=setup)),
        first=collected,
    )
    return Disuse(usage=usage, existing=existing)
