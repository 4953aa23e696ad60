"""One hour of a machine on the bills of two payers is one hour: until it is stated who pays nothing is published."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dagster_project.base.failures import GateError
from dagster_project.commands.refreshing import refresh
from tests.landing.kit import Organisation, bill_line
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
OTHER = "000000000018"
COSTS = "select training_run_id, sum(billed_cost)::double from marts.fct_training_run_costs group by all order by all"


def test_an_hour_that_two_payers_bill_counts_once_and_an_account_may_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run a's hour is on the bill that is paid and on a pro forma one: 20.75, 21.50. Run b's account moves at half past one."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    sources = [{"name": name, "kind": "aws_cur"} for name in ("paid", "group")]
    organisation = Organisation(tmp_path, *sources)
    moved = {"line_item_resource_id": "i-b", "resource_tags": {"user_training_run_id": "run-b"}, "line_item_usage_amount": 0.5}
    halves = [bill_line(10.75, day="2026-04-01T01:00:00", **moved) for _ in range(2)]
    old, new = halves[0], halves[1] | {"bill_payer_account_id": OTHER}
    organisation.deliver([bill_line(20.75), old], at="2026-05-20", source="paid")
    organisation.deliver([bill_line(21.5) | {"bill_payer_account_id": OTHER}, new], at="2026-05-20", source="group")
    with without_dagster():
        with pytest.raises(GateError, match="assert_no_hour_is_billed_by_two_payers"):
            refresh(organisation.settings, say=print)
        organisation = Organisation(tmp_path, sources[0], sources[1] | {"is_pro_forma": True})
        assert refresh(organisation.settings, say=print).exit_code == 0
        assert costs(organisation) == [("run-a", 20.75), ("run-b", 10.75)]
        organisation.deliver([new], at="2026-05-21", source="group")
        organisation = Organisation(tmp_path, *sources)
        assert refresh(organisation.settings, say=print).exit_code == 0
        assert costs(organisation) == [("run-a", 20.75), ("run-b", 21.5)]


def costs(organisation: Organisation) -> list[tuple]:
    with duckdb.connect(str(organisation.settings.home / "published" / "trainledger.duckdb"), read_only=True) as connection:
        return connection.execute(COSTS).fetchall()
