"""Everything that the page shows, as plain dictionaries and lists, bounded: what is unbounded is cut, and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackproof import __version__
from stackproof.verdict.page import benchmarks, cells, comparison, covered, environment, head, recorded, rules, tests

if TYPE_CHECKING:
    from stackproof.verdict.publish import Publication


def of(published: Publication) -> dict[str, Any]:
    """The variables of the template; each value is JSON, so that secrets can be looked for in all of it."""
    verdict, evidence, rows = published.verdict, published.evidence, published.rows
    return {
        "head": head.of(verdict),
        "rules": rules.of(verdict),
        "claims": rules.claims(verdict),
        "grid": cells.grid(verdict, evidence),
        "logs": cells.logs(verdict, evidence, published.run_dir),
        "failures": tests.failed(published.failures),
        "wavering": tests.wavering(rows),
        "unrun": tests.unrun(rows),
        "borne": tests.borne(rows),
        "slow": tests.slow(rows),
        "steps": tests.steps(published.run_dir),
        "tests": tests.compact(rows),
        "benchmarks": benchmarks.of(evidence.benchmark, verdict, published.gates),
        "recordings": recorded.of(evidence),
        "coverage": covered.of(published.run_dir),
        "environment": environment.of(evidence, published.run_dir),
        "comparison": comparison.of(published),
        "version": __version__,
    }
