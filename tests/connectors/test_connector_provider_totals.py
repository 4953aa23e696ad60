"""Totals that a provider states by itself: a CSV of invoices, and answers of AWS Cost Explorer as boto3 gives them."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from connectors.errors import ConnectorError
from tests.connectors.kit import converted, rows_of, write_bytes, write_csv

HEADER = "provider_name,payer_account_id,usage_month,currency,amount,charge_type,source\n"
APRIL, MAY = ({"Start": f"2026-0{month}-01", "End": f"2026-0{month + 1}-01"} for month in (4, 5))


def cost(amount: str) -> dict[str, Any]:
    return {"UnblendedCost": {"Amount": amount, "Unit": "USD"}}


def answer(folder: Path, *results: dict[str, Any], payer: str = "payer=000000000017/", **more: Any) -> Path:
    document = {"GroupDefinitions": [{"Type": "DIMENSION", "Key": "RECORD_TYPE"}], "ResultsByTime": list(results), **more}
    shape = botocore.session.get_session().get_service_model("ce").operation_model("GetCostAndUsage").output_shape
    assert not ParamValidator().validate(document, shape).has_errors(), "not the form of the interface"
    write_bytes(folder / f"{payer}2026.json", json.dumps(document).encode())
    return folder


def test_an_invoice_is_a_total_of_its_month(tmp_path: Path) -> None:
    write_csv(tmp_path / "t/invoices.csv", HEADER + "Google Cloud,01AB-CD,2026-04-01,EUR,1234.50,,invoice 7\n")
    [row] = rows_of(converted("provider_totals", tmp_path / "t", tmp_path / "landing"))
    assert row == {
        "provider_name": "Google Cloud", "payer_account_id": "01AB-CD", "usage_month": dt.date(2026, 4, 1), "currency": "EUR",
        "amount": "1234.50", "charge_type": None, "source": "invoice 7",
    }  # fmt: skip


def test_an_answer_of_cost_explorer_is_a_total_of_each_charge_type_and_an_estimate_is_none(tmp_path: Path) -> None:
    groups = [{"Keys": [name], "Metrics": cost(amount)} for name, amount in (("Usage", "90.0000000001"), ("Tax", "-1.0E-10"))]
    folder = answer(
        tmp_path / "t",
        {"TimePeriod": APRIL, "Total": {}, "Groups": groups, "Estimated": False},
        {"TimePeriod": MAY, "Total": {}, "Groups": groups, "Estimated": True},
    )
    result = converted("provider_totals", folder, tmp_path / "landing")
    assert [(row["payer_account_id"], str(row["usage_month"]), row["charge_type"], row["amount"]) for row in rows_of(result)] == [
        ("000000000017", "2026-04-01", "Usage", "90.0000000001"),
        ("000000000017", "2026-04-01", "Tax", "-1.0E-10"),
    ]
    [remark] = result.refusals
    assert (remark.reason, remark.value) == ("estimated_total", "2026-05")


def test_an_answer_that_is_not_grouped_is_the_total_of_its_month(tmp_path: Path) -> None:
    month = {"TimePeriod": APRIL, "Total": cost("100"), "Groups": [], "Estimated": False}
    [row] = rows_of(converted("provider_totals", answer(tmp_path / "t", month, GroupDefinitions=[]), tmp_path / "landing"))
    assert (row["charge_type"], row["amount"]) == (None, "100")


@pytest.mark.parametrize(
    ("month", "more", "named"),
    [
        ({"TimePeriod": {"Start": "2026-04-01", "End": "2026-04-30"}}, {}, "is no month"),
        ({"Total": {"NetUnblendedCost": {"Amount": "1", "Unit": "USD"}}}, {}, "has no UnblendedCost"),
        ({"Total": cost("NaN")}, {}, "NaN in 2026-04 is no amount"),
        ({"Total": {"UnblendedCost": {"Amount": "1", "Unit": "N/A"}}}, {}, "N/A in 2026-04 is no currency"),
        ({"Groups": [{"Keys": ["Tax"], "Metrics": cost("1")}] * 2}, {}, "2026-04 has Tax twice"),
        ({}, {"payer": ""}, "no folder payer="),
        ({}, {"NextPageToken": "more"}, "it has a next page"),
        ({}, {"GroupDefinitions": [{"Type": "DIMENSION", "Key": "SERVICE"}]}, "it is grouped by SERVICE"),
    ],
)
def test_an_answer_that_is_no_total_of_months_is_refused_with_what_to_ask(
    tmp_path: Path, month: dict[str, Any], more: dict[str, Any], named: str
) -> None:
    folder = answer(tmp_path / "t", {"TimePeriod": APRIL, "Total": cost("1"), "Groups": []} | month, **more)
    with pytest.raises(ConnectorError, match=named) as error:
        converted("provider_totals", folder, tmp_path / "landing")
    assert "get-cost-and-usage" in error.value.remedy


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("Azure,1,2026-04-01,USD,1,,", "provider_name"),
        ("AWS,1,2026-04-02,USD,1,,", "usage_month"),
        ("AWS,1,2026-04-01,dollars,1,,", "currency"),
    ],
)
def test_a_total_that_is_wrong_is_refused_by_its_column(tmp_path: Path, row: str, column: str) -> None:
    write_csv(tmp_path / "t/invoices.csv", f"{HEADER}{row}\n")
    with pytest.raises(ConnectorError) as error:
        converted("provider_totals", tmp_path / "t", tmp_path / "landing")
    assert (error.value.reason, error.value.column_name) == ("wrong_value", column)
