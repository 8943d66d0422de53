"""Which page is meant by a word: its name, with or without folder and `.md`, or the path that a link has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackproof.cli.pages.contents import Page
from stackproof.errors import UsageError
from stackproof.suggest import did_you_mean

_BEFORE = re.compile(r"^(?:\.{0,2}/)*(?:docs/)?")
_ALL = "stackproof docs lists them; stackproof docs --search WORD looks inside"


def find(word: str, pages: Sequence[Page]) -> Page:
    """The page of that name; UsageError with the nearest one where there is none, or with all of several."""
    bare = _BEFORE.sub("", word.partition("#")[0]).removesuffix(".md").rstrip("/").casefold()
    for page in pages:
        if page.name in (bare, f"{bare}/index"):
            return page
    ends = [page for page in pages if bare and page.name.endswith((f"/{bare}", f"/{bare}/index"))]
    if len(ends) == 1:
        return ends[0]
    if ends:
        said = "\n".join(f"stackproof docs {page.name}" for page in ends)
        raise UsageError(f"{word!r} may be one of {len(ends)} pages", hint=said)
    # A word that is a name but for its folder is as near as one that has it.
    names = [*(page.name for page in pages), *(page.name.rpartition("/")[2] for page in pages)]
    raise UsageError(f"no page is named {word!r}{did_you_mean(bare, names)}", hint=_ALL)
