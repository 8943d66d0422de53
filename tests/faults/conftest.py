"""Chance for the schedules of the matrix, which can be had again."""

from __future__ import annotations

import os
import random
import secrets
from dataclasses import dataclass

import pytest

SEED = "STACKPROOF_FAULTS_SEED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chance:
    """Random numbers of one test. `seed`: what the variable STACKPROOF_FAULTS_SEED has to be to have them again."""

    seed: int
    of: str

    def random(self, number: int) -> random.Random:
        """Those of its schedule `number`."""
        return random.Random(f"{self.seed} {self.of} {number}")  # noqa: S311 - a schedule, not a secret


# What decides whether a change may land gives the same answer twice, as Hypothesis does under CI.
SAME = 20_260_101


@pytest.fixture(scope="session")
def seed() -> int:
    """One for all tests: as told, the same ever again under CI, another each time elsewhere."""
    if told := os.environ.get(SEED):
        return int(told)
    return SAME if os.environ.get("CI") else secrets.randbelow(10**9)


@pytest.fixture
def chance(request: pytest.FixtureRequest, seed: int) -> Chance:
    """Seeded and printed, so that a failure says how to have it again."""
    print(f"{SEED}={seed}")
    return Chance(seed=seed, of=request.node.name)
