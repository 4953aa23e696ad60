"""Real rows of Google's billing export, repacked by a test helper, through the whole line: every cent arrives."""

from __future__ import annotations

from decimal import Decimal
from itertools import groupby
from pathlib import Path

import pytest
import yaml

from tests.conftest import Command
from tests.connectors.gcp import BILLING_2019, cud_rows, koku_rows, write_partition
from tests.line.kit import query
from tests.shared import SHARED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SHARED is None, reason="the folder `shared` with samples and reference is not beside the project"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    assert SHARED
    folder, samples = tmp_path_factory.mktemp("google"), SHARED / "samples/gcp"
    rows = sorted(koku_rows(samples / "koku/202011_2020-11-08_2020-11-11.csv"), key=lambda row: row[0])
    for day, of_day in groupby(rows, key=lambda row: row[0]):
        write_partition(folder / "koku", day, *(row for _, row in of_day))
    write_partition(
        folder / "cud", "2019-01-21", *cud_rows(samples / "google-cuds-billing/test_9_3.export.json"), schema=BILLING_2019
    )
    settings = {
        "organisation": {"name": "Test", "reporting_currency": "USD"},
        "home": "./home",
        "sources": [{"name": name, "kind": "gcp_billing", "location": f"./{name}"} for name in ("koku", "cud")],
    }
    (folder / "trainledger.yaml").write_text(yaml.safe_dump(settings))
    finished = trainledger("refresh", "--config", folder / "trainledger.yaml", now="2026-06-20T00:00:00Z")
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    return folder / "home"


def placed(home: Path, source: str, measure: str, where: str = "true") -> Decimal:
    """What runs and residuals of a source carry together."""
    both = " union all ".join(
        f"select {measure} as cost from marts.{table} where source_name = '{source}' and {where}"
        for table in ("fct_run_cell_costs", "fct_residual_costs")
    )
    [(total,)] = query(home, f"select coalesce(sum(cost), 0) from ({both})")
    return total


def test_a_free_trial_costs_what_its_promotion_takes_back(home: Path) -> None:
    """Millionths of a dollar by day: 3 x 5 + 1, 5, 2 x 5 + 1, 0; 32 in all, and the promotion takes back each of them."""
    assert placed(home, "koku", "effective_cost") == Decimal("0.000032")
    assert placed(home, "koku", "billed_cost", "cost_component = 'credit'") == Decimal("-0.000032")
    assert placed(home, "koku", "billed_cost") == 0


def test_the_commitment_rows_of_2019_add_up(home: Path) -> None:
    """50 + 50 + 30 + 30 + 50 + 50 + 100 + 70 + 70 = 500, less two discounts of 50 and two of 30: 340."""
    assert placed(home, "cud", "billed_cost") == 340
    [(unbalanced,)] = query(
        home, "select count(*) from marts.fct_reconciliation where method = 'conservation' and difference is distinct from 0"
    )
    assert unbalanced == 0
