"""The helper in TypeScript: which id a request carries, in every place where vitest may run one."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from stackproof.evidence import junit

HELPER = Path(__file__).parents[3] / "tests/integration/client-typescript/stackproof.ts"
TESTS = """
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetch, headers } from './stackproof.js';

const server = createServer((request, response) => {
  appendFileSync(process.env.SEEN!, JSON.stringify(request.headers) + '\\n');
  response.end();
});
let url = '';
let outside: unknown;
beforeAll(async () => {
  try { headers(); } catch (error) { outside = error; }
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
});
afterAll(() => void server.close());

test('plain', async () => { await fetch(url, { headers: { baggage: 'own=1', 'x-own': '2' } }); });
describe('outer «é»', () => {
  describe('inner', () => {
    let tries = 0;
    test('tried again', { retry: 1 }, async () => {
      await fetch(url);
      expect(++tries).toBe(2);
    });
  });
});
test.each([1, 2])('of %i', async () => { await fetch(new Request(url, { headers: { 'x-own': '3' } })); });
test('outside of a test there is no id', () => { expect(String(outside)).toContain('has to belong to one'); });
"""


@pytest.fixture(name="folder")
def _folder(client: Path) -> Iterator[Path]:
    """Below the packages, as a run's own copy is."""
    (client / "work").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=client / "work") as folder:
        copy(HELPER, folder)
        Path(folder, "a.test.ts").write_text(TESTS)
        yield Path(folder)


def ran(node: str, client: Path, folder: Path, environment: Mapping[str, str], **more: str) -> list[dict[str, str]]:
    """Headers that arrived."""
    seen = folder / "seen"
    done = subprocess.run(
        [
            node, str(client / "node_modules/vitest/vitest.mjs"), "run", "--no-cache", "--reporter=junit",
            f"--outputFile={folder / 'junit.xml'}",
        ],
        cwd=folder,
        env={**environment, "SEEN": str(seen), **more},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in seen.read_text().splitlines()]


def test_every_request_carries_the_id_that_the_report_has(
    node: str, client: Path, folder: Path, environment: Mapping[str, str]
) -> None:
    told = {"STACKPROOF_ID_HEADER": "X-My-Data", "STACKPROOF_TEST_FOLDER": "tests/ts"}
    seen = ran(node, client, folder, environment, **told)
    carried: list[dict[str, Any]] = [json.loads(one["x-my-data"]) for one in seen]
    assert carried == [
        {"__test_id": "tests/ts/a.test.ts::plain"},
        {"__test_id": "tests/ts/a.test.ts::outer «é» > inner > tried again"},
        {"__test_id": "tests/ts/a.test.ts::outer «é» > inner > tried again", "__attempt": 2},
        {"__test_id": "tests/ts/a.test.ts::of 1"},
        {"__test_id": "tests/ts/a.test.ts::of 2"},
    ]
    # As the report names them, so that they can be joined.
    cases = junit.read(folder / "junit.xml").cases
    assert {one["__test_id"] for one in carried} < {f"tests/ts/{case.classname}::{case.name}" for case in cases}
    assert all(one["x-my-data"].isascii() for one in seen)
    assert seen[0]["baggage"] == "own=1, stackproof.scope=tests%2Fts%2Fa.test.ts%3A%3Aplain"
    assert (seen[0]["x-own"], seen[3]["x-own"]) == ("2", "3")


def test_live_calls_carry_nothing(node: str, client: Path, folder: Path, environment: Mapping[str, str]) -> None:
    text = TESTS.replace("expect(String(outside)).toContain('has to belong to one');", "expect(headers()).toEqual({});")
    (folder / "a.test.ts").write_text(text)
    told = {"STACKPROOF_ID_HEADER": "X-My-Data", "STACKPROOF_INFERENCE_MODE": "live"}
    seen = ran(node, client, folder, environment, **told)
    assert len(seen) == 5
    assert not any("x-my-data" in one or "stackproof" in one.get("baggage", "") for one in seen)
