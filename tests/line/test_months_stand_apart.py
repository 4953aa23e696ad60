"""Loading a month changes no row of the month before it, in any table of facts, whatever names it uses again.

April is drawn; May comes later with the names of April on machines of other sizes, types, regions and payers, held by other runs.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Command
from tests.oracle.builders import HELD, TEN, carbon, hour, run
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import TPU, GoogleExports, gauge, kilograms, neuron_document, tpu_hour, tpu_run
from tests.oracle.oracle import Oracle

NOW = "2026-06-20T00:00:00Z"
NODE, IDLE, UNBILLED, LAST = "i-0aaa", "i-0idle", "i-0unbilled", "tpu-last-hour"


def april(exports: GoogleExports) -> None:
    """A shared node, a TPU VM, a node that a record names and no bill, one that no run holds; telemetry of the first two."""
    hours = [f"2026-04-10T{at:02d}:00:00" for at in range(9, 14)]
    rows = [hour(at, 21.5, line_item_resource_id=node) for at in hours for node in (NODE, IDLE)]
    exports.bill(rows)
    exports.google_bill([tpu_hour(at, 10.8) for at in hours])
    exports.runs(
        run("a", (NODE, *HELD, 8), (UNBILLED, *HELD, None)),
        run("b", (NODE, *HELD, 4), provider_name=None),
        tpu_run("t", (TPU, *HELD, 4), (LAST, "2026-04-30T23:00:00Z", "2026-05-01T00:00:00Z", 4)),
    )
    exports.neuron(NODE, [("2026-04-10T11:00:00Z", neuron_document(dict.fromkeys(range(32), 50.0)))], run="later")
    exports.tpu(*(gauge("duty_cycle", TPU, chip, _points(datetime(2026, 4, 10, 10, tzinfo=UTC))) for chip in range(4)))
    # twenty minutes apart, and in May ten
    points = {f"2026-04-30T23:{minute:02d}:00Z": 75.0 for minute in (5, 25, 45)}
    exports.tpu(*(gauge("duty_cycle", LAST, chip, points) for chip in range(4)), name="last-hour")
    exports.carbon([carbon(0.5)])
    exports.google_carbon([kilograms(13.0)])


def may(exports: GoogleExports) -> None:
    """Every name of April again: as another machine, held by others, billed elsewhere, to a payer nobody knew."""
    elsewhere = {"product_region_code": "eu-west-1", "line_item_usage_type": "EU-BoxUsage:trn2.48xlarge"}
    other = {"bill_payer_account_id": "999999999999", "line_item_usage_account_id": "999999999999"}
    hours = [f"2026-05-10T{at:02d}:00:00" for at in range(9, 14)]
    nodes = (NODE, IDLE, UNBILLED, TPU)
    exports.bill([hour(at, 44.5, line_item_resource_id=node, **elsewhere, **other) for at in hours for node in nodes], "2026-05")
    zone = {"location": {"location": "europe-west4-b", "region": "europe-west4", "zone": "europe-west4-b"}}
    exports.google_bill([tpu_hour(at, 33.3, "TpuV5e running in Netherlands", **zone) for at in hours], day="2026-05-10")
    held = tuple(at.replace("-04-", "-05-") for at in HELD)
    exports.runs(
        run("later", *((node, *held, 64) for node in nodes)),
        run("much-later", (IDLE, *held, 1)),
        tpu_run("u", (TPU, *held, 256), (NODE, *held, 1), kind="v5e"),
        {
            "TrainingJobName": "job",
            "TrainingJobArn": "arn:aws:sagemaker:us-east-2:000011113333:training-job/job",
            "ResourceConfig": {"InstanceType": "ml.trn2.48xlarge", "InstanceCount": 4},
            "TrainingJobStatus": "Completed",
            "TrainingStartTime": held[0],
            "TrainingEndTime": held[1],
        },
    )
    exports.tpu(
        *(gauge("duty_cycle", TPU, chip, _points(datetime(2026, 5, 10, 10, tzinfo=UTC)), "later") for chip in range(16)),
        name="may",
    )
    exports.tpu(
        *(gauge("duty_cycle", LAST, chip, _points(datetime(2026, 4, 30, 23, 55, tzinfo=UTC))) for chip in range(4)),
        name="first-hour",
    )
    exports.neuron(NODE, [("2026-05-10T11:00:00Z", neuron_document({0: 100.0}, devices=64))], run="later", name="may")
    exports.carbon([carbon(9.5, usage_period_start=datetime(2026, 5, 1))], period="2026-05")  # noqa: DTZ001 as the export's
    exports.google_carbon([kilograms(99.0, usage_month=date(2026, 5, 1))], month="2026-05")


def _points(first: datetime) -> dict[str, float]:
    return {(first + timedelta(minutes=10 * at)).strftime("%Y-%m-%dT%H:%M:%SZ"): 75.0 for at in range(1, 7)}


def rows_of_april(home: Path) -> dict[str, list[tuple]]:
    """Every row of April by table of facts."""
    with duckdb.connect(str(home / "published" / "trainledger.duckdb"), read_only=True) as connection:
        tables = connection.execute(
            "select table_name from information_schema.columns where table_schema = 'marts' and column_name = 'usage_month'"
            " and table_name like 'fct!_%' escape '!' order by 1"
        ).fetchall()
        return {
            name: connection.execute(f"select * from marts.{name} where usage_month = date '2026-04-01' order by all").fetchall()
            for (name,) in tables
        }


@pytest.mark.slow
def test_a_month_with_the_names_of_the_one_before_changes_no_row_of_it(tmp_path: Path, trainledger: Command) -> None:
    exports = GoogleExports(tmp_path)
    april(exports)
    assert TEN in HELD[0]
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    found = differences(tmp_path / "home" / "published" / "trainledger.duckdb", Oracle(config).tables())
    assert not found, report(found)
    before = rows_of_april(tmp_path / "home")
    filled = {name for name, rows in before.items() if rows}
    assert filled >= {"fct_run_cell_costs", "fct_residual_costs", "fct_training_run_energy", "fct_run_cell_emissions"}
    may(exports)
    finished = trainledger("refresh", "--full", "--config", config, now=NOW)  # every month again: fingerprints hide nothing
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    after = rows_of_april(tmp_path / "home")
    changed = {
        name: (sorted(set(rows) - set(after[name]), key=str), sorted(set(after[name]) - set(rows), key=str))
        for name, rows in before.items()
        if rows != after[name]
    }
    assert not changed, changed
