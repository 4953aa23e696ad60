"""Times are UTC whatever their spelling, and months are months."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.times import execution_time, is_month, parse_utc

NOON = dt.datetime(2026, 4, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-04-01T12:00:00Z",
        "2026-04-01T12:00:00.000Z",
        "2026-04-01 12:00:00Z",
        "2026-04-01 12:00:00",
        "2026-04-01 12:00:00 UTC",
        "2026-04-01T14:00:00+02:00",
        "2026-04-01T05:00:00.000000-0700",
        "2026-04-01T12:00",
        "2026-04-01T12:00:00.000000000Z",
    ],
)
def test_every_spelling_of_a_time_is_the_same_instant(text: str) -> None:
    assert parse_utc(text) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-04-31",
        "20260401",
        "2026-W14-3",
        "2026-04-01T25:00:00Z",
        "2026-04-01T12:00:00+99:00",
        "0001-01-01T00:00:00+23:00",
        "２０２６-04-01",
        "2026-04-01\n",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_utc(text)


@settings(deadline=None)
@given(st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9998, 12, 31)), st.integers(-14 * 60, 14 * 60))
def test_a_time_written_in_any_zone_comes_back(naive: dt.datetime, minutes: int) -> None:
    moment = naive.replace(tzinfo=dt.timezone(dt.timedelta(minutes=minutes)))
    assert parse_utc(moment.isoformat()) == moment
    assert parse_utc(moment.isoformat()).tzinfo is dt.UTC


@settings(deadline=None)
@given(st.text(max_size=30))
def test_random_text_is_a_time_or_a_value_error(text: str) -> None:
    try:
        assert parse_utc(text).tzinfo is dt.UTC
    except ValueError:
        assert not text.endswith("T00:00:00Z") or not is_month(text[:7]) or len(text) != 20 or int(text[8:10]) not in range(1, 29)


def test_folders_of_executions_tell_their_time() -> None:
    assert execution_time("2024-04-02T13:14:43.337Z-6b622448-daaa") == dt.datetime(2024, 4, 2, 13, 14, 43, 337000, tzinfo=dt.UTC)
    assert execution_time("20230103T125721Z") == dt.datetime(2023, 1, 3, 12, 57, 21, tzinfo=dt.UTC)
    assert execution_time("6b622448-daaa-439c-92f1-afc727f1e0a3") is None
    assert execution_time("20231303T125721Z") is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2026-04", True),
        ("2026-12", True),
        ("2026-13", False),
        ("2026-4", False),
        ("2026-04-01", False),
        ("0000-01", False),
        ("9999-12", False),
    ],
)
def test_months_are_months(text: str, answer: bool) -> None:
    assert is_month(text) is answer
