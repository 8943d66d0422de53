"""Signals are remembered, counted and asked for."""

from __future__ import annotations

import os
import signal

import pytest

from stackproof.run.interrupts import Interrupted, Interrupts


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_two_within_half_a_second_are_one_request() -> None:
    clock = Clock()
    interrupts = Interrupts(clock)
    interrupts.note(signal.SIGINT)
    clock.now += 0.4
    interrupts.note(signal.SIGINT)
    assert interrupts.count == 1
    clock.now += 0.6
    interrupts.note(signal.SIGTERM)
    assert (interrupts.count, interrupts.first) == (2, signal.SIGINT)


def test_a_closed_terminal_counts_as_sigterm() -> None:
    interrupts = Interrupts()
    interrupts.note(signal.SIGHUP)
    assert interrupts.first is signal.SIGTERM


def test_checking_raises_only_after_a_request_and_until_it_is_forgotten() -> None:
    interrupts = Interrupts()
    interrupts.check()
    interrupts.note(signal.SIGTERM)
    with pytest.raises(Interrupted):
        interrupts.check()
    interrupts.forget()
    interrupts.check()


def test_the_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.first is signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before
