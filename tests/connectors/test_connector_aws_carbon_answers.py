"""Saved answers of the AWS Sustainability API: each month of a file is a delivery, of the accounts that its groups name."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Converted, Delivery
from connectors.errors import ExportContentError
from connectors.registry import connector_for
from tests.aws_apis import emissions
from tests.connectors.kit import CARBON, found, only_refusal, rows_of, store_of, table, write_bytes
from tests.connectors.test_connector_aws_carbon import export

PAYER, MEMBER = "000000000017", "012345678901"


def save(folder: Path, *results: dict[str, Any], name: str = "2026.json", **more: Any) -> None:
    write_bytes(folder / f"source/payer={PAYER}" / name, json.dumps({"Results": list(results), **more}).encode())


def convert(folder: Path, delivery: Delivery) -> Converted:
    store, target = store_of(folder / "source"), folder / "landing" / delivery.partition
    target.mkdir(parents=True)
    [info] = delivery.objects
    store.fetch(info, target / "answer.json")
    return connector_for("aws_carbon").convert(delivery, {info.key: target / "answer.json"}, target, store.uri)


def deliveries(folder: Path) -> list[Delivery]:
    return [one for one in found("aws_carbon", folder / "source") if isinstance(one, Delivery)]


def test_each_month_of_an_answer_is_a_delivery_with_the_accounts_regions_and_services_of_its_groups(tmp_path: Path) -> None:
    """As the AWS CLI prints it, times with an offset; a group without an account is of the folder's."""
    may = emissions("2026-05", "2026-06", 2.0)
    may["TimePeriod"] = {"Start": "2026-05-01T00:00:00+00:00", "End": "2026-06-01T00:00:00+00:00"}
    other = emissions("2026-04", "2026-05", 0.000001, SERVICE="Other", REGION="global")
    del other["DimensionsValues"]["USAGE_ACCOUNT_ID"]
    save(tmp_path, emissions("2026-04", "2026-05", 1.284001), may, other)
    april, of_may = deliveries(tmp_path)
    assert (april.partition, of_may.partition) == (f"2026-04@api~{PAYER}", f"2026-05@api~{PAYER}")
    first, second = rows_of(convert(tmp_path, april))
    assert first == {
        "payer_account_id": PAYER,
        "usage_account_id": MEMBER,
        "usage_period_start": dt.datetime(2026, 4, 1),  # noqa: DTZ001 - Parquet holds naive times, and they are UTC
        "model_version": "v3.0.1",
        "location": "us-east-1",
        "product_code": "AmazonEC2",
        "total_lbm_emissions_value": 1.284001,
        "total_mbm_emissions_value": 0.0,
        "total_scope_1_emissions_value": 0.0,
        "total_scope_2_lbm_emissions_value": 1.284001,
        "total_scope_2_mbm_emissions_value": 0.0,
        "total_scope_3_lbm_emissions_value": 0.0,
        "total_scope_3_mbm_emissions_value": 0.0,
        "line_number": 1,
    }
    assert (second["usage_account_id"], second["location"], second["line_number"]) == (PAYER, "global", 3)
    assert [row["line_number"] for row in rows_of(convert(tmp_path, of_may))] == [2]


def test_a_fiscal_quarter_of_an_answer_is_a_delivery_of_each_of_its_months(tmp_path: Path) -> None:
    """Its time is stated, so any months in a row are known; one that may still lack a month is left out."""
    running = emissions("2099-02", "2099-05", 3.0)
    save(tmp_path, emissions("2026-01", "2026-02", 1.0), emissions("2026-02", "2026-05", 2.0), running)
    assert [one.partition for one in deliveries(tmp_path)] == [
        f"2026-01@api~{PAYER}",
        *(f"2026-{month}@api~{PAYER}~2026-02..2026-04" for month in ("02", "03", "04")),
    ]
    [row] = rows_of(convert(tmp_path, deliveries(tmp_path)[2]))
    assert (row["usage_period_start"], row["total_lbm_emissions_value"]) == (dt.datetime(2026, 3, 1), 2.0)  # noqa: DTZ001
    assert (row["period_start"], row["period_end"]) == (dt.datetime(2026, 2, 1), dt.datetime(2026, 5, 1))  # noqa: DTZ001


def test_a_mass_that_was_not_asked_for_is_unknown(tmp_path: Path) -> None:
    group = emissions("2026-04", "2026-05", 1.0)
    group["EmissionsValues"] = {"TOTAL_MBM_CARBON_EMISSIONS": {"Value": 0.5, "Unit": "MTCO2e"}}
    save(tmp_path, group)
    [row] = rows_of(convert(tmp_path, deliveries(tmp_path)[0]))
    assert (row["total_mbm_emissions_value"], row["total_lbm_emissions_value"]) == (0.5, None)


@pytest.mark.parametrize(
    ("change", "reason", "what"),
    [
        (
            {"TimePeriod": {"Start": "2026-04-01T00:00:00Z", "End": "2026-06-15T00:00:00Z"}},
            "unsupported_format",
            "no whole months",
        ),
        ({"DimensionsValues": {"REGION": "us-east-1"}}, "wrong_value", "result 2 names no SERVICE"),
    ],
)
def test_an_answer_of_parts_of_months_or_without_region_and_service_is_refused_when_it_is_found(
    tmp_path: Path, change: dict[str, Any], reason: str, what: str
) -> None:
    save(tmp_path, emissions("2026-04", "2026-05", 1.0), emissions("2026-04", "2026-05", 1.0) | change)
    refused = only_refusal("aws_carbon", tmp_path / "source")
    assert (refused.reason, what in refused.message) == (reason, True)
    assert "Granularity=MONTHLY and GroupBy REGION and SERVICE" in refused.remedy


@pytest.mark.parametrize(
    ("results", "reason", "what"),
    [
        ([emissions("2026-04", "2026-05", 1.0), emissions("2026-04", "2026-05", 1.0, "v3.0.0")], "wrong_value", "model versions"),
        ([emissions("2026-05", "2026-06", 1.0)], "contradicts_partition", "it has 2026-05, and its name is of 2026-04"),
        ([emissions("2026-04", "2026-05", 1e15)], "wrong_type", "no finite number"),
    ],
)
def test_what_a_month_cannot_be_made_of_is_refused(tmp_path: Path, results: list[Any], reason: str, what: str) -> None:
    save(tmp_path, *results, name="2026-04.json")
    with pytest.raises(ExportContentError, match=what) as raised:
        convert(tmp_path, deliveries(tmp_path)[0])
    assert raised.value.reason == reason


def test_another_unit_is_refused(tmp_path: Path) -> None:
    group = emissions("2026-04", "2026-05", 1.0)
    group["EmissionsValues"]["TOTAL_LBM_CARBON_EMISSIONS"]["Unit"] = "kgCO2e"
    save(tmp_path, group, name="2026-04.json")
    with pytest.raises(ExportContentError, match="in kgCO2e, where MTCO2e is expected"):
        convert(tmp_path, deliveries(tmp_path)[0])


@pytest.mark.parametrize(
    ("content", "reason"),
    [({"NextToken": "more"}, "wrong_value"), ({"Results": []}, "no_rows"), ({"Results": [{"ModelVersion": 3}]}, "bad_json")],
)
def test_a_page_of_several_an_empty_answer_and_what_is_none_are_refused_by_name(
    tmp_path: Path, content: dict[str, Any], reason: str
) -> None:
    save(tmp_path, emissions("2026-04", "2026-05", 1.0), **content)
    assert only_refusal("aws_carbon", tmp_path / "source").reason == reason


def test_an_answer_beside_an_export_is_refused_because_its_emissions_would_count_twice(tmp_path: Path) -> None:
    export(tmp_path / "source", table(CARBON))
    save(tmp_path, emissions("2026-04", "2026-05", 1.0))
    [refused] = [one for one in found("aws_carbon", tmp_path / "source") if not isinstance(one, Delivery)]
    assert refused.reason == "two_exports" and "a source of their own" in refused.remedy
