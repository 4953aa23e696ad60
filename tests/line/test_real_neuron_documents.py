"""The real capture of neuron-monitor on a trn1.2xlarge through the whole line: joules as a person adds them up."""

from __future__ import annotations

import json
from decimal import Decimal as D

import pytest
import yaml

from tests.conftest import Command
from tests.line.kit import query
from tests.shared import SHARED, SHARED_REASON

pytestmark = [pytest.mark.slow, pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)]
NODE = "i-01db7a16f4c054239"
JOULES_PER_KWH = 3_600_000
# Three documents one behind the other, then 1.000727 s until the run's end that nobody saw.
SECONDS = (D("0.999163"), D("1.000533"), D("0.999577"))
# One core of two worked, at 1.3632, 1.3561 and 1.3128 percent: halved, in whole millionths.
USE = (D("0.006816"), D("0.006780"), D("0.006564"))
PUE = D("1.12")  # of us-west-2, which the documents name; there is no bill
SEEN, UNSEEN = D("2.999273"), D("1.000727")
USED = sum((use * seconds for use, seconds in zip(USE, SECONDS, strict=True)), D(0))


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> dict[str, object]:
    """fct_training_run_energy of a run that held the machine of the capture for four seconds."""
    assert SHARED
    folder = tmp_path_factory.mktemp("neuron")
    capture = folder / "neuron/run=bert/2026-04-01T00:00:00Z.jsonl"
    capture.parent.mkdir(parents=True)
    capture.write_bytes((SHARED / "samples/telemetry/neuron_monitor_trn1_2xlarge.jsonl").read_bytes())
    window = {"started_at": "2026-04-01T00:00:00Z", "ended_at": "2026-04-01T00:00:04Z"}
    node = {"resource_id": NODE, "accelerator_type": "trn1.2xlarge", "chips": 1, **window}
    record = {"training_run_id": "bert", "provider_name": "AWS", "attempts": [{"attempt_id": "1", **window, "nodes": [node]}]}
    (folder / "runs").mkdir()
    (folder / "runs/bert.run.json").write_text(json.dumps(record))
    kinds = {"neuron": "neuron_monitor", "runs": "training_runs"}
    settings = {
        "organisation": {"name": "Test", "reporting_currency": "USD"},
        "home": "./home",
        "sources": [{"name": name, "kind": kind, "location": f"./{name}"} for name, kind in kinds.items()],
    }
    (folder / "trainledger.yaml").write_text(yaml.safe_dump(settings))
    finished = trainledger("refresh", "--config", folder / "trainledger.yaml", now="2026-06-20T00:00:00Z")
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    names = [name for (name,) in query(folder / "home", "select name from pragma_table_info('marts.fct_training_run_energy')")]
    [values] = query(folder / "home", "select * from marts.fct_training_run_energy")
    return dict(zip(names, values, strict=True))


def kwh(joules: D) -> D:
    return (joules / JOULES_PER_KWH).quantize(D("0.000000001"))


def test_chips_are_between_idle_and_full_power_and_unseen_time_is_between_its_bounds(row: dict[str, object]) -> None:
    # idle + use x (full - idle) while seen; idle, mean and full power while not: 20, 43, 115 W, 121 W, 133, 142, 244 W
    assert row["chip_energy_kwh_low"] == kwh(20 * SEEN + (133 - 20) * USED + 20 * UNSEEN) == D("0.000022855")
    assert row["chip_energy_kwh"] == kwh(43 * SEEN + (142 - 43) * USED + 121 * UNSEEN) == D("0.000070014")
    assert row["chip_energy_kwh_high"] == kwh(115 * SEEN + (244 - 115) * USED + 244 * UNSEEN) == D("0.000164359")


def test_host_network_and_building_come_on_top(row: dict[str, object]) -> None:
    chips_and_host = 43 * SEEN + (142 - 43) * USED + 121 * UNSEEN + 33 * 4
    assert row["chip_host_energy_kwh"] == kwh(chips_and_host) == D("0.000106681")
    assert row["it_energy_kwh"] == kwh(chips_and_host * D("1.05")) == D("0.000112015")
    assert row["facility_energy_kwh"] == kwh(chips_and_host * D("1.05") * PUE) == D("0.000125457")


def test_what_was_seen_is_distinguished_from_what_was_not(row: dict[str, object]) -> None:
    assert row["telemetry_coverage_ratio"] == 0.74981825  # 2.999273 of 4 s
    seen = 43 * SEEN + (142 - 43) * USED + 33 * SEEN
    assert row["energy_kwh_utilisation_model"] == kwh(seen * D("1.05") * PUE)
    assert row["energy_kwh_time_model"] == row["facility_energy_kwh"] - row["energy_kwh_utilisation_model"] > 0
    assert (row["energy_basis"], row["power_confidence"]) == ("time_model", "assumed")
    assert (row["reserved_chip_hours"], row["busy_chip_hours"]) == (D("0.001111111"), (USED / 3600).quantize(D("0.000000001")))
