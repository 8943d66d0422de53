"""Makes the page from its template: every text in it is escaped, and only its own style and scripts may act."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from stackproof.plaintext import plain, shortened
from stackproof.recorder import redact
from stackproof.verdict.page import facts

if TYPE_CHECKING:
    from stackproof.verdict.publish import Publication

_HERE = Path(__file__).parent
_LONGEST = 20_000  # characters of one text; a failure may hold a whole page


def render(published: Publication) -> str:
    """The page as HTML. The same facts give the same bytes."""
    found = facts.of(published)
    # Made of the rows alone, out of which secrets were taken already, and by far the largest part.
    tests = found.pop("tests")
    told = _plain({**redact.conceal(found, published.secrets), "tests": tests})
    style, theme, script = (_own(name) for name in ("page.css", "theme.js", "page.js"))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "parts"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        **told,
        style=Markup(style),  # noqa: S704 - ours
        theme=Markup(theme),  # noqa: S704
        script=Markup(script),  # noqa: S704
        data=Markup(_embedded(told["tests"])),  # noqa: S704 - no `<` is left in it
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(theme)} {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'",
    )


def _own(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What names an inline style or script in a content security policy (https://www.w3.org/TR/CSP3/)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded(data: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end that element or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(value: Any) -> Any:
    """All texts without what a reader would not see, or that would move what is around it."""
    match value:
        case str():
            return shortened(plain(value), _LONGEST)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value
