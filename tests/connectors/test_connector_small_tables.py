"""Exchange rates and the organisation's own figures: CSV that people write, taken whole or refused with the row that is wrong."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from connectors.deliveries import Delivery
from connectors.errors import ExportContentError, ExportSchemaError
from connectors.registry import connector_for
from connectors.stores.opening import open_store
from tests.connectors.kit import converted, found, rows_of, write_csv

RATES = "rate_date,base_currency,quote_currency,rate,source\n"
INPUTS = "kind,key,value,unit,source,valid_from,valid_to\n"


def test_a_rate_stays_as_written(tmp_path: Path) -> None:
    write_csv(
        tmp_path / "fx/ecb.csv.gz", "\ufeff" + RATES + "2026-04-01,EUR,USD,1.08170000000000000001,ECB\n2026-04-02,EUR,USD,1.1,\n"
    )
    first, second = rows_of(converted("fx_rates", tmp_path / "fx", tmp_path / "landing"))
    assert first == {
        "rate_date": dt.date(2026, 4, 1), "base_currency": "EUR", "quote_currency": "USD", "rate": "1.08170000000000000001",
        "source": "ECB",
    }  # fmt: skip
    assert (second["rate"], second["source"]) == ("1.1", None)


def test_a_location_may_be_one_file(tmp_path: Path) -> None:
    write_csv(tmp_path / "fx.csv", RATES + "2026-04-01,EUR,USD,1.1,\n")
    (delivery,) = connector_for("fx_rates").find_deliveries(open_store("fx.csv", base=tmp_path))
    assert isinstance(delivery, Delivery) and delivery.partition == "fx.csv"


@pytest.mark.parametrize(
    ("row", "column", "reason"),
    [
        ("2026-04-31,EUR,USD,1.1,", "rate_date", "wrong_type"),
        ("01.04.2026,EUR,USD,1.1,", "rate_date", "wrong_type"),
        (",EUR,USD,1.1,", "rate_date", "missing_value"),
        ("2026-04-01,eur,USD,1.1,", "base_currency", "wrong_value"),
        ("2026-04-01,EUR,USD,0,", "rate", "wrong_value"),
        ("2026-04-01,EUR,USD,-1,", "rate", "wrong_value"),
        ("2026-04-01,EUR,USD,,", "rate", "missing_value"),
        ('2026-04-01,EUR,USD,"1,1",', "rate", "wrong_type"),
        ("2026-03-31,EUR,USD,1.2,other", "rate_date, base_currency, quote_currency", "repeated_row"),
    ],
)
def test_a_wrong_rate_is_named_with_its_row(tmp_path: Path, row: str, column: str, reason: str) -> None:
    write_csv(tmp_path / "fx/ecb.csv", RATES + f"2026-03-31,EUR,USD,1.1,ECB\n{row}\n")
    with pytest.raises(ExportContentError) as refused:
        converted("fx_rates", tmp_path / "fx", tmp_path / "landing")
    assert (refused.value.row_number, refused.value.column_name, refused.value.reason) == (2, column, reason)


@pytest.mark.parametrize("kind", ["fx_rates", "user_inputs"])
def test_a_missing_column_is_named_and_an_unknown_one_listed(tmp_path: Path, kind: str) -> None:
    schema = connector_for(kind).SCHEMA
    write_csv(tmp_path / "bad/a.csv", "note\nx\n")
    missing = ", ".join(column.name for column in schema if column.required)
    with pytest.raises(ExportSchemaError, match=f"missing columns {missing}"):
        converted(kind, tmp_path / "bad", tmp_path / "landing")
    write_csv(tmp_path / "good/a.csv", ",".join((*schema.names, "note")) + "\n")
    result = converted(kind, tmp_path / "good", tmp_path / "landing")
    assert (result.rows, result.unknown_columns) == (0, ("note",))


def test_an_input_has_its_unit_source_and_dates(tmp_path: Path) -> None:
    write_csv(
        tmp_path / "inputs/own.csv",
        INPUTS + "pue,us-west4,1.08,ratio,meter 2026,2026-01-01,2027-01-01\npue,us-east1,1.1,ratio,x,,\n",
    )
    first, second = rows_of(converted("user_inputs", tmp_path / "inputs", tmp_path / "landing"))
    assert first == {
        "kind": "pue", "key": "us-west4", "value": "1.08", "unit": "ratio", "source": "meter 2026",
        "valid_from": dt.date(2026, 1, 1), "valid_to": dt.date(2027, 1, 1),
    }  # fmt: skip
    assert (second["valid_from"], second["valid_to"]) == (None, None)


ALL_INPUTS = "kind,key,value,unit,source,training_run_id,region_id,basis,valid_from,valid_to,source_date\n"
GOOD_INPUTS = (
    "measured_energy,Run A,1.287,GWh,meter 7,,us-east-1,facility,2026-07-01,2026-08-01,2026-08-02",
    "measured_energy,Run A,0,Wh,meter 7,,,chip,2026-12-01,2027-01-01,2027-01-02",
    "pue,*,1.21,ratio,hall report,run-a,,,,,2026-08-02",
    "idle_power,trn1.32xlarge,0.043,kW,bench,,us-east-1,,2026-01-01,,2026-08-02",
    "max_power,v100,300,W,data sheet,run-a,,,,,2026-08-02",
    "factor,us-east-1,429,gCO2e/kWh,contract,,,location_based,2026-01-01,2027-01-01,2026-08-02",
    "factor,us-east-2,0.429,tCO2e/MWh,contract,,,,,,",
    "porting_cost_to_tpu,llama-8b,120000,USD,estimate,,,,,,2026-08-15",
    "porting_cost_to_trainium,llama-8b,90000,CHF,estimate,,,,,,",
    "porting_emissions_to_tpu,llama-8b,1.2,tCO2e,both for a week,,,,,,",
)


def test_figures_of_every_kind_are_taken(tmp_path: Path) -> None:
    write_csv(tmp_path / "inputs/own.csv", ALL_INPUTS + "\n".join(GOOD_INPUTS) + "\n")
    taken = rows_of(converted("user_inputs", tmp_path / "inputs", tmp_path / "landing"))
    assert len(taken) == len(GOOD_INPUTS)
    assert (taken[0]["basis"], taken[0]["region_id"], taken[0]["source_date"]) == ("facility", "us-east-1", dt.date(2026, 8, 2))


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("power,trn1.32xlarge,300,W,x,,,,,,", "kind"),
        ("pue,us-east-1,1.1,percent,x,,,,,,", "unit"),
        ("measured_energy,a,1,J,x,,,it,2026-07-01,,", "unit"),
        ("pue,us-east-1,0.99,ratio,x,,,,,,", "value"),
        ("factor,us-east-1,429,kgCO2e/kWh,x,,,,,,", "value"),
        ("measured_energy,a,-1,kWh,x,,,it,2026-07-01,,", "value"),
        ("measured_energy,a,1e9,GWh,x,,,it,2026-07-01,,", "value"),
        ("pue,us-east-1,1.1,ratio,x,,us-east-2,,,,", "region_id"),
        ("measured_energy,a,1,kWh,x,b,,it,2026-07-01,,", "training_run_id"),
        ("measured_energy,a,1,kWh,x,,,,2026-07-01,,", "basis"),
        ("measured_energy,a,1,kWh,x,,,rack,2026-07-01,,", "basis"),
        ("factor,us-east-1,0.2,kgCO2e/kWh,x,,,market_based,,,", "basis"),
        ("max_power,v100,300,W,x,,,board,,,", "basis"),
        ("porting_cost_to_tpu,w,1,dollars,x,,,,,,", "unit"),
        ("porting_cost_to_tpu,w,-1,USD,x,,,,,,", "value"),
        ("porting_cost_to_tpu,w,1,USD,x,,us-east-1,,,,", "region_id"),
        ("porting_emissions_to_tpu,w,1,USD,x,,,,,,", "unit"),
        ("own_scope_1,FY26,1,tCO2e,x,,,,,,", "key"),
        ("own_scope_1,2026,1,t,x,,,,,,", "unit"),
        ("own_scope_3_category_16,2026,1,tCO2e,x,,,,,,", "kind"),
        ("own_scope_2_market_based,2026,-1,tCO2e,x,,,,,,", "value"),
        ("own_scope_2_market_based,2026,1e9,tCO2e,x,,,,,,", "value"),
        ("own_revenue,2026,1,tCO2e,x,,,,,,", "unit"),
        ("own_headcount,2026,3,employees,x,,us-east-1,,,,", "region_id"),
        ("measured_energy,a,1,kWh,x,,,it,,,", "valid_from"),
        ("measured_energy,a,1,kWh,x,,,it,2026-07-02,,", "valid_from"),
        ("measured_energy,a,1,kWh,x,,,it,2026-07-01,2026-09-01,", "valid_to"),
    ],
)
def test_a_figure_that_is_none_of_them_is_refused_by_its_row_and_column(tmp_path: Path, row: str, column: str) -> None:
    write_csv(tmp_path / "inputs/own.csv", f"{ALL_INPUTS}{GOOD_INPUTS[0]}\n{row}\n")
    with pytest.raises(ExportContentError) as refused:
        converted("user_inputs", tmp_path / "inputs", tmp_path / "landing")
    assert (refused.value.row_number, refused.value.column_name, refused.value.reason) == (2, column, "wrong_value")


def test_the_figure_of_a_run_is_kept_beside_that_of_the_region(tmp_path: Path) -> None:
    write_csv(tmp_path / "inputs/own.csv", f"{ALL_INPUTS}pue,a,1.1,ratio,x,,,,,,\npue,a,1.2,ratio,x,run-a,,,,,\n")
    assert len(rows_of(converted("user_inputs", tmp_path / "inputs", tmp_path / "landing"))) == 2


@pytest.mark.parametrize(
    ("row", "column", "reason"),
    [
        ("pue,b,1.1,ratio,,,", "source", "missing_value"),
        ("pue,b,low,ratio,x,,", "value", "wrong_type"),
        ("pue,b,1.1,ratio,x,2026-01-01,2026-01-01", "valid_to", "ends_before_start"),
        ("pue,a,1.2,ratio,x,,", "kind, key, valid_from", "repeated_row"),
    ],
)
def test_a_wrong_input_is_named_with_its_row(tmp_path: Path, row: str, column: str, reason: str) -> None:
    write_csv(tmp_path / "inputs/own.csv", INPUTS + f"pue,a,1.1,ratio,x,,\n{row}\n")
    with pytest.raises(ExportContentError) as refused:
        converted("user_inputs", tmp_path / "inputs", tmp_path / "landing")
    assert (refused.value.row_number, refused.value.column_name, refused.value.reason) == (2, column, reason)


def test_only_csv_files_are_deliveries(tmp_path: Path) -> None:
    for name in ("a.csv", "b/c.csv.gz", "d.xlsx", ".e.csv"):
        write_csv(tmp_path / "fx" / name, RATES)
    assert [one.partition for one in found("fx_rates", tmp_path / "fx")] == ["a.csv", "b~c.csv.gz"]


PRICES = "provider_name,accelerator_type,region_id,purchase_option,currency,price_per_hour,valid_from,valid_to,source\n"
PRICE = "Google Cloud,v5e,us-west4,on_demand,USD,1.20,2026-01-01,,price list (example)\n"


def test_own_prices_are_figures_of_kind_price(tmp_path: Path) -> None:
    write_csv(tmp_path / "own/prices.csv", PRICES + PRICE)
    [row] = rows_of(converted("user_inputs", tmp_path / "own", tmp_path / "landing"))
    assert row == {
        "kind": "price", "provider_name": "Google Cloud", "key": "v5e", "region_id": "us-west4", "basis": "on_demand",
        "unit": "USD", "value": "1.20", "valid_from": dt.date(2026, 1, 1), "valid_to": None, "source": "price list (example)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "column", "reason"),
    [
        ("Google Cloud", "GCP", "provider_name", "wrong_value"),
        ("on_demand", "capacity_block", "purchase_option", "wrong_value"),
        ("USD", "usd", "currency", "wrong_value"),
        ("1.20", "0", "price_per_hour", "wrong_value"),
        ("1.20", "1e8", "price_per_hour", "wrong_type"),
        ("1.20", "1.20 USD", "price_per_hour", "wrong_type"),
        ("v5e", "", "accelerator_type", "missing_value"),
        ("price list (example)", "", "source", "missing_value"),
        ("2026-01-01,", "2026-01-01,2026-01-01", "valid_to", "ends_before_start"),
        ("1.20", "1.30", "accelerator_type, region_id, purchase_option, currency, valid_from", "repeated_row"),
    ],
)
def test_a_wrong_price_is_named_with_its_row(tmp_path: Path, old: str, new: str, column: str, reason: str) -> None:
    write_csv(tmp_path / "own/prices.csv", PRICES + PRICE + PRICE.replace(old, new, 1))
    with pytest.raises(ExportContentError) as refused:
        converted("user_inputs", tmp_path / "own", tmp_path / "landing")
    assert (refused.value.row_number, refused.value.column_name, refused.value.reason) == (2, column, reason)


NAMES = "model_name,same_as,source,source_date\n"
NAME = "llama3-8b-neuron,llama-3-8b,model card (example),2026-03-02\n"


def test_a_table_of_model_names_is_figures_of_kind_model_name(tmp_path: Path) -> None:
    write_csv(tmp_path / "own/names.csv", NAMES + NAME)
    [row] = rows_of(converted("user_inputs", tmp_path / "own", tmp_path / "landing"))
    assert row == {
        "kind": "model_name", "key": "llama3-8b-neuron", "same_as": "llama-3-8b", "unit": "name",
        "source": "model card (example)", "source_date": dt.date(2026, 3, 2),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "column", "reason"),
    [
        ("llama-3-8b", "llama3-8b-neuron", "same_as", "wrong_value"),
        ("llama-3-8b", "", "same_as", "missing_value"),
        ("llama-3-8b", "llama-3", "model_name", "repeated_row"),
    ],
)
def test_a_wrong_model_name_is_named_with_its_row(tmp_path: Path, old: str, new: str, column: str, reason: str) -> None:
    write_csv(tmp_path / "own/names.csv", NAMES + NAME + NAME.replace(old, new, 1))
    with pytest.raises(ExportContentError) as refused:
        converted("user_inputs", tmp_path / "own", tmp_path / "landing")
    assert (refused.value.row_number, refused.value.column_name, refused.value.reason) == (2, column, reason)


CAPACITIES = "capacity_id,instances,started_at,ended_at,source\n"
CAPACITY = "cr-0a,2,2026-04-10T00:00:00Z,2026-04-12T00:00:00Z,console (example)\n"
EXTENSION = {
    "CapacityReservationId": "cr-0a",
    "InstanceCount": 2,
    "CapacityBlockExtensionStatus": "payment-succeeded",
    "CapacityBlockExtensionStartDate": 1775952000.0,
    "CapacityBlockExtensionEndDate": "2026-04-13T00:00:00Z",
}


def test_a_table_of_capacity_is_figures_of_kind_capacity(tmp_path: Path) -> None:
    write_csv(tmp_path / "own/capacity.csv", CAPACITIES + CAPACITY)
    [row] = rows_of(converted("user_inputs", tmp_path / "own", tmp_path / "landing"))
    assert row == {
        "kind": "capacity", "key": "cr-0a", "value": row["value"], "unit": "instances", "source": "console (example)",
        "started_at": dt.datetime(2026, 4, 10), "ended_at": dt.datetime(2026, 4, 12),
    }  # fmt: skip
    assert float(row["value"]) == 2


def test_an_answer_about_extensions_is_read_and_one_that_was_not_paid_is_not(tmp_path: Path) -> None:
    failed = EXTENSION | {"CapacityBlockExtensionStatus": "payment-failed", "InstanceCount": 7}
    (tmp_path / "own").mkdir()
    (tmp_path / "own/extensions.json").write_text(json.dumps({"CapacityBlockExtensions": [EXTENSION, failed]}))
    [row] = rows_of(converted("user_inputs", tmp_path / "own", tmp_path / "landing"))
    assert (row["key"], float(row["value"]), row["source"]) == ("cr-0a", 2, "AWS, CapacityBlockExtensions")
    assert (row["started_at"], row["ended_at"]) == (dt.datetime(2026, 4, 12), dt.datetime(2026, 4, 13))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [('{"CapacityReservations": []}', "unknown_record"), ("[1]", "unknown_record"), ("{", "bad_json")],
)
def test_an_answer_that_states_no_capacity_is_refused(tmp_path: Path, answer: str, reason: str) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/answer.json").write_text(answer)
    with pytest.raises(ExportContentError) as refused:
        converted("user_inputs", tmp_path / "own", tmp_path / "landing")
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("old", "new", "column", "reason"),
    [
        (",2,", ",2.5,", "instances", "wrong_value"),
        (",2,", ",0,", "instances", "wrong_value"),
        ("2026-04-12T00:00:00Z", "", "ended_at", "wrong_value"),
        ("2026-04-12T00:00:00Z", "2026-04-10T00:00:00Z", "ended_at", "wrong_value"),
        ("console", "order", "capacity_id, started_at", "repeated_row"),
    ],
)
def test_a_wrong_capacity_is_named_with_its_row(tmp_path: Path, old: str, new: str, column: str, reason: str) -> None:
    write_csv(tmp_path / "own/capacity.csv", CAPACITIES + CAPACITY + CAPACITY.replace(old, new, 1))
    with pytest.raises(ExportContentError) as refused:
        converted("user_inputs", tmp_path / "own", tmp_path / "landing")
    assert (refused.value.row_number, refused.value.column_name, refused.value.reason) == (2, column, reason)
