"""How pytest writes a node id into a JUnit report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from stackproof.evidence.junit_case import Case
from stackproof.evidence.junit_cases import PARTS

# pytest writes a character that XML cannot hold as #xNN (src/_pytest/junitxml.py, bin_xml_escape).
_ILLEGAL = re.compile("[^\t\n\r\u0020-\u007e\u0080-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _escape(text: str) -> str:
    def written(match: re.Match[str]) -> str:
        number = ord(match[0])
        return f"#x{number:02X}" if number <= 0xFF else f"#x{number:04X}"

    return _ILLEGAL.sub(written, text)


def junit_key(nodeid: str) -> tuple[str, str]:
    """`a/test_b.py::TestC::test_d[e/f]` -> (`a.test_b.TestC`, `test_d[e/f]`), as pytest's `mangle_test_address`."""
    classname, _, name = row_key(nodeid).partition(PARTS)
    return classname, name


def row_key(nodeid: str) -> str:
    """Both names, as the rows of a report have them."""
    path, bracket, parameters = nodeid.partition("[")
    around, _, name = path.rpartition("::")
    name = name + bracket + parameters if around else _module(name) + bracket + parameters
    if not (name.isascii() and name.isprintable()):
        name = _escape(name)
    return f"{_classname(around)}{PARTS}{name}"


@lru_cache(maxsize=4096)
def _classname(around: str) -> str:
    """Of a file and its classes, or of nothing where a file is the test; a file has many tests."""
    module, *classes = around.split("::")
    return _escape(".".join([_module(module), *classes]))


def files(nodeids: Iterable[str]) -> dict[str, str]:
    """The file of each class name of a report, as these node ids tell."""
    around = dict.fromkeys(nodeid.partition("[")[0].rpartition("::")[0] for nodeid in nodeids)
    return {_classname(each): each.partition("::")[0] for each in around if each}


def _module(path: str) -> str:
    return path.replace("/", ".").removesuffix(".py")


def title(case: Case) -> str:
    """How a case is named to people when its node id is not known."""
    return f"{case.classname}::{case.name}" if case.classname else case.name
