"""What a stack.yaml may say of the edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.catalog.edge import ProbeSpec, RecorderPlace
from stackproof.catalog.records import StackSpec
from stackproof.catalog.stacks import load_stack
from stackproof.errors import UsageError

STACK = "description: d\nmodes: [server]\ncommand: [x]\n"


def load(folder: Path, text: str) -> StackSpec:
    path = folder / "shop" / "stack.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(STACK + text)
    return load_stack(path, shown="stack.yaml")


def test_a_stack_is_recorded_in_its_process_unless_it_says_otherwise(tmp_path: Path) -> None:
    spec = load(tmp_path, "")
    assert (spec.recorder, spec.under_exec) == (RecorderPlace.PROCESS, True)
    spec = load(tmp_path, "recorder: edge\n")
    assert (spec.recorder, spec.under_exec, spec.edge.probe) == (RecorderPlace.EDGE, False, None)


def test_a_probe_and_variables_are_data(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "recorder: edge\nedge:\n  variables: {A: openai/v1}\n"
        '  probe: {path: /x, body: {model: "{text_model}", n: [1]}}\n',
    )
    assert spec.edge.variables == {"A": "openai/v1"}
    assert spec.edge.probe == ProbeSpec(path="/x", method="POST", body={"model": "{text_model}", "n": [1]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recorder: egde\n", "stack.yaml:4: unknown recorder 'egde' in stack 'shop'.*'edge'"),
        ("edge: {}\n", "stack.yaml:4: stack 'shop' has 'edge' and no 'recorder: edge'"),
        ("recorder: edge\nunder_exec: true\n", "stack.yaml:5: 'under_exec' of stack 'shop' needs the recorder inside"),
        ("recorder: edge\nid_hook: a:b\n", "stack.yaml:5: 'id_hook' of stack 'shop' needs the recorder inside"),
        ("recorder: edge\nedge: {prob: {path: /x}}\n", "unknown key 'prob' in 'edge' of stack 'shop'.*'probe'"),
        (
            "recorder: edge\nedge: {probe: {path: x}}\n",
            "'path' in 'probe' in 'edge' of stack 'shop' must start with '/'",
        ),
        ("recorder: edge\nedge: {probe: {path: /x, method: GTE}}\n", "must be one of GET, POST, PUT"),
    ],
)
def test_complaints_name_the_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(tmp_path, text)


def test_library_mode_has_no_use_for_an_edge(tmp_path: Path) -> None:
    path = tmp_path / "shop" / "stack.yaml"
    path.parent.mkdir()
    path.write_text("description: d\nmodes: [library, server]\ncommand: [x]\napp: a:b\nrecorder: edge\n")
    with pytest.raises(UsageError, match="is recorded at the edge, which mode 'library' has no use for"):
        load_stack(path, shown="stack.yaml")
