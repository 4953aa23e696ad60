"""A fee goes to its own hours and no closed month is priced again; a discount written twice counts once, or the bill waits."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from dagster_project.base.failures import GateError
from dagster_project.commands.refreshing import refresh
from tests.landing.kit import Organisation, bill_line
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
ARN = "arn:aws:ec2:us-east-1:012345678901:capacity-reservation/cr-"
# own: the extension states its own start. again: it repeats the start of its reservation, as AWS may write it too
EXTENSIONS = {"own": "2026-05-01T00:00:00Z", "again": "2026-04-30T00:00:00Z"}
BILLED = """
select training_run_id, cast(usage_month as varchar), sum(billed_cost)::double, sum(effective_cost)::double
from marts.fct_training_run_costs group by all order by all
"""


def fee(block: str, start: str, end: str) -> dict:
    return bill_line(
        2400.0,
        line_item_line_item_type="Fee",
        line_item_usage_type="CapacityBlockFee:trn2.48xlarge",
        line_item_resource_id=None,
        resource_tags={},
        reservation_reservation_a_r_n=ARN + block,
        reservation_start_time=start,
        reservation_end_time=end,
        reservation_number_of_reservations="1",
    )


def day_of(block: str, day: str) -> list[dict]:
    """24 hours of the one instance of a block, at no charge, with the tag of a run."""
    hours = [datetime.fromisoformat(day) + timedelta(hours=number) for number in range(24)]
    columns = {
        "line_item_usage_type": "BoxUsage:trn2.48xlarge",
        "line_item_resource_id": f"i-{block}",
        "capacity_reservation_capacity_reservation_arn": ARN + block,
        "pricing_unit": "Hrs",
        "resource_tags": {"user_training_run_id": block},
    }
    return [bill_line(0.0, day=hour.isoformat(), **columns) for hour in hours]


def discounted(net_of_use: float, net_of_discount: float | None) -> list[dict]:
    """An hour of 21.50 with a tenth off: on its row as a net amount, and on a row of its own."""
    tag = {"resource_tags": {"user_training_run_id": "discounted"}}
    use = bill_line(21.5, day="2026-05-02", line_item_net_unblended_cost=net_of_use, **tag)
    off = bill_line(-2.15, day="2026-05-02", line_item_net_unblended_cost=net_of_discount, **tag)
    return [use, off | {"line_item_line_item_type": "EdpDiscount"}]


def published(organisation: Organisation) -> list[tuple]:
    with duckdb.connect(str(organisation.settings.home / "published" / "trainledger.duckdb"), read_only=True) as connection:
        return connection.execute(BILLED).fetchall()


def test_each_fee_has_its_own_hours_and_a_discount_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"})
    april, may = [], []
    for block, start in EXTENSIONS.items():
        april += [fee(block, "2026-04-30T00:00:00Z", "2026-05-01T00:00:00Z"), fee(block, start, "2026-05-02T00:00:00Z")]
        april += day_of(block, "2026-04-30")
        may += day_of(block, "2026-05-01")
    of_april = [("again", "2026-04-01", 0, 2400), ("own", "2026-04-01", 0, 2400)]
    of_may = [("again", "2026-05-01", 0, 2400), ("discounted", "2026-05-01", 19.35, 19.35), ("own", "2026-05-01", 0, 2400)]
    with without_dagster():
        organisation.deliver(april, at="2026-05-20", month="2026-04")
        assert refresh(organisation.settings, say=print).exit_code == 0
        assert published(organisation) == of_april, "the extension is paid in April and used in May"
        organisation.deliver([*may, *discounted(19.35, None)], at="2026-06-01", month="2026-05")
        assert refresh(organisation.settings, say=print).exit_code == 0
        assert published(organisation) == sorted([*of_april, *of_may])
        organisation.deliver([*may, *discounted(20.0, -1.0)], at="2026-06-02", month="2026-05")
        with pytest.raises(GateError, match="assert_discounts_are_counted_once"):
            refresh(organisation.settings, say=print)
        assert published(organisation) == sorted([*of_april, *of_may]), "the last good publication stays"
