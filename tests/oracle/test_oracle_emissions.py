"""The oracle's carbon rules on cells small enough to be worked out by hand."""

from datetime import date
from pathlib import Path

import pytest

from .builders import ACCOUNT, NODE, PAYER, Exports, carbon, hour, run
from .oracle import Oracle, Tables

TEN, ELEVEN = "2026-04-10T10:00:00", "2026-04-10T11:00:00"
HELD = ("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z")
LOCATION_BASED = "provider_total_location_based_kgco2e"
MARKET_BASED = "provider_total_market_based_kgco2e"


@pytest.fixture
def exports(tmp_path: Path) -> Exports:
    """Half a node for run a (10), half idle (10), a database beside it (30)."""
    exports = Exports(tmp_path)
    exports.bill([hour(TEN, 20.0), hour(TEN, 30.0, line_item_usage_type="USE2-BoxUsage:r7i.large", line_item_resource_id="i-db")])
    exports.runs(run("a", (NODE, *HELD, 8)))
    return exports


def read(exports: Exports, rows: list[dict], version: str = "v3.0.1") -> Tables:
    exports.carbon(rows, version)
    return Oracle(exports.config()).tables()


def reasons(tables: Tables, measure: str = LOCATION_BASED) -> dict[str, object]:
    return {key[-1]: row[measure] for key, row in tables["fct_residual_emissions"].items()}


def test_a_cell_is_divided_by_list_cost_and_keeps_its_rest_with_reasons(exports: Exports) -> None:
    tables = read(exports, [carbon(0.005, 0.0)])
    [row] = tables["fct_run_cell_emissions"].values()
    assert (row[LOCATION_BASED], row[MARKET_BASED], row["provider_scope_1_kgco2e"]) == (1, 0, None)
    assert reasons(tables) == {"idle": 1, "non_accelerator": 3}
    assert reasons(tables, "spread_location_based_kgco2e") == {"idle": 1, "non_accelerator": 0}
    [book] = tables["fct_training_run_emissions"].values()
    assert (book[LOCATION_BASED], book["idle_share_location_based_kgco2e"], book["idle_share_market_based_kgco2e"]) == (1, 1, 0)


def test_an_unknown_mass_stays_unknown_in_every_part(exports: Exports) -> None:
    tables = read(exports, [carbon(None, 0.5)])
    [row] = tables["fct_run_cell_emissions"].values()
    assert (row[LOCATION_BASED], row[MARKET_BASED]) == (None, 100)
    assert reasons(tables, "spread_location_based_kgco2e") == {"idle": None, "non_accelerator": None}
    measures = {key[6] for key in tables["fct_reconciliation"] if key[7] == "kgCO2e" and key[9] == "conservation"}
    assert measures == {MARKET_BASED}


def test_global_and_unused_regions_are_all_residual(exports: Exports) -> None:
    rows = [carbon(0.001, region_code="Global"), carbon(0.002, region_code="eu-west-1")]
    tables = read(exports, rows)
    assert reasons(tables) == {"global": 1, "no_usage": 2}
    [book] = tables["fct_training_run_emissions"].values()
    assert {value for name, value in book.items() if name.endswith("_kgco2e")} == {None}


def test_a_row_that_names_no_place_is_global_and_one_in_an_unknown_place_is_held_back(exports: Exports) -> None:
    rows = [carbon(0.004, region_code=None, location=None), carbon(0.001, region_code=None, location="Moon")]
    assert reasons(read(exports, rows)) == {"global": 4}


def test_negative_rows_and_unknown_regions_are_held_back_and_still_counted(exports: Exports) -> None:
    tables = read(exports, [carbon(0.005), carbon(-0.001), carbon(0.004, region_code="mars-1")])
    totals = {
        key[4]: (row["provider_total"], row["runs_total"], row["residual_total"], row["quarantined_total"], row["difference"])
        for key, row in tables["fct_reconciliation"].items()
        if key[6] == LOCATION_BASED
    }
    assert totals == {"us-east-2": (4, 1, 4, -1, 0), "mars-1": (4, 0, 0, 4, 0)}


def test_the_highest_version_is_the_book_and_the_others_stay_versions(exports: Exports) -> None:
    exports.carbon([carbon(0.010, model_version="v3.0.0")], "v3.0.0")
    tables = read(exports, [carbon(0.005, model_version="v3.0.10")], "v3.0.10")
    assert {key[-1] for key in tables["fct_run_cell_emissions"]} == {"v3.0.10"}
    versions = {key[-1]: row[LOCATION_BASED] for key, row in tables["fct_training_run_emissions_versions"].items()}
    assert versions == {"v3.0.0": 2, "v3.0.10": 1}
    assert {key[8] for key in tables["fct_reconciliation"] if key[6] == LOCATION_BASED} == {"v3.0.0", "v3.0.10"}


def test_services_that_aws_does_not_break_out_share_the_cell_other(exports: Exports) -> None:
    exports.bill([hour("2026-05-10T10:00:00", 5.0, line_item_product_code="AmazonSageMaker")], period="2026-05")
    tables = read(exports, [carbon(0.005, product_code="Other")])
    assert reasons(tables) == {"no_usage": 5}  # in April nothing but EC2 was billed


def test_corrections_weigh_with_their_sign(exports: Exports) -> None:
    exports.bill([hour(TEN, 20.0), hour(ELEVEN, -20.0, line_item_resource_id="i-db")])
    assert reasons(read(exports, [carbon(0.005)])) == {"no_usage": 5}


def test_a_month_with_chips_held_and_no_bill_is_still_published(exports: Exports) -> None:
    exports.runs(run("late", (NODE, "2026-05-31T23:00:00Z", "2026-06-01T01:00:00Z", 4)))
    tables = read(exports, [carbon(0.005)])
    months = sorted(key[:2] for key in tables["fct_training_run_emissions"])
    assert months == [("a", date(2026, 4, 1)), ("late", date(2026, 5, 1)), ("late", date(2026, 6, 1))]
    empty = tables["fct_training_run_costs"]["late", date(2026, 5, 1), "USD", "accelerator", "resource_time"]
    assert (empty["billed_cost"], empty["list_cost"]) == (0, None)


def test_the_account_is_part_of_the_cell(exports: Exports) -> None:
    assert reasons(read(exports, [carbon(0.005, usage_account_id="999999999999")])) == {"no_usage": 5}


def write_quarter(exports: Exports, *rows: str) -> None:
    folder = exports._source("console", "aws_carbon") / f"payer={PAYER}" / f"account={ACCOUNT}"
    folder.mkdir(parents=True)
    text = "usage_quarter,service,region,total_lbm_emissions,model_version\n" + "".join(f"{row},v3.0.1\n" for row in rows)
    (folder / "q.csv").write_text(text, encoding="utf-8")


def test_a_quarter_is_divided_by_what_was_billed_in_each_month_and_without_that_by_days(exports: Exports) -> None:
    """50 were billed in April, 30 in May and 20 in June; a fifth of April's is the run's."""
    write_quarter(exports, "2026-Q2,AmazonEC2,US East (Ohio),0.010", "2026-Q2,AmazonEC2,Global,0.000091")
    for month, cost in (("05", 30.0), ("06", 20.0)):
        exports.bill([hour(f"2026-{month}-10T10:00:00", cost)], period=f"2026-{month}")
    tables = Oracle(exports.config()).tables()
    [row] = tables["fct_run_cell_emissions"].values()
    assert row[LOCATION_BASED] == 1
    found = {(key[6].month, key[-1]): row[LOCATION_BASED] for key, row in tables["fct_residual_emissions"].items()}
    by_month = {month: sum(mass for (of, why), mass in found.items() if of == month and why != "global") for month in (4, 5, 6)}
    assert by_month == {4: 4, 5: 3, 6: 2}
    assert {key: float(mass) for key, mass in found.items() if key[1] == "global"} == {
        (4, "global"): 0.03, (5, "global"): 0.031, (6, "global"): 0.03
    }  # fmt: skip


def test_a_quarter_beside_a_month_of_its_own_is_compared_with_all_three(exports: Exports) -> None:
    write_quarter(exports, "Q2 2026,AmazonEC2,US East (Ohio),0.010")
    for month in (4, 5, 6):
        exports.carbon([carbon(0.003, usage_period_start=f"2026-{month:02d}-01")], period=f"2026-{month:02d}")
    tables = Oracle(exports.config()).tables()
    [(key, row)] = [
        (key, row) for key, row in tables["fct_reconciliation"].items() if key[9] == "cross_check" and key[6] == LOCATION_BASED
    ]
    assert (key[5], row["provider_total"], row["difference"]) == (date(2026, 6, 1), 10, 1)
