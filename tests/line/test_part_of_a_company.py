"""A company with one cloud, only bills or only telemetry: what can be known is published, the rest is null with its status."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests import nightly
from tests.conftest import Command
from tests.line.kit import query
from tests.spark.two_clouds import write_two_clouds

pytestmark = pytest.mark.slow
NOW = "2026-10-10T00:00:00Z"
PARTS = {
    "aws": {"aws_cur", "aws_carbon", "neuron_monitor", "training_runs"},
    "google": {"gcp_billing", "gcp_carbon", "tpu_monitoring", "training_runs"},
    "bills": {"aws_cur", "gcp_billing"},
    "telemetry": {"neuron_monitor", "tpu_monitoring", "neuron_power", "power_meters", "training_runs"},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exports of a company with everything: its configuration."""
    return write_two_clouds(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module", params=nightly.drawn(1, [*PARTS]))
def part(request: pytest.FixtureRequest, whole: Path, tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> tuple:
    """A home that reads some kinds of its sources; which, and where."""
    folder = tmp_path_factory.mktemp(request.param)
    settings = yaml.safe_load(whole.read_text())
    settings["sources"] = [
        source | {"location": str(whole.parent / source["location"])}
        for source in settings["sources"]
        if source["kind"] in PARTS[request.param]
    ]
    assert {source["kind"] for source in settings["sources"]} == PARTS[request.param]
    (folder / "trainledger.yaml").write_text(yaml.safe_dump(settings))
    finished = trainledger("refresh", "--config", folder / "trainledger.yaml", now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    return request.param, folder / "home"


def test_what_can_be_known_is_published_and_nothing_is_made_up(part: tuple[str, Path]) -> None:
    name, home = part
    [(unbalanced,)] = query(
        home, "select count(*) from marts.fct_reconciliation where method = 'conservation' and difference is distinct from 0"
    )
    assert unbalanced == 0
    [(costs,)] = query(home, "select count(*) from marts.fct_training_run_costs where status in ('preliminary', 'final')")
    [(emissions,)] = query(home, "select count(provider_total_location_based_kgco2e) from marts.fct_training_run_emissions")
    [(energy,)] = query(home, "select count(facility_energy_kwh) from marts.fct_training_run_energy")
    assert (costs > 0, emissions > 0, energy > 0) == {
        "aws": (True, True, True),
        "google": (True, True, True),
        "bills": (True, False, True),  # by the hours and chips that are billed under a run's tag
        "telemetry": (False, False, True),  # where nobody billed, the region is unknown and PUE is the fleet's
    }[name]
    statuses = {status for (status,) in query(home, "select distinct status from marts.fct_training_run_emissions")}
    assert statuses <= {"aws": {"preliminary", "no_cell", "not_published"}, "google": {"final", "no_cell", "not_published"}}.get(
        name, {"not_published"}
    )
    [(chips,)] = query(home, "select count(chip_energy_kwh) from marts.fct_training_run_energy")
    assert chips > 0
    [(nulls_called_zero,)] = query(
        home,
        "select count(*) from marts.fct_training_run_emissions"
        " where status = 'not_published' and provider_total_location_based_kgco2e is not null",
    )
    assert nulls_called_zero == 0


def test_the_other_cloud_does_not_appear(part: tuple[str, Path]) -> None:
    name, home = part
    clouds = {cloud for (cloud,) in query(home, "select distinct provider_name from marts.fct_reconciliation")}
    assert clouds == {"aws": {"AWS"}, "google": {"Google Cloud"}, "bills": {"AWS", "Google Cloud"}, "telemetry": set()}[name]
