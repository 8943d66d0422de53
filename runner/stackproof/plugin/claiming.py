"""The fixture `claim`: finds the claim that a test serves, and hands on what the test observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

from stackproof.errors import StackproofError
from stackproof.evidence import machine
from stackproof.faults import claim_environment, claim_file
from stackproof.faults.claim import ClaimUnderTest, Observation
from stackproof.faults.claim_file import Claim
from stackproof.plugin.claim_log import LOG

MARKER = "claim"


def name_of(item: pytest.Item) -> str | None:
    """The claim that a test serves, None when it serves none. ValueError, with a sentence, for a mark that is wrong."""
    names: list[str] = []
    for mark in item.iter_markers(MARKER):
        match mark.args:
            case (str(name),) if name and not mark.kwargs:
                names.append(name)
            case _:
                raise ValueError(f'{item.name} must name its claim: @pytest.mark.{MARKER}("name")')
    if len(set(names)) > 1:
        raise ValueError(
            f"{item.name} serves {len(set(names))} claims, {' and '.join(dict.fromkeys(names))}; one is all"
        )
    return names[0] if names else None


def of_test(item: pytest.Item) -> ClaimUnderTest:
    """What the fixture gives to a test. Fails it where its mark or the claims file is wrong, and skips it where this
    machine lacks what the claim needs.
    """
    claim = _claim(item)
    if lacks := claim_environment.lacking(claim.environment):
        pytest.skip(lacking_words(claim, lacks))
    log = item.config.stash.get(LOG, None)

    def keep(observation: Observation) -> None:
        if log is not None:
            log.observed(item, claim, observation, _machine())

    def fail(text: str) -> NoReturn:
        pytest.fail(text, pytrace=False)

    return ClaimUnderTest(claim, keep=keep, fail=fail)


def lacking_words(claim: Claim, lacks: tuple[str, ...]) -> str:
    """Why a claim cannot be observed here."""
    return f"claim {claim.name} needs {' and '.join(lacks)}, which this machine lacks"


def _claim(item: pytest.Item) -> Claim:
    try:
        return _find(item)
    except StackproofError as error:
        problem = f"{error.message}\n{error.hint}" if error.hint else error.message
    except ValueError as error:
        problem = str(error)
    pytest.fail(problem, pytrace=False)


def _find(item: pytest.Item) -> Claim:
    name = name_of(item)
    if name is None:
        raise ValueError(f'{item.name} asks for `claim` and names none: @pytest.mark.{MARKER}("name")')
    project, log = item.config.rootpath, item.config.stash.get(LOG, None)
    file = log.file if log is not None else claim_file.find(project, item.path)
    return claim_file.named(_load(project, file), name, file=file, where=item.name)


@cache
def _load(project: Path, file: Path) -> Mapping[str, Claim]:
    return claim_file.load(project, file)


@cache
def _machine() -> Mapping[str, object]:
    return asdict(machine.fingerprint())
