"""Faults that are put into a release that was good: each takes the PASS away, and is named."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.evidence import manifest

if TYPE_CHECKING:
    from tests.e2e.release.conftest import Release, Weighed

LIBRARY, SERVER = "desk-local-library-desk", "desk-local-server-desk"
TESTS = "tests/integration/desk/test_desk.py"
CLAIMS = "tests/faults/test_claims.py"
POLICY = "ci/release.yaml"


def text_of(release: Release, name: str) -> str:
    return (release.root / name).read_text()


def only_touched(weighed: Weighed, *rules: str) -> None:
    """The rules that are named are not green, and no other is."""
    found = weighed.verdict["rules"]
    assert isinstance(found, list)
    assert {rule["id"] for rule in found if rule["state"] != "PASS"} == set(rules), weighed.said


def forge(release: Release) -> None:
    """Write the manifest anew over what is there now, as somebody might who knows of it."""
    manifest.write(release.run, run_id=release.run.name, project=release.root)


def test_nothing_is_wrong_with_it(release: Release) -> None:
    weighed = release.weigh()
    assert weighed.code == 0
    only_touched(weighed)


# -- what happened to the evidence


def test_an_emptied_report(release: Release) -> None:
    (release.run / f"cells/{LIBRARY}/junit.xml").write_text("")
    weighed = release.weigh()
    assert weighed.code == 7
    assert "changed" in weighed.line("evidence")
    assert "empty" in weighed.line(f"cell:{LIBRARY}")


def test_an_emptied_report_that_the_manifest_was_made_to_fit(release: Release) -> None:
    (release.run / f"cells/{LIBRARY}/junit.xml").write_text("<testsuites/>")
    forge(release)
    weighed = release.weigh()
    assert weighed.code == 7
    assert weighed.line("evidence").startswith("PASS")
    assert weighed.line(f"cell:{LIBRARY}").startswith("NOT PROVEN")


def test_an_altered_report(release: Release) -> None:
    report = release.run / f"cells/{SERVER}/junit.xml"
    report.write_text(report.read_text().replace("test_the_desk_is_open", "test_the_desk_is_shut"))
    weighed = release.weigh()
    assert weighed.code == 7
    assert f"cells/{SERVER}/junit.xml" in weighed.said


def test_a_copied_report(release: Release) -> None:
    for name in ("junit.xml", "tests.jsonl"):
        shutil.copyfile(release.run / f"cells/{LIBRARY}/{name}", release.run / f"cells/{SERVER}/{name}")
    forge(release)
    weighed = release.weigh()
    assert weighed.code == 7
    assert weighed.line(f"cell:{SERVER}").startswith("NOT PROVEN")
    assert "copy" in weighed.line(f"cell:{SERVER}")


def test_last_weeks_report(release: Release) -> None:
    release.write("desk/news.py", "NEWS: list[str] = []\n")
    weighed = release.weigh()
    assert weighed.code == 7
    assert "the run is of commit" in weighed.line("source")
    assert weighed.line(f"cell:{LIBRARY}").startswith("NOT PROVEN")


def test_evidence_of_work_that_is_not_committed(release: Release) -> None:
    (release.root / "desk/news.py").write_text("NEWS: list[str] = []\n")
    weighed = release.weigh()
    assert weighed.code == 7
    assert weighed.line("source").startswith("NOT PROVEN")


def test_a_cell_that_did_not_run(release: Release) -> None:
    shutil.rmtree(release.run / f"cells/{SERVER}")
    forge(release)
    weighed = release.weigh()
    assert weighed.code == 7
    assert weighed.line(f"cell:{SERVER}").startswith("NOT PROVEN")


def test_a_missing_benchmark(release: Release) -> None:
    (release.run / "checks/benchmark.json").unlink()
    forge(release)
    weighed = release.weigh()
    assert weighed.code == 7
    assert weighed.line("benchmark:desk:turns").startswith("NOT PROVEN: not proven: the benchmark has not run")


def test_a_type_check_that_did_not_run(release: Release) -> None:
    (release.run / "checks/typecheck.json").unlink()
    forge(release)
    weighed = release.weigh()
    assert weighed.code == 7
    assert weighed.line("types").startswith("NOT PROVEN: not proven: mypy has not run")


def test_claims_that_were_not_run(release: Release) -> None:
    (release.run / "checks/claims.json").unlink()
    forge(release)
    weighed = release.weigh()
    assert weighed.code == 7
    assert weighed.line("claims").startswith("NOT PROVEN")


def test_a_recording_that_was_changed_after_the_run(release: Release) -> None:
    first = min((release.root / "recordings/local").rglob("*.json"))
    first.write_text(first.read_text().replace("think about it", "know it already"))
    release.commit()
    weighed = release.weigh()
    assert weighed.code == 7
    assert "recordings" in weighed.line(f"cell:{LIBRARY}") or "another commit" in weighed.line(f"cell:{LIBRARY}")


# -- what happened to the project, and a new run


def test_a_deleted_test(release: Release) -> None:
    kept = text_of(release, TESTS).partition("\n\ndef test_the_desk_is_open")[0]
    release.write(TESTS, f"{kept}\n")
    weighed = release.verify()
    assert weighed.code == 1
    only_touched(weighed, f"cell:{LIBRARY}", f"cell:{SERVER}")
    assert "test_the_desk_is_open" in weighed.said


def test_a_skipped_suite(release: Release) -> None:
    release.write(TESTS, f"{text_of(release, TESTS)}\n\npytestmark = pytest.mark.skip(reason='later')\n")
    weighed = release.verify()
    assert weighed.code == 1
    assert "later" in weighed.said
    assert weighed.line(f"cell:{SERVER}").startswith("FAIL")


def test_a_type_error(release: Release) -> None:
    release.write("desk/news.py", "NEWS: list[str] = [1]\n")
    weighed = release.verify()
    assert weighed.code == 1
    only_touched(weighed, "types")
    assert "desk/news.py:1" in weighed.line("types")


def test_a_stale_waiver(release: Release) -> None:
    release.write(TESTS, text_of(release, TESTS).replace('get("/health").status_code == 200', 'get("/").is_success'))
    waiver = f'{{test: "{TESTS}::test_the_desk_is_open", reason: a bug, owner: the desk, expires: 2020-01-31}}'
    release.write(POLICY, f"{text_of(release, POLICY)}waivers:\n  - {waiver}\n")
    weighed = release.verify()
    assert weighed.code == 1
    assert "expired" in weighed.said
    assert weighed.line(f"cell:{LIBRARY}").startswith("FAIL")


def test_a_tampered_recording(release: Release) -> None:
    first = min((release.root / "recordings/local").rglob("*.json"))
    first.write_text(first.read_text().replace('"question"', '"riddle"', 1))
    release.commit()
    weighed = release.verify()
    assert weighed.code == 6
    only_touched(weighed, "recordings")
    assert "its name is not that of its request" in weighed.line("recordings")


def test_an_answer_that_was_edited(release: Release) -> None:
    first = min((release.root / "recordings/local").rglob("*.json"))
    first.write_text(first.read_text().replace("You ask how", "You ask so"))
    release.commit()
    weighed = release.verify()
    assert weighed.code == 1
    only_touched(weighed, f"cell:{LIBRARY}", f"cell:{SERVER}")


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_killed_worker(release: Release, end: str) -> None:
    dying = text_of(release, TESTS).replace(
        "test_the_desk_is_open(http_client):", f"test_the_desk_is_open(http_client):\n    {end}"
    )
    release.write(TESTS, f"import os\n{dying}")
    weighed = release.verify()
    assert weighed.code == 7
    only_touched(weighed, f"cell:{LIBRARY}", f"cell:{SERVER}", "recordings")
    assert f"{TESTS}::test_the_desk_is_open" in weighed.line(f"cell:{SERVER}")


def test_a_benchmark_that_breaks(release: Release) -> None:
    release.write("stacks/desk/bench.py", "raise SystemExit('no numbers today')\n")
    weighed = release.verify()
    assert weighed.code == 7
    only_touched(weighed, "benchmark:desk:turns")
    assert "no numbers today" in weighed.line("benchmark:desk:turns")


def test_a_claim_that_was_skipped(release: Release) -> None:
    marked = text_of(release, CLAIMS).replace("@pytest", "@pytest.mark.skip(reason='later')\n@pytest")
    release.write(CLAIMS, marked)
    weighed = release.verify()
    assert weighed.code == 1
    only_touched(weighed, "claims", "claim:closed-desk")
    assert weighed.line("claim:closed-desk").startswith("NOT PROVEN")


def test_a_claim_that_does_not_hold(release: Release) -> None:
    release.write(CLAIMS, text_of(release, CLAIMS).replace("pending.pop()", "break"))
    weighed = release.verify()
    assert weighed.code == 1
    only_touched(weighed, "claim:closed-desk")


def test_nothing_of_it_is_left_running(good: Release) -> None:
    deadline = time.monotonic() + 60
    while (running := _running(str(good.root))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running == []


def _running(root: str) -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if _names(path, root)]


def _names(path: Path, root: str) -> bool:
    try:
        return root.encode() in path.read_bytes()
    except OSError:
        return False
