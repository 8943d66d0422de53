"""docs/trace.md: its program runs as it stands, and its commands print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stackproof.cli import main as cli

PAGE = (Path(__file__).parents[3] / "docs/trace.md").read_text(encoding="utf-8")
OLD = (
    '{"events":[{"text":"It rains.","type":"message"},{"type":"completed"}],'
    '"fingerprint":"75a221d31d7360bfa69c7e2f2b268648c9a3d3148de28f7bf427ea5635831d99"}\n'
)
DIFFERENT = """
import asyncio
from stackproof.trace import ReplayModelClient
from weather import answer
asyncio.run(answer(ReplayModelClient("traces/weather.jsonl"), "What is the weather in Bergen?", "Be kind."))
"""


def test_the_example_and_every_output_on_the_page_are_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent, program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "weather.py").write_text(agent, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True
    )
    assert told.stdout == "It rains in Oslo.\n" * 2
    trace = tmp_path / "traces/weather.jsonl"
    header = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert header == [trace.read_text(encoding="utf-8").splitlines(keepends=True)[0]]

    (tmp_path / "different.py").write_text(DIFFERENT, encoding="utf-8")
    failed = subprocess.run(
        [sys.executable, "different.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    (mismatch,) = re.findall(r"```\n(request 1 .*?)```", PAGE, re.DOTALL)
    assert failed.stderr.endswith(f".TraceMismatchError: {mismatch}")

    (tmp_path / "traces/torn.jsonl").write_bytes(trace.read_bytes()[:900])
    (tmp_path / "traces/old.jsonl").write_text(OLD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```\n\$ stackproof (.*?)\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for command, printed in blocks:
        cli.main(command.split(), environ={}, project=tmp_path)
        assert capsys.readouterr().out == printed
