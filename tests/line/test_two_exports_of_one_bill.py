"""Two exports of the same bill: one is the book, the other is landed, compared with it and never summed."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.landing.kit import PAYER, Organisation, bill_line
from tests.line.kit import query
from tests.oracle.builders import hour
from tests.oracle.google_builders import GoogleExports, labels_of, tpu_hour

pytestmark = pytest.mark.slow
AT = "2026-04-10T10:00:00"


def test_another_export_of_the_same_bill_is_compared_and_not_summed(tmp_path: Path, trainledger: Command) -> None:
    """Of both clouds the second export lacks a cent of 21.50 and of 10.80."""
    exports = GoogleExports(tmp_path)
    tag, label = {"resource_tags": {"user_training_run_id": "a"}}, {"labels": labels_of(training_run_id="g")}
    exports.bill([hour(AT, 21.5, **tag)])
    exports.csv_bill([hour(AT, 21.49, **tag)])
    exports.google_bill([tpu_hour(AT, 10.8, **label)])
    exports.google_bill([tpu_hour(AT, 10.79, **label)], name="gcp-again")
    for source in exports.sources:
        if source["name"] in ("cur-csv", "gcp-again"):
            source["book"] = False
    finished = trainledger("refresh", "--config", exports.config(), now="2026-06-20T00:00:00Z")
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    home = tmp_path / "home"
    billed = query(home, "select training_run_id, sum(billed_cost) from marts.fct_training_run_costs group by 1 order by 1")
    assert billed == [("a", Decimal("21.5")), ("g", Decimal("10.8"))]
    compared = query(
        home,
        "select source_name, provider_total, difference from marts.fct_reconciliation where method = 'cross_check' order by 1",
    )
    cent = Decimal("0.01")
    assert compared == [("cur-csv", Decimal("21.5"), cent), ("gcp-again", Decimal("10.8"), cent)]


def test_two_payers_in_one_location_are_both_booked_and_a_second_export_of_one_of_them_is_refused_by_name(
    tmp_path: Path, trainledger: Command
) -> None:
    exports, config, other = Organisation(tmp_path), tmp_path / "trainledger.yaml", "000000000018"
    sources = [{"name": "cur", "kind": "aws_cur", "location": "exports/cur"}]
    config.write_text(json.dumps({"organisation": {"name": "Test"}, "home": "home", "sources": sources}))
    exports.deliver([bill_line(21.5)], at="2026-05-02", export="a")
    exports.deliver(
        [bill_line(10.0, bill_payer_account_id=other, line_item_resource_id="i-of-the-other")], at="2026-05-03", export="b"
    )
    finished = trainledger("refresh", "--config", config, now="2026-06-20T00:00:00Z")
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    billed = "select payer_account_id, sum(billed_cost) from marts.fct_run_cell_costs group by 1 order by 1"
    assert query(tmp_path / "home", billed) == [(PAYER, Decimal("21.5")), (other, Decimal("10"))]
    exports.deliver([bill_line(99.0)], at="2026-05-04", export="c")
    finished = trainledger("refresh", "--config", config, now="2026-06-21T00:00:00Z")
    assert finished.returncode == 3
    assert "The exports 'a' and 'c' of one location both have 2026-04 of payer 000000000017" in finished.stderr
    assert query(tmp_path / "home", billed) == [(PAYER, Decimal("21.5")), (other, Decimal("10"))]
    assert query(tmp_path / "home", "select value, reason from marts.fct_quarantine") == [("c", "two_exports")]
    trainledger("accept", "cur", "2026-04", "--export", "c", "--config", config, now="2026-06-22T00:00:00Z")
    finished = trainledger("refresh", "--config", config, now="2026-06-23T00:00:00Z")
    assert (finished.returncode, query(tmp_path / "home", billed)[0]) == (0, (PAYER, Decimal("99")))
