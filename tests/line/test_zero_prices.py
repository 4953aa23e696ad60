"""Zero is not a price: what a bill has at 0 and nothing explains is unknown as a run's cost, and 0 in the ledger."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import Exports, hour, run
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
BLOCK = "arn:aws:ec2:us-east-2:000011113333:capacity-reservation/cr-old"
GRANTED = "000011114444"
AT_NOTHING = {"line_item_unblended_cost": 0.0, "pricing_public_on_demand_cost": 21.5}
GRANTS = f"kind,key,value,unit,source,valid_from,valid_to\ngrant,{GRANTED},1,ratio,award letter,2026-04-01,2026-05-01\n"


def at(number: int, resource: str, **columns: object) -> dict:
    return hour(f"2026-04-10T{number:02d}:00:00", 21.5, line_item_resource_id=resource, **columns)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    """Run a: a paid hour, and one of a block whose fee is on no bill here. Run b: an account with a grant. Run c pays."""
    exports = Exports(tmp_path_factory.mktemp("zeros"))
    block = {"capacity_reservation_capacity_reservation_arn": BLOCK}
    exports.bill(
        [
            at(9, "i-a"), at(10, "i-a", **AT_NOTHING, **block),
            hour("2026-04-10T09:00:00", 3.0, line_item_usage_type="USE2-EBS:VolumeUsage.gp3", line_item_resource_id="vol-a",
                 resource_tags={"user_training_run_id": "a"}),
            at(9, "i-b", **AT_NOTHING, line_item_usage_account_id=GRANTED),
            at(9, "i-c"),
            at(9, "i-c", line_item_usage_type="USE2-HostBoxUsage:p5.48xlarge", **AT_NOTHING),
        ]
    )  # fmt: skip
    nine, ten, eleven = (f"2026-04-10T{number:02d}:00:00Z" for number in (9, 10, 11))
    exports.runs(run("a", ("i-a", nine, eleven, None)), run("b", ("i-b", nine, ten, None)), run("c", ("i-c", nine, ten, None)))
    own = exports._source("own", "user_inputs")
    (own / "grants.csv").write_text(GRANTS)
    exports.config()
    finished = trainledger("refresh", "--config", exports.folder / "trainledger.yaml", now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    return exports.folder / "home"


def test_the_cost_of_a_component_with_an_hour_at_nothing_is_unknown_and_the_rest_is_known(home: Path) -> None:
    sql = "select training_run_id, cost_component, billed_cost, effective_cost from marts.fct_training_run_costs order by all"
    assert query(home, sql) == [
        ("a", "accelerator", Decimal("21.5"), None),
        ("a", "storage", 3, 3),
        ("b", "accelerator", 0, 0),
        ("c", "accelerator", Decimal("21.5"), Decimal("21.5")),
    ]
    columns = "billed_cost, effective_cost, effective_cost_with_list, unknown_because"
    [(billed, effective, with_list, reason)] = query(home, f"select {columns} from marts.run_summary where training_run_id = 'a'")
    assert (billed, effective, with_list) == (Decimal("24.5"), None, None)
    assert "cost: accelerator hours are billed at 0, and nothing explains it" in reason.split("; ")


def test_the_ledger_keeps_the_zero_and_adds_up(home: Path) -> None:
    [(cells,)] = query(home, "select sum(effective_cost) from marts.fct_run_cell_costs")
    assert cells == Decimal("46")
    is_balanced = "method = 'conservation' and measure = 'effective_cost'"
    [(rows, off)] = query(home, f"select count(*), sum(difference) from marts.fct_reconciliation where {is_balanced}")
    assert rows > 0 and off == 0


def test_the_doubt_states_hours_and_list_price_and_what_helps(home: Path) -> None:
    [(value, remedy)] = query(home, "select value, remedy from marts.fct_quarantine where reason = 'zero_priced'")
    assert value == "trn1.32xlarge: 1 h at 0 (1 rows), list price 21.5"
    assert "user_inputs" in remedy


def test_the_oracle_states_the_same(home: Path) -> None:
    found = differences(home / "published" / "trainledger.duckdb", Oracle(home.parent / "trainledger.yaml", now=NOW).tables())
    assert not found, report(found)
