"""Coverage on the page: where it was asked for, as text, and without a say in the verdict."""

from __future__ import annotations

from typing import Any

from tests.unit.verdict_outputs.conftest import Made, example

from stackproof.evidence import jsonfile


def covered(made: Made, cell: str = "base-ollama-server-reference", **total: Any) -> Made:
    """The run with a summary of coverage, in which the stack of one cell was killed."""
    parts = {
        "tests": {"processes": 1, "lost": 0, "lines": 5, "files": 1, "without": []},
        "stack": {"processes": 0, "lost": 1, "lines": 0, "files": 0, "without": []},
    }
    numbers = {"percent": 83.333, "files": 3, "num_statements": 24, "branch": False, **total}
    jsonfile.write(made.folder / "coverage/summary.json", {"schema": 1, "total": numbers, "cells": {cell: parts}})
    return made


def test_the_page_tells_the_number_and_what_is_not_in_it(made: Made) -> None:
    page = covered(example(made, "pass")).page()

    assert '<h2 id="coverage">Coverage</h2>' in page
    assert '<a href="#coverage">Coverage</a>' in page
    assert "83.3 % of 24 statements in 3 files, from 1 process of tests in 1 cell." in page
    assert (
        "<li>base-ollama-server-reference: its stack gave none: 1 process ended before anything was written</li>"
        in page
    )
    assert "<title>PASS" in page


def test_a_page_of_a_run_without_it_says_nothing_of_it(made: Made) -> None:
    page = example(made, "pass").page()

    assert 'id="coverage"' not in page
    assert 'href="#coverage"' not in page


def test_a_name_in_it_is_text(made: Made) -> None:
    page = covered(example(made, "pass"), "<img src=x>").page()

    assert "<img src=x>" not in page
    assert "&lt;img src=x&gt;: its stack gave none" in page
