"""Google's FOCUS export as a drawn account's second bill, and as another account's only one: every digit is that of its rows."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tests.connectors.focus import FOCUS, focus_of
from tests.line.kit import query
from tests.oracle.any_google import write_any_google
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import BILLING_ACCOUNT, GoogleExports
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
OTHER_ACCOUNT = "0F0C05-000000-000001"


def in_numeric(value: Any) -> Any:
    """An amount of no more decimals than NUMERIC has, so that both exports can say it."""
    if isinstance(value, dict):
        return {name: in_numeric(one) for name, one in value.items()}
    if isinstance(value, list):
        return [in_numeric(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value


def write_focus(exports: GoogleExports) -> Decimal:
    """The detailed export of a drawn account as FOCUS too, and the same as an account of its own; returns what the rows cost."""
    beside, alone = (exports._source(name, "gcp_focus") for name in ("focus-beside", "focus-alone"))
    exports.sources[-2]["book"] = False  # as its rank states as well; the oracle knows no ranks
    total = Decimal(0)
    for path in sorted((exports.folder / "exports" / "gcp").glob("*/*.parquet")):
        schema = pq.read_schema(path)
        rows = [in_numeric(row) for row in pq.read_table(path).to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
        for location, account in ((beside, BILLING_ACCOUNT), (alone, OTHER_ACCOUNT)):
            stated = [focus_of(row) | {"BillingAccountId": account} for row in rows]
            target = location / path.parent.name / path.name
            target.parent.mkdir()
            pq.write_table(pa.Table.from_pylist(stated, FOCUS), target)
        for row in rows:
            total += sum((Decimal(str(one["amount"])) for one in row["credits"] or ()), Decimal(str(row["cost"])))
    for path in (exports.folder / "exports" / "gcp-carbon").glob("*/*.parquet"):  # a run of two payers wants carbon of both
        stated = pq.read_table(path)
        other = [row | {"billing_account_id": OTHER_ACCOUNT} for row in stated.to_pylist()]
        pq.write_table(pa.concat_tables([stated, pa.Table.from_pylist(other, stated.schema)]), path)
    return total


def test_focus_is_compared_with_the_detailed_bill_and_is_the_book_where_it_is_alone(tmp_path: Path, trainledger: Command) -> None:
    exports = GoogleExports(tmp_path)
    write_any_google(exports, 4)
    total = write_focus(exports)
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode in (0, 3), finished.stdout[-3000:] + finished.stderr[-3000:]  # 3: drawn faults are held back
    home = tmp_path / "home"
    compared = query(
        home,
        "select source_name, count(*) > 9, sum(abs(difference)), count(*) filter (difference is null) "
        "from marts.fct_reconciliation where method = 'cross_check' and measure = 'billed_cost' group by 1",
    )
    assert compared == [("focus-beside", True, 0, 0)]
    both = " union all ".join(
        f"select payer_account_id, billed_cost from marts.{name}" for name in ("fct_run_cell_costs", "fct_residual_costs")
    )
    billed = query(
        home, f"select payer_account_id, sum(billed_cost) from ({both}) where payer_account_id like '0%-%' group by 1 order by 1"
    )
    assert billed == [(BILLING_ACCOUNT, total), (OTHER_ACCOUNT, total)]
    found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
