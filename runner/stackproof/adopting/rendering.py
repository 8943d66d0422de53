"""Templates to text: jinja2 with brackets of its own, since workflows and our own files are full of braces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

_TEMPLATES = Path(__file__).parent / "templates"


def render(name: str, /, **values: object) -> str:
    """The template of that name, without the `.j2`. A value that it wants and does not get is an error of ours."""
    import jinja2  # noqa: PLC0415 - only `init` needs it

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - YAML and Python, quoted by the filters below
    )
    environment.filters |= {"q": quoted, "flow": flow, "py": repr_}
    return environment.get_template(f"{name}.j2").render(values)


def quoted(text: object) -> str:
    """A text as YAML and Python both read it: JSON's form is one of theirs."""
    return json.dumps(str(text), ensure_ascii=False)


def flow(items: object) -> str:
    """A list in one line of YAML."""
    assert isinstance(items, list)  # noqa: S101 - of our own templates
    return f"[{', '.join(_bare(str(item)) for item in items)}]"


def _bare(text: str) -> str:
    plain = text.replace("/", "").replace("_", "").replace("-", "").replace(".", "")
    return (
        text
        if plain.isascii()
        and plain.isalnum()
        and not plain.isdigit()
        and text[0] not in "-."
        and plain.lower() not in ("no", "on", "off", "yes", "true", "false", "null", "y", "n")
        else quoted(text)
    )


def repr_(value: object) -> str:
    """A value as Python, with the quotes that formatters like."""
    match value:
        case str():
            return quoted(value)
        case dict():
            return "{" + ", ".join(f"{repr_(key)}: {repr_(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(repr_, value)) + "]"
        case _:
            return repr(value)


def block(data: Mapping[str, object], depth: int = 0) -> str:
    """Mappings as YAML, a line each; what lies deeper than two levels in one line."""
    lines = []
    for key, value in data.items():
        indent = "  " * depth
        if isinstance(value, dict) and value and depth < 3:
            lines += [f"{indent}{key}:", block(value, depth + 1)]
        elif isinstance(value, dict):
            lines.append(
                f"{indent}{key}: {{{', '.join(f'{name}: {_bare(str(item))}' for name, item in value.items())}}}"
            )
        elif isinstance(value, list | tuple):
            lines.append(f"{indent}{key}: {flow(list(value))}")
        elif isinstance(value, bool):
            lines.append(f"{indent}{key}: {str(value).lower()}")
        else:
            lines.append(f"{indent}{key}: {quoted(value)}")
    return "\n".join(lines)
