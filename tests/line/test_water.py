"""Water that AWS states of a year is divided among run-months once the year is out, as the oracle divides it, and adds up."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.commands.refreshing import refresh
from dagster_project.evidence.tracing.command import opened_trace, trace_figure
from dagster_project.settings import load_settings
from dagster_project.warehouse.home import Home
from tests.aws_apis import water
from tests.oracle.builders import ACCOUNT, NODE, PAYER, Exports, carbon, hour, run
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
FIGURES = "select training_run_id, usage_month::text, withdrawal_m3, status from marts.fct_training_run_water order by all"
STATED = (
    "select region_id, withdrawal_m3, runs_withdrawal_m3, rest_withdrawal_m3, unknown_because from marts.fct_water_withdrawals"
)
MAY, JUNE = "2025-05-10T10:00:00", "2025-06-10T10:00:00"


def deliver(exports: Exports, month: int) -> None:
    """Two tonnes in Ohio, half of them of the machine that a run has in May, and one in Oregon, of the one of June."""
    period = f"2025-{month:02d}"
    began = {"usage_period_start": datetime.fromisoformat(f"{period}-01")}

    def tonnes(value: float, region: str) -> dict[str, Any]:
        return carbon(value, total_scope_2_lbm_emissions_value=value, region_code=region, location="", **began)

    west = {"product_region_code": "us-west-2", "line_item_usage_type": "USW2-BoxUsage:trn1.32xlarge"}
    rows = [hour(f"{period}-10T10:00:00", 20.0), hour(f"{period}-10T10:00:00", 20.0, line_item_resource_id="i-west", **west)]
    rows.append(hour(f"{period}-11T10:00:00", 20.0, line_item_resource_id="i-other"))
    exports.bill(rows, period=period)
    exports.carbon([tonnes(2.0, "us-east-2"), tonnes(1.0, "us-west-2")], period=period)


def published(config: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(config.parent / "home/published/trainledger.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_the_water_of_a_year_waits_for_its_last_month_and_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exports = Exports(tmp_path)
    for month in range(1, 12):
        deliver(exports, month)
    held = ((NODE, f"{MAY}Z", "2025-05-10T11:00:00Z", 16), ("i-west", f"{JUNE}Z", "2025-06-10T11:00:00Z", 16))
    exports.runs(run("a", *held))
    exports.water(
        water(2025, 1200.0, USAGE_ACCOUNT_ID=ACCOUNT, REGION="us-east-2"),
        water(2025, 60.0, USAGE_ACCOUNT_ID=ACCOUNT, REGION="us-west-2"),
    )
    config = exports.config()

    def refreshed(now: str) -> list[tuple[Any, ...]]:
        monkeypatch.setenv("TRAINLEDGER_NOW", now)
        with without_dagster():
            assert refresh(load_settings(config), say=print).exit_code == 0
        found = differences(tmp_path / "home/published/trainledger.duckdb", Oracle(config, now=now).tables())
        assert not found, report(found)
        return published(config, FIGURES)

    months = ("2025-05-01", "2025-06-01")
    assert refreshed("2026-02-01T00:00:00Z") == [("a", month, None, "not_published") for month in months]
    [(why,)] = published(config, "select distinct unknown_because from marts.fct_water_withdrawals")
    assert why == "the year has a month without emissions of the account"
    deliver(exports, 12)
    # 1 of 24 tonnes in Ohio and 1 of 12 in Oregon: within a region the grid's factor is on both sides
    assert refreshed("2026-02-02T00:00:00Z") == [("a", months[0], 50.0, "preliminary"), ("a", months[1], 5.0, "preliminary")]
    assert published(config, f"{STATED} order by all") == [
        ("us-east-2", Decimal(1200), Decimal(50), Decimal(1150), None),
        ("us-west-2", Decimal(60), Decimal(5), Decimal(55), None),
    ]
    assert published(config, "select water_withdrawal_m3 from marts.run_summary") == [(55.0,)]
    with opened_trace(Home.of(load_settings(config))) as trace:
        assert trace_figure(trace, "run_summary/a/water_withdrawal_m3")["value"] == "55.0"
        found = trace.landed.rows("select object, first_row, contribution from origins where unit = 'm3' order by first_row")
    answer = f"payer={PAYER}/water.json"
    assert [(row["object"], row["first_row"], float(row["contribution"])) for row in found] == [
        (answer, 1, 50.0),
        (answer, 2, 5.0),
    ]
    # all regions together, published later: a tonne is of more kWh where the grid is cleaner
    exports.water(
        water(2025, 1000.0, USAGE_ACCOUNT_ID=ACCOUNT) | {"DimensionsValues": {"USAGE_ACCOUNT_ID": ACCOUNT}}, name="whole"
    )
    [(_, _, ohio, status), (_, _, oregon, _)] = refreshed("2026-07-01T00:00:00Z")
    assert status == "final" and ohio > 0 and oregon > 0
    [(region, stated, runs, rest, _)] = published(config, STATED)
    assert (region, stated, runs + rest) == ("*", 1000, 1000) and float(runs) == pytest.approx(ohio + oregon, abs=1e-9)
    factors = dict(
        published(config, "select region_id, value from marts.dim_emission_factors join marts.dim_regions using (grid_zone)"
                  " where region_id in ('us-east-2', 'us-west-2') and data_year = 2023")
    )  # fmt: skip
    east, west = (1 / float(factors[name]) for name in ("us-east-2", "us-west-2"))
    assert (ohio, oregon) == (
        pytest.approx(1000 * east / (24 * east + 12 * west)),
        pytest.approx(1000 * west / (24 * east + 12 * west)),
    )
