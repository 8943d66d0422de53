"""How a request that differs from the recorded one could be made equal to it, where a rule folds the difference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stackproof.recorder import rules
from stackproof.recorder.canonical import canonical
from stackproof.recorder.identity import Form
from stackproof.recorder.miss import ABSENT, differences

_BODY = "body.json."
_INDEX = re.compile(r"\[\d+\]")
_STEPS = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]")
# In the order of how little they fold. What one does everywhere is proposed for the place of the difference only.
_AT_A_PLACE = ("whole_floats", "nulls", "floats", "long_decimals")
_AS_THEY_ARE = ("file_search", "bedrock", "project_id")


class Look(StrEnum):
    """What a difference looks like that no rule folds."""

    ID = "an id"
    TIME = "a time"
    OTHER = "something else"


_LOOKS = (
    (Look.TIME, re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")),
    (Look.TIME, re.compile(r"1[5-9]\d{8}(\d{3})?(\.\d+)?")),
    (Look.ID, re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")),
    (Look.ID, re.compile(r"([A-Za-z]{1,16}[_-])?(?=[A-Za-z_-]*\d)[0-9A-Za-z_-]{12,}")),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One place: its JSON path in the form, both values (`miss.ABSENT` where there is none), what it looks like."""

    path: str
    recorded: Any
    sent: Any
    look: Look = Look.OTHER


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """`rules` to add, in order. `left`: what is different still, when they are in force."""

    differences: tuple[Difference, ...]
    rules: tuple[Mapping[str, Any], ...]
    left: tuple[Difference, ...]

    @property
    def complete(self) -> bool:
        """Whether these rules make the two equal."""
        return bool(self.rules) and not self.left


def compare(recorded: Form, sent: Form) -> Proposal:
    """All differences, and the rules that fold them, at places as narrow as can be."""
    found = _all(recorded, sent)
    chosen: list[dict[str, Any]] = []
    before, after = recorded, sent
    for one in found:
        for rule in _candidates(one, recorded, sent):
            folded = [rules.apply(form, [rule]) for form in (before, after)]
            paths = {each.path for each in _all(*folded)}
            if one.path not in paths and rule not in chosen:
                chosen.append(rule)
                before, after = folded
                break
    return Proposal(differences=found, rules=tuple(chosen), left=_all(before, after))


def _all(recorded: Form, sent: Form) -> tuple[Difference, ...]:
    found = (
        Difference(path=path, recorded=old, sent=new, look=_look(old, new))
        for path, old, new in differences(recorded, sent)
    )
    # Compared as digests are: 1 and 1.0 differ, and 0.0 and -0.0 do not.
    return tuple(one for one in found if ABSENT in (one.recorded, one.sent) or _text(one.recorded) != _text(one.sent))


def _text(value: Any) -> str:
    return canonical(value)


def _candidates(one: Difference, recorded: Form, sent: Form) -> Iterator[dict[str, Any]]:
    if not one.path.startswith(_BODY):
        return
    for name in _AS_THEY_ARE:
        if name != "bedrock" or ABSENT in (one.recorded, one.sent):
            yield {"name": name}
    path = _rule_path(one.path, recorded, sent)
    parent = path.rpartition(".")[0] or "."
    for name in _AT_A_PLACE:
        where = parent if name == "nulls" else path
        if where:
            yield {"name": name, "path": where}


def _rule_path(path: str, *forms: Form) -> str:
    """A JSON path as rules write it: `[]` in place of a number, `[role=tool]` where all items meant say their role."""
    below = path.removeprefix(_BODY)
    value: Any = forms[1]["body"]["json"]
    steps: list[str] = []
    for step in _STEPS.finditer(below):
        if step["name"] is not None:
            steps.append(step["name"])
            value = value.get(step["name"]) if isinstance(value, dict) else None
            continue
        value = value[int(step["index"])] if isinstance(value, list) and int(step["index"]) < len(value) else None
        picked = next(
            (f"{key}={value[key]}" for key in ("role", "type") if isinstance(value, dict) and _is_word(value.get(key))),
            "",
        )
        if steps and not steps[-1].endswith("]"):
            steps[-1] += f"[{picked}]"
    # The numbers of an embedding: the rule acts on the whole list.
    return _INDEX.sub("", ".".join(steps)).removesuffix("[]")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\w+", value) is not None


def _look(old: Any, new: Any) -> Look:
    for look, pattern in _LOOKS:
        if all(isinstance(value, str | int | float) and pattern.fullmatch(str(value)) for value in (old, new)):
            return look
        if all(isinstance(value, str) for value in (old, new)) and pattern.sub("", old) == pattern.sub("", new):
            return look
    return Look.OTHER


def looks(those: Sequence[Difference]) -> set[Look]:
    """What the differences look like."""
    return {one.look for one in those}
