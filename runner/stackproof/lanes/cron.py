"""Checks a schedule: five fields of POSIX cron, as GitHub Actions and GitLab both read them."""

from __future__ import annotations

import re

from stackproof.plaintext import counted

# (what it is, lowest, highest)
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12), ("day of the week", 0, 6))
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # days of each month
_PART = re.compile(r"(?:\*|(?P<first>\d{1,2})(?:-(?P<last>\d{1,2}))?)(?:/(?P<step>\d{1,2}))?", re.ASCII)


def wrong(text: str) -> str | None:
    """What is wrong with `text`, to put behind it in a sentence; None when nothing is.

    Taken are numbers, lists, ranges, steps and `*`; names (MON) and macros (@daily) are not, since one of the two
    systems does not know them all. The minute is one odd number: at full and half hours everybody's schedules start,
    and GitHub drops some of them then.
    """
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"has {counted(len(fields), 'field')}, not 5: minute hour day month weekday"
    for value, (name, low, high) in zip(fields, _FIELDS, strict=True):
        if any(not _fits(part, low, high) for part in value.split(",")):
            return f"has {value!r} for the {name}, which is {low} to {high}, a list, a range, a step, or *"
    minute = fields[0]
    if not minute.isdigit() or int(minute) % 2 == 0:
        return f"has {minute!r} for the minute: choose one odd number, since full and half hours are crowded"
    _, _, days, months, weekdays = fields
    # A day of the week beside it would make up for a day that never comes.
    if weekdays == "*" and min(_numbers(days, 1, 31)) > max(_LONGEST[month - 1] for month in _numbers(months, 1, 12)):
        return f"never comes: no month of {months!r} has a day {days}"
    return None


def _numbers(value: str, low: int, high: int) -> set[int]:
    """What a field that fits stands for."""
    found: set[int] = set()
    for part in value.split(","):
        match = _PART.fullmatch(part)
        assert match is not None  # noqa: S101 - said to the type checker
        first = int(match["first"]) if match["first"] else low
        last = int(match["last"]) if match["last"] else first if match["first"] else high
        found |= set(range(first, last + 1, int(match["step"] or 1)))
    return found


def _fits(part: str, low: int, high: int) -> bool:
    found = _PART.fullmatch(part)
    if found is None:
        return False
    first, last, step = (found[name] for name in ("first", "last", "step"))
    # A step goes over a range; `5/10` means different things to different readers.
    if step is not None and (int(step) == 0 or (first is not None and last is None)):
        return False
    numbers = [int(number) for number in (first, last) if number is not None]
    return all(low <= number <= high for number in numbers) and numbers == sorted(numbers)
