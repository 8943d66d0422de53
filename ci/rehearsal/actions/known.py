"""Which actions are played. Any other one is an error: what it does is not known here."""

from __future__ import annotations

from collections.abc import Mapping

from ci.rehearsal.actions.call import Played
from ci.rehearsal.actions.checkout import CHECKOUT
from ci.rehearsal.actions.languages import SETUP_NODE, SETUP_PYTHON
from ci.rehearsal.actions.storing import CACHE, DOWNLOAD, UPLOAD

KNOWN: Mapping[str, Played] = {
    "actions/cache": CACHE,
    "actions/checkout": CHECKOUT,
    "actions/download-artifact": DOWNLOAD,
    "actions/setup-node": SETUP_NODE,
    "actions/setup-python": SETUP_PYTHON,
    "actions/upload-artifact": UPLOAD,
}
