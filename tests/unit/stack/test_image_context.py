"""What a build sees of a stack, and under which names."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from stackproof.catalog.stacks import load_stack
from stackproof.stack import image

STACK = """
description: a desk
modes: [docker]
command: [desk]
docker:
  dockerfile: Dockerfile
  context: {context}
"""


def packed(project: Path, context: str) -> list[str]:
    folder = project / "stacks/desk"
    for name in ("desk/app.py", "desk/__pycache__/app.pyc", "stacks/desk/Dockerfile", "stacks/desk/more/config.yaml"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name, encoding="utf-8")
    (folder / "stack.yaml").write_text(STACK.format(context=context), encoding="utf-8")
    stack = load_stack(folder / "stack.yaml", shown="stack.yaml")
    assert stack.docker is not None
    made = io.BytesIO()
    image._pack(made, stack, stack.docker, None, b"", made=None)
    made.seek(0)
    with tarfile.open(fileobj=made) as archive:
        return archive.getnames()


def test_code_beside_the_stacks_is_there_under_its_own_name(tmp_path: Path) -> None:
    assert packed(tmp_path, "[more, ../../desk]") == ["stack/more/config.yaml", "stack/desk/app.py", "Dockerfile"]


def test_one_file_from_elsewhere_is_there_under_its_own_name(tmp_path: Path) -> None:
    assert packed(tmp_path, "[../../desk/app.py]") == ["stack/app.py", "Dockerfile"]


def test_without_a_list_all_of_the_stacks_folder_is_there(tmp_path: Path) -> None:
    names = packed(tmp_path, "[]")
    assert names == ["stack/Dockerfile", "stack/more/config.yaml", "stack/stack.yaml", "Dockerfile"]
