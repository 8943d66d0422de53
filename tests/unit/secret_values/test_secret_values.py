"""Which values nobody may read."""

from __future__ import annotations

import pytest

from stackproof import secret_values
from stackproof.recorder.mode import Mode


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "apikey", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"])
def test_a_variable_may_be_called_like_a_secret(name: str) -> None:
    assert secret_values.is_called_like_one(name)


@pytest.mark.parametrize("name", ["KEYBOARD", "STACKPROOF_MAX_TOKENS", "MONKEY", "PATH", "OPENAI_BASE_URL"])
def test_others_are_not(name: str) -> None:
    assert not secret_values.is_called_like_one(name)


def test_named_ones_and_those_that_are_called_so_are_known_and_short_ones_are_not() -> None:
    environ = {"MINE": "of-the-setup", "A_TOKEN": "of-the-caller", "B_TOKEN": "short", "HOME": "/home/somebody"}
    known = secret_values.known(["MINE", "GONE"], environ, ["C_KEY=of-an-option", "A_TOKEN=of-an-option=too"])
    assert known == {"MINE": "of-the-setup", "A_TOKEN": "of-an-option=too", "C_KEY": "of-an-option"}


def test_only_in_replay_is_none_of_them_told() -> None:
    assert [mode for mode in Mode if not secret_values.may_be_told(mode)] == [Mode.REPLAY]
