"""Answers of the AWS Sustainability API about water: withdrawals of calendar years, by account and region."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from connectors.errors import ConnectorError
from tests.aws_apis import water
from tests.connectors.kit import converted, rows_of, write_bytes

PAYER, MEMBER = "000000000017", "012345678901"


def answer(folder: Path, *results: dict[str, Any], below: str = f"payer={PAYER}/", **more: Any) -> Path:
    """Saved as the interface gives it, but for the changes of a test."""
    write_bytes(folder / f"{below}2025.json", json.dumps({"Results": list(results), **more}).encode())
    return folder


def test_the_invented_answers_have_the_form_of_the_interface() -> None:
    service = botocore.session.get_session().get_service_model("sustainability")
    document = {"Results": [water(2025, 1.5)]}
    assert (
        not ParamValidator().validate(document, service.operation_model("GetEstimatedWaterAllocation").output_shape).has_errors()
    )


def test_each_group_is_the_water_of_a_year_account_and_region(tmp_path: Path) -> None:
    """As the AWS CLI prints it, times with an offset; a group without an account is of the folder's, without a region of all."""
    whole = water(2024, 7.25)
    whole["TimePeriod"] = {"Start": "2024-01-01T00:00:00+00:00", "End": "2025-01-01T00:00:00+00:00"}
    whole["DimensionsValues"] = {}
    folder = answer(tmp_path / "w", water(2025, 1234.5), whole, below=f"saved/payer={PAYER}/account=000000000099/")
    assert rows_of(converted("aws_water", folder, tmp_path / "landing")) == [
        {
            "payer_account_id": PAYER, "usage_account_id": MEMBER, "period_start": dt.date(2025, 1, 1), "model_version": "v1.0.0",
            "withdrawal_m3": 1234.5, "region": "us-east-1",
        },
        {
            "payer_account_id": PAYER, "usage_account_id": "000000000099", "period_start": dt.date(2024, 1, 1),
            "model_version": "v1.0.0", "withdrawal_m3": 7.25, "region": None,
        },
    ]  # fmt: skip


def test_an_answer_about_a_year_that_is_not_out_has_no_rows(tmp_path: Path) -> None:
    assert converted("aws_water", answer(tmp_path / "w"), tmp_path / "landing").rows == 0


def of(**changes: Any) -> dict[str, Any]:
    return water(2025, 1.0) | changes


def lasting(start: str, end: str) -> dict[str, str]:
    return {"Start": start, "End": end}


@pytest.mark.parametrize(
    ("results", "more", "reason", "named"),
    [
        ([of(TimePeriod=lasting("2025-01-01T00:00:00Z", "2025-07-01T00:00:00Z"))], {}, "unsupported_format", "no calendar year"),
        ([of(TimePeriod=lasting("0001-01-01T00:00:00+05:00", "2025-01-01T00:00:00Z"))], {}, "unsupported_format", "result 1"),
        ([of(DimensionsValues={"REGION": "us-east-1"})], {}, "wrong_value", "result 1 names no USAGE_ACCOUNT_ID"),
        ([water(2025, 1.0, SERVICE="AmazonEC2")], {}, "wrong_value", "result 1 is a part by SERVICE"),
        ([water(2025, 1.0), water(2025, 2.0)], {}, "wrong_value", f"result 2 has 2025 of {MEMBER} us-east-1 once more"),
        ([water(2025, 1.0), of(DimensionsValues={"USAGE_ACCOUNT_ID": MEMBER})], {}, "wrong_value", "both whole and by region"),
        ([of(AllocationValues={})], {}, "wrong_value", "result 1 has no TOTAL_WATER_WITHDRAWALS"),
        ([of(AllocationValues={"TOTAL_WATER_WITHDRAWALS": {"Value": 1.0, "Unit": "L"}})], {}, "wrong_unit", "in L, where m3"),
        ([water(2025, -1.0)], {}, "wrong_type", "no number from 0"),
        ([water(2025, 1e13)], {}, "wrong_type", "no number from 0"),
        ([water(2025, 1.0)], {"NextToken": "more"}, "wrong_value", "it has a next page"),
        ([water(2025, 1.0)], {"below": ""}, "wrong_value", "no folder payer="),
        ([{"ModelVersion": 3}], {}, "bad_json", "is no answer about water"),
    ],
)  # fmt: skip
def test_what_is_no_water_of_a_year_is_refused_with_what_to_ask(
    tmp_path: Path, results: list[dict[str, Any]], more: dict[str, Any], reason: str, named: str
) -> None:
    with pytest.raises(ConnectorError, match=named) as error:
        converted("aws_water", answer(tmp_path / "w", *results, **more), tmp_path / "landing")
    assert error.value.reason == reason
    assert "GroupBy USAGE_ACCOUNT_ID and REGION" in error.value.remedy and error.value.source_object
