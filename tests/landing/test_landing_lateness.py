"""Which sources are late: by the provider's promise, and never because a month went by without training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dagster_project.landing.lateness import lateness
from dagster_project.landing.records import Generation
from dagster_project.settings import SourceSettings, settings_of
from tests.landing.kit import instant


def source(tmp_path: Path, kind: str, **more: Any) -> SourceSettings:
    listed = [{"name": "payer-a", "kind": kind, "location": "./exports", **more}]
    return settings_of({"organisation": {"name": "Test"}, "sources": listed}, tmp_path / "trainledger.yaml").sources[0]


def delivered(at: str, partition: str = "2026-08@v3.0.0") -> Generation:
    return Generation(
        source="payer-a",
        kind="",
        partition=partition,
        delivery_id="",
        identity="",
        published_at=instant(at),
        landed_at=instant("2026-12-01"),
        content_hash="",
        objects=[],
    )


@pytest.mark.parametrize(
    ("kind", "newest", "in_time", "warned", "failed"),
    [
        ("aws_cur", "2026-09-10T00:00", "2026-09-11T05:59", "2026-09-11T06:00", "2026-09-12T00:00"),
        ("gcp_billing", "2026-09-10T00:00", "2026-09-11T05:59", "2026-09-11T06:00", "2026-09-12T00:00"),
        # August is there; September is due from 15 October at Google, from the 15th to the 21st at AWS
        ("gcp_carbon", "2026-09-15T00:00", "2026-10-16T23:59", "2026-10-17T00:00", "2026-10-22T00:00"),
        ("aws_carbon", "2026-10-14T00:00", "2026-10-20T23:59", "2026-10-21T00:00", "2026-10-22T00:00"),
        # a team that trains on the first of every month is never late
        ("training_runs", "2026-08-01T00:00", "2026-09-04T23:59", "2026-09-05T00:00", "2026-11-09T00:00"),
        ("neuron_monitor", "2026-08-01T00:00", "2026-09-01T23:59", "2026-09-05T00:00", "2026-11-09T00:00"),
    ],
)
def test_a_source_is_late_from_the_day_its_provider_should_have_delivered(
    tmp_path: Path, kind: str, newest: str, in_time: str, warned: str, failed: str
) -> None:
    levels = []
    for at in (in_time, warned, failed):
        late = lateness(source(tmp_path, kind), [delivered("2026-01-01"), delivered(newest)], instant(at))
        levels.append(late.level if late else None)
    assert levels == [None, "warn", "fail"]


def test_the_month_that_lacks_its_carbon_is_named_and_a_restated_older_month_is_not_it(tmp_path: Path) -> None:
    known = [delivered("2026-09-16"), delivered("2026-10-20", "2026-03@v3.0.0")]
    late = lateness(source(tmp_path, "aws_carbon"), known, instant("2026-10-24"))
    assert late and late.missing == "2026-09" and f"{late}".startswith("2026-09 of payer-a is 3 days late: its newest delivery")


def test_what_promises_nothing_is_never_late(tmp_path: Path) -> None:
    at, known = instant("2030-01-01"), [delivered("2026-09-16")]
    assert lateness(source(tmp_path, "fx_rates"), known, at) is None  # changes when somebody edits it
    assert lateness(source(tmp_path, "aws_cur"), [], at) is None  # the provider has not begun
    assert lateness(source(tmp_path, "aws_cur", months="2026-01..2026-09"), known, at) is None  # what is read of it is over
    assert lateness(source(tmp_path, "aws_carbon", months="2026-01..2026-08"), known, at) is None
    assert lateness(source(tmp_path, "aws_carbon", months="2026-01..2026-09"), known, at)
