"""The comparison itself must see what is wrong, or its silence means nothing."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from .compare import differences

KEY = ("a", date(2026, 4, 1), "USD", "accelerator", "tag")
CENT = Decimal("0.010000000000")


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = tmp_path / "published.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create schema marts; create table marts.fct_training_run_costs as select 'a' as training_run_id,"
            " date '2026-04-01' as usage_month, 'USD' as billing_currency, 'accelerator' as cost_component,"
            " 'tag' as attribution_rule, cast(0.01 as decimal(38, 12)) as billed_cost, cast(null as decimal(38, 12)) as list_cost"
        )
    return path


def found(published: Path, rows: dict) -> list[str]:
    return differences(published, {"fct_training_run_costs": rows})


def test_equal_rows_are_silent(published: Path) -> None:
    assert found(published, {KEY: {"billed_cost": CENT, "list_cost": None}}) == []


def test_the_last_digit_counts(published: Path) -> None:
    [sentence] = found(published, {KEY: {"billed_cost": CENT + Decimal("1e-12"), "list_cost": None}})
    assert "billed_cost is 0.010000000000, the oracle says 0.010000000001" in sentence


def test_unknown_is_not_zero(published: Path) -> None:
    [sentence] = found(published, {KEY: {"billed_cost": CENT, "list_cost": Decimal(0)}})
    assert "list_cost is None, the oracle says 0" in sentence


def test_rows_of_one_side_only_are_named(published: Path) -> None:
    other = ("b", *KEY[1:])
    sentences = found(published, {other: {"billed_cost": CENT, "list_cost": None}})
    assert [sentence.split(": ")[1] for sentence in sentences] == ["not published", "unknown to the oracle"]
    assert found(published, {}) == [sentences[1]]
