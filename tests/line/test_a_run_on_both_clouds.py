"""One id with machines of both providers in one month: each machine has the shares and the PUE of its own provider."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import HELD, NODE, hour
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import TPU, GoogleExports, labels_of, tpu_hour
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
AT, NOW = "2026-04-10T10:00:00", "2026-06-20T00:00:00Z"


def test_each_machine_of_a_run_has_the_shares_and_the_pue_of_its_own_provider(tmp_path: Path, trainledger: Command) -> None:
    """The record names AWS, and a TPU in us-east5 is Google's all the same."""
    exports = GoogleExports(tmp_path)
    exports.bill([hour(AT, 21.5, resource_tags={"user_training_run_id": "both"})])
    exports.google_bill([tpu_hour(AT, 10.8, labels=labels_of(training_run_id="both"))])
    nodes = [
        {"resource_id": NODE, "accelerator_type": "trn1.32xlarge", "chips": 16, "started_at": HELD[0], "ended_at": HELD[1]},
        {"resource_id": TPU, "accelerator_type": "v6e", "chips": 4, "started_at": HELD[0], "ended_at": HELD[1]},
    ]
    attempts = [{"attempt_id": "1", "nodes": nodes}]
    exports.runs({"training_run_id": "both", "provider_name": "AWS", "attempts": attempts})
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    found = differences(tmp_path / "home/published/trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
    [(sources, ratio)] = query(tmp_path / "home", "select pue_source, pue_ratio from marts.fct_training_run_energy")
    assert " | " in sources, "both providers' PUE"
    assert Decimal(1) < Decimal(str(ratio)) < Decimal("1.2")
