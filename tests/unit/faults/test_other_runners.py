"""A suite of another runner meets the faults of its run in the stack; that none happened is said at its end."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from stackproof.errors import ExitCode
from stackproof.evidence import testlog
from stackproof.faults import grammar
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.run import foreign
from stackproof.run.suite import SuiteEnd


def _foreign_tests() -> Any:
    path = Path(__file__).parents[1] / "run" / "test_foreign.py"
    spec = importlib.util.spec_from_file_location("stackproof_faults_foreign", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_happened_to_no_call_of_any_test_fails_the_run(tmp_path: Path) -> None:
    known = _foreign_tests()
    settings = Settings(
        mode=Mode.REPLAY,
        recordings=str(tmp_path / "recordings"),
        setup="ollama",
        run_dir=str(tmp_path / "cell"),
        run_id="abc",
        faults=(grammar.parse("cut:3", where="").to_data(),),
    )

    def settled() -> foreign.Settled:
        known.report(tmp_path / "cell", known.GOOD)
        return foreign.settle(
            known.RUNNER,
            SuiteEnd(code=0),
            variables={VARIABLE: settings.to_json()},
            cell_dir=tmp_path / "cell",
            stopped=False,
        )

    (tmp_path / "cell").mkdir()
    (tmp_path / "cell" / "tests.log").write_text("")
    never = settled()
    assert never.error is not None
    assert never.error["message"] == "--inject: 'cut:3' was never met: no provider call of 1 test fits"
    assert never.error["exit_code"] == int(ExitCode.TESTS)
    ledger = Ledger(settings.run_dir)
    ledger.note("calls", {"kind": "injected", "scope": known.GOOD, "test_id": known.GOOD, "planned": "run.0"})
    ledger.close()
    met = settled()
    assert met.error is None
    assert (testlog.read(tmp_path / "cell" / "tests.jsonl").calls or {})["injected"] == 1
