"""Templates in the words of YAML files: `{port}` and its like stand for what only a run knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from stackproof.catalog.yaml_source import LinedDict, Section
from stackproof.suggest import nearest

# What is filled in where; what else stands in braces reaches the program as it is.
COMMAND = ("python", "host", "port", "folder", "project", "run_dir")
ENV = ("base_url", "host", "port", "run_dir", "recording_dir", "project", "folder")
IN_A_CONTAINER = ("python", "host", "port", "folder")
OF_A_SERVICE = ("python", "host", "port", "cache")
BENCHMARK = ("python", "folder", "result")
RUNNER = ("junit", "prepared", "folder")
OPTION = (*RUNNER, "value", "milliseconds")
OF_A_STACK = tuple(dict.fromkeys((*COMMAND, *ENV)))

# Not `${port}` of a shell, nor `{{port}}`, `%{port}`, `#{port}` and `@{port}` of other languages.
_WORD = re.compile(r"(?<![${%#@])\{([\w-]+)\}")
_CUTOFF = 0.75
_SHORT = 5  # letters, in which one that is another makes another word: {post} is not {port}


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `{name}` of `values` replaced by its value; other braces are somebody's JSON, and stay."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def check(section: Section, key: str, words: Iterable[str], *, elsewhere: Iterable[str] = ()) -> None:
    """UsageError, with file and line, for a `{word}` below `key` that is nearly one of `words`: a slip of the fingers.

    words: what is filled in there. elsewhere: what is filled in in other places of the file, and not there; one of
    these, or nearly one, is refused too.
    """
    known, others = tuple(words), tuple(elsewhere)
    for inner, at, text in _texts(section, key):
        for word in dict.fromkeys(_WORD.findall(text)):
            if word in known:
                continue
            meant = _meant(word, known)
            hint = f"what is filled in there: {', '.join(f'{{{name}}}' for name in known) or 'nothing'}"
            if meant is not None:
                inner.fail(
                    f"{{{word}}} in {key!r} of {section.what} is not known, did you mean {{{meant}}}?",
                    key=at,
                    hint=hint,
                )
            if _meant(word, others) is not None:
                inner.fail(f"{{{word}}} in {key!r} of {section.what} stands for nothing there", key=at, hint=hint)


def _meant(word: str, known: Iterable[str]) -> str | None:
    """The template that was probably meant, if any: letters that changed places, one too few or too many, capitals."""
    near = nearest(word, known, cutoff=_CUTOFF)
    if near is None:
        return None
    if len(near) > _SHORT:
        return near if abs(len(word) - len(near)) <= 2 else None
    is_slip = sorted(word.casefold()) == sorted(near) or abs(len(word) - len(near)) == 1
    return near if is_slip else None


def _texts(section: Section, key: str) -> Iterator[tuple[Section, str, str]]:
    """(mapping, key in it, text) for every text below a key."""
    pending = [(section, key, section.data.get(key))]
    while pending:
        where, at, value = pending.pop(0)
        match value:
            case str():
                yield where, at, value
            case list():
                pending[:0] = [(where, at, item) for item in value]
            case LinedDict():
                inner = Section(what=section.what, shown=section.shown, data=value)
                pending[:0] = [(inner, name, item) for name, item in value.items()]
            case _:
                pass
