"""Carbon by the console's monthly report: the book of the months that no export has, down to the rows of the file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.evidence.walked import faults
from tests.line.kit import day_of_hours, query
from tests.oracle.builders import ACCOUNT, PAYER, Exports, carbon, run
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-08-20T00:00:00Z"
HEADER = (
    "usage_month,service,region,total_lbm_emissions,total_mbm_emissions,total_scope_1_emissions_value,"
    "total_scope_2_lbm_emissions_value,total_scope_2_mbm_emissions_value,total_scope_3_lbm_emissions_value,"
    "total_scope_3_mbm_emissions_value,cfe_savings_value,model_version"
)
MONTHS = ("2026-04", "2026-05")


def test_a_report_is_the_book_where_no_export_is_and_traces_to_its_rows(tmp_path: Path, trainledger: Command) -> None:
    exports = Exports(tmp_path)
    held = []
    for month in MONTHS:
        exports.bill([*day_of_hours("i-a", 21.5, month), *day_of_hours("i-b", 21.5, month)], period=month)
        held.append(("i-a", f"{month}-02T00:00:00Z", f"{month}-03T00:00:00Z", 16))
    exports.runs(run("a", *held))
    exports.carbon([carbon(1.0)])
    location = exports._source("console", "aws_carbon") / f"payer={PAYER}" / f"account={ACCOUNT}"
    location.mkdir(parents=True)
    rows = [
        f"{month},{service},{region},{total},0.5,0,{total},0.5,0,0,0,v3.0.1"
        for month, total in (("2026-05", "2.000002"), ("2026-04", "7"))
        for service, region in (("AmazonEC2", "US East (Ohio)"), ("AmazonEC2", "Atlantis"), ("Other", "Global"))
    ]
    (location / "2026.csv").write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    home = tmp_path / "home"
    total = "provider_total_location_based_kgco2e"
    emitted = query(home, f"select strftime(usage_month, '%Y-%m'), {total} from marts.fct_training_run_emissions order by 1")
    assert emitted == [("2026-04", Decimal(500)), ("2026-05", Decimal("1000.001"))]
    held_back = query(home, "select value, row_number from marts.fct_quarantine where reason = 'unknown_region' order by 2")
    assert held_back == [("Atlantis", 2)], "April is the export's, and the third row is of no region"
    found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
    assert not faults(home, config, 1), "a figure whose rows do not add up to it, by their numbers in the file"

    # the same account once more, in what may be a report of its whole organisation
    (location.parent / "all.csv").write_text("\n".join([HEADER, rows[0]]) + "\n", encoding="utf-8")
    refused = trainledger("refresh", "--config", config, now=NOW)
    assert refused.returncode == 1, refused.stderr[-3000:]
    assert "assert_no_payer_is_counted_beside_its_accounts" in refused.stdout + refused.stderr
    assert query(home, f"select sum({total}) from marts.fct_training_run_emissions") == [(Decimal("1500.001"),)]
