"""Carbon by quarter: the book of months that nothing finer has, divided by what was billed in each, else compared with them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.evidence.walked import faults
from tests.line.kit import day_of_hours, published_bytes, query
from tests.line.test_carbon_of_the_console import HEADER
from tests.oracle.builders import ACCOUNT, PAYER, Exports, run
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-08-20T00:00:00Z"
TOTAL = "provider_total_location_based_kgco2e"
COSTS = {"2026-04": 10.0, "2026-05": 30.0, "2026-06": 20.0}
EMITTED = f"""select strftime(usage_month, '%Y-%m'), {TOTAL}, allocation_confidence, status
    from marts.fct_training_run_emissions order by 1"""
CHECKED = f"""select region_id, provider_total, difference, reason from marts.fct_reconciliation
    where method = 'cross_check' and measure = '{TOTAL}' order by 1"""


def write_report(exports: Exports, name: str, time: str, *rows: str) -> None:
    folder = exports._source("console", "aws_carbon") / f"payer={PAYER}" / f"account={ACCOUNT}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join([HEADER.replace("usage_month", time), *rows]) + "\n", encoding="utf-8")


def row(time: str, tonnes: str, region: str = "US East (Ohio)") -> str:
    return f"{time},AmazonEC2,{region},{tonnes},0.5,0,{tonnes},0.5,0,0,0,v3.0.1"


def test_a_quarter_is_divided_among_its_months_until_they_are_there_and_then_compared(
    tmp_path: Path, trainledger: Command
) -> None:
    exports = Exports(tmp_path)
    bills = {month: [*day_of_hours("i-a", cost, month), *day_of_hours("i-b", cost, month)] for month, cost in COSTS.items()}
    exports.runs(run("a", *(("i-a", f"{month}-02T00:00:00Z", f"{month}-03T00:00:00Z", 16) for month in COSTS)))
    for month in ("2026-04", "2026-05"):
        exports.bill(bills[month], period=month)
    write_report(
        exports, "q.csv", "usage_quarter", row("2026-Q2", "6"), row("2026-Q2", "0.091"), row("2026-Q2", "0.000092", "Global"),
        row("2026-Q2", "1.000001", "Atlantis"),
    )  # fmt: skip
    config, home = exports.config(), tmp_path / "home"

    def refresh(*arguments: str) -> None:
        finished = trainledger("refresh", "--config", config, *arguments, now=NOW)
        assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
        found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
        assert not found, report(found)

    refresh()
    assert {row[3] for row in query(home, EMITTED)} == {"not_published"}, "June has no bill that would divide them"
    status = trainledger("status", "--config", config, now=NOW)
    assert "2026-04..2026-06 count in no month, since 2026-06 has no bill" in status.stdout + status.stderr

    exports.bill(bills["2026-06"], period="2026-06")
    refresh()
    # 6,091 kg by 10 : 30 : 20, and half of each month is the run's
    emitted = [("2026-04", "507.583333334"), ("2026-05", "1522.75"), ("2026-06", "1015.166666667")]
    assert query(home, EMITTED) == [(month, Decimal(kg), "low", "preliminary") for month, kg in emitted]
    residuals = query(
        home, f"select strftime(usage_month, '%m'), {TOTAL} from marts.fct_residual_emissions where reason = 'global' order by 1"
    )
    assert residuals == [("04", Decimal("0.030329670")), ("05", Decimal("0.031340660")), ("06", Decimal("0.030329670"))]
    held = query(home, "select reason, value from marts.fct_quarantine where source_name = 'console'")
    assert held == [("unknown_region", "Atlantis")]
    assert not faults(home, config, 1), "a figure whose rows do not add up to it"

    # another May: all three months are divided again, as a full build divides them
    exports.bill([*bills["2026-05"], *day_of_hours("i-c", 30.0, "2026-05")], period="2026-05")
    refresh()
    assert query(home, EMITTED)[0][1] == Decimal("406.066666667")
    incremental = published_bytes(home)
    refresh("--full")
    assert published_bytes(home) == incremental

    write_report(
        exports, "months.csv", "usage_month", row("2026-04", "2.1"), row("2026-05", "1.990001"), row("2026-06", "2"),
        row("2026-06", "0.000092", "Global"),
    )  # fmt: skip
    refresh()
    assert [row[1] for row in query(home, EMITTED)] == [Decimal(1050), Decimal("663.333666667"), Decimal(1000)]
    assert query(home, CHECKED) == [
        ("", Decimal("0.092"), Decimal(0), "2026-04..2026-06: the same within a gram for each of 2 rows"),
        ("Atlantis", Decimal("1000.001"), Decimal("1000.001"), "2026-04..2026-06: the months of the book add up to 0.000000000"),
        ("us-east-2", Decimal(6091), Decimal("0.999"), "2026-04..2026-06: the months of the book add up to 6090.001000000"),
    ]
    assert not faults(home, config, 2), "the rows of the quarter are beside the months, and in no figure of them"
    incremental = published_bytes(home)
    refresh("--full")
    assert published_bytes(home) == incremental
