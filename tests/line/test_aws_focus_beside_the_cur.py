"""AWS's FOCUS export as a drawn payer's second bill, and as another payer's only one: every digit is that of its rows."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.connectors.aws_focus import focus_rows, write_focus
from tests.evidence.walked import faults
from tests.line.kit import query
from tests.oracle.any_bill import PAYERS, write_any_exports
from tests.oracle.builders import Exports
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"


class InFocus(Exports):
    """Bill cur-a also as FOCUS 1.2, which is not the book; bill cur-b as FOCUS 1.0 alone."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.billed: dict[str, Decimal] = {}

    def bill(self, rows: list[dict], period: str = "2026-04", name: str = "cur", execution: str = "") -> None:
        super().bill(rows, period, name, execution)
        self.focus("focus-a", rows, period, "1.2")
        self.sources[-1]["book"] = False  # as its rank states as well; the oracle knows no ranks

    def csv_bill(self, rows: list[dict], period: str = "2026-04", name: str = "cur-csv") -> None:
        self.focus("focus-b", rows, period, "1.0")

    def focus(self, name: str, rows: list[dict], period: str, version: str) -> None:
        location = self._source(name, "aws_focus")
        self.sources.sort(key=lambda source: source["name"] == name)  # the last one is this
        stated: list[dict[str, Any]] = [one for row in rows for one in focus_rows(row, version)]
        write_focus(location, *stated, version=version, month=period)
        self.billed[name] = sum((Decimal(str(one["BilledCost"])) for one in stated), self.billed.get(name, Decimal(0)))


def test_focus_is_compared_with_the_cur_and_is_the_book_where_it_is_alone(tmp_path: Path, trainledger: Command) -> None:
    exports = InFocus(tmp_path)
    write_any_exports(exports, 7)
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    home = tmp_path / "home"
    compared = query(
        home,
        "select source_name, count(*) > 9, sum(abs(difference)), count(*) filter (difference is null) "
        "from marts.fct_reconciliation where method = 'cross_check' and measure = 'billed_cost' group by 1",
    )
    assert compared == [("focus-a", True, 0, 0)]
    both = " union all ".join(
        f"select source_name, payer_account_id, billed_cost from marts.{name}"
        for name in ("fct_run_cell_costs", "fct_residual_costs")
    )
    billed = query(home, f"select payer_account_id, sum(billed_cost) from ({both}) where source_name = 'focus-b' group by 1")
    assert billed == [(PAYERS["cur-b"], exports.billed["focus-b"])]
    assert query(home, f"select count(*) from ({both}) where source_name = 'focus-a'") == [(0,)]
    known = "count(contracted_cost) > 9, sum(effective_cost) <> sum(billed_cost)"
    assert query(home, f"select {known} from marts.fct_run_cell_costs where source_name = 'focus-b'") == [(True, True)]
    found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
    assert not faults(home, config, 7), "a figure whose rows do not add up to it"
