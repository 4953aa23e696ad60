"""Whatever a bill holds, every cent of it ends in a run, a residual or the quarantine, and the ledger and the oracle agree where.

Real: the legacy CUR and the CUR 2.0 sample of ../shared. Drawn: exports of tests/oracle/any_bill.py, of which
each commit draws a few.
"""

import csv
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from tests import nightly
from tests.conftest import Command
from tests.evidence.walked import faults, statistics_that_differ
from tests.oracle.any_bill import write_any_exports
from tests.oracle.builders import Exports
from tests.oracle.compare import differences, report
from tests.oracle.numerals import MONEY, to_decimal
from tests.oracle.oracle import Oracle
from tests.shared import SHARED, SHARED_REASON

NOW = "2026-06-20T00:00:00Z"
LEGACY = "legacy-cur__focus_converters__sample-anonymous-aws-export-dataset.csv"
CUR2 = "cur2-synthetic__aws-cur-anonymize__sample-cur20.csv"
ABSENT = {  # required in a CUR 2.0 export, not in the sample
    "identity_line_item_id": "line",
    "line_item_line_item_type": "Usage",
    "line_item_currency_code": "USD",
}


def sample_rows(name: str) -> list[dict]:
    with (SHARED / "samples" / "aws" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("seed", nightly.drawn(3, range(8)))
def test_the_oracle_itself_loses_nothing_of_a_drawn_bill(tmp_path: Path, seed: int) -> None:
    exports = Exports(tmp_path)
    write_any_exports(exports, seed)
    oracle = Oracle(exports.config())
    tables = oracle.tables()
    balanced = {key: row for key, row in tables["fct_reconciliation"].items() if key[9] == "conservation"}
    unbalanced = {key: row for key, row in balanced.items() if row["difference"] != 0}
    assert not unbalanced
    placed = [*tables["fct_run_cell_costs"].values(), *tables["fct_residual_costs"].values()]
    # the rows as the provider wrote them: covered usage and negation too, for their remainder is a row of its own
    assert sum(row["billed_cost"] for row in placed) == to_decimal(sum(line.unblended for line in oracle.lines), MONEY)
    loaded = sum(row["spread_billed_cost"] for row in tables["fct_residual_costs"].values())
    assert loaded == sum(row["idle_share_billed_cost"] for row in tables["fct_run_cell_costs"].values()) != 0
    rolled = tables["fct_prepaid"].values()
    moved = ("purchased_cost", "refunded_cost", "amortised_used_cost", "amortised_unused_cost", "closing_cost")
    known = [row for row in rolled if row["opening_cost"] is not None]
    assert all(row["opening_cost"] + row[moved[0]] - sum(row[name] for name in moved[1:]) == 0 for row in known)
    assert known and all(row["closing_cost"] > Decimal("-0.00001") for row in known)


@pytest.mark.slow
@pytest.mark.parametrize("seed", nightly.drawn(1, [2026, 2027]))
def test_the_ledger_and_the_oracle_agree_on_a_drawn_bill(tmp_path: Path, trainledger: Command, seed: int) -> None:
    exports = Exports(tmp_path)
    write_any_exports(exports, seed)
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    found = differences(tmp_path / "home" / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
    assert not faults(tmp_path / "home", config, seed), "a number whose rows do not add up to it"
    assert not statistics_that_differ(tmp_path / "home", config, seed, None if nightly.IS_NIGHTLY else 10)


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_every_cent_of_the_real_bills_arrives(tmp_path: Path, trainledger: Command) -> None:
    legacy, cur2 = sample_rows(LEGACY), sample_rows(CUR2)
    exports = Exports(tmp_path)
    exports.legacy_bill(legacy, period="20231101-20231201")
    exports.csv_bill([row | ABSENT for row in cur2], period="2025-01")
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    published = tmp_path / "home" / "published" / "trainledger.duckdb"
    with duckdb.connect(str(published), read_only=True) as connection:
        arrived = dict(
            connection.execute(
                "select source_name, sum(billed_cost) from (select source_name, billed_cost from marts.fct_run_cell_costs"
                " union all select source_name, billed_cost from marts.fct_residual_costs) group by source_name"
            ).fetchall()
        )
    written = {
        "legacy": sum(Decimal(row["lineItem/UnblendedCost"]) for row in legacy),
        "cur-csv": sum(Decimal(row["line_item_unblended_cost"]) for row in cur2),
    }
    assert arrived == written
    assert all(written.values())
    found = differences(published, Oracle(config, now=NOW).tables())
    assert not found, report(found)


@pytest.mark.slow
def test_the_published_file_balances_in_every_cell_of_the_demo(demo_home: Path) -> None:
    [published] = demo_home.rglob("published/trainledger.duckdb")
    with duckdb.connect(str(published), read_only=True) as connection:
        [(rows, unbalanced)] = connection.execute(
            "select count(*), count(*) filter (where difference is distinct from 0) from marts.fct_reconciliation"
            " where method = 'conservation'"
        ).fetchall()
    assert rows > 0
    assert unbalanced == 0
