"""When, how large and where a machine was held comes from evidence: one organisation, one refresh, and the oracle beside it."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from dagster_project.assets import results
from dagster_project.warehouse import modelling, runner, statements
from dagster_project.warehouse.builds import Build
from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import hour, run
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import PROJECT, GoogleExports, neuron_document, tpu_hour, tpu_run
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
GOOGLE = "provider_name = 'Google Cloud'"
APRIL = "usage_month = date '2026-04-01'"
NINE, TWELVE = "2026-04-10T09:00:00Z", "2026-04-10T12:00:00Z"
NEW = "TPU of a kind nobody has seen (preview)"
SMALL = {f"small-{number}": 1 if number % 2 else 4 for number in range(6)}


def tpu_bill(name: str, chips: int, hours: range, wording: str, **columns: object) -> list[dict]:
    """Hours of a TPU VM on 10 April: chips as billed, 1.20 a chip."""
    usage = {"amount": chips * 3600.0, "unit": "seconds", "amount_in_pricing_units": float(chips), "pricing_unit": "hour"}
    resource = {"name": name, "global_name": f"//compute.googleapis.com/projects/1/zones/us-east5-b/instances/{name}"}
    stated = {"usage": usage, "resource": resource} | columns
    return [tpu_hour(f"2026-04-10T{at:02d}:00:00", 1.2 * chips, wording, **stated) for at in hours]


def small_machines(exports: GoogleExports) -> list[dict]:
    """Six small VMs that were held whole, and a full one of the same cell, held by another run."""
    rows = [row for name, chips in SMALL.items() for row in tpu_bill(name, chips, range(9, 12), "TpuV5e running in Columbus")]
    exports.runs(
        tpu_run("small", *((name, NINE, TWELVE, chips) for name, chips in SMALL.items()), kind="v5e"),
        tpu_run("full", ("full-1", NINE, TWELVE, 8), kind="v5e"),
    )
    return [*rows, *tpu_bill("full-1", 8, range(9, 12), "TpuV5e running in Columbus")]


def names_of_several_machines(exports: GoogleExports) -> list[dict]:
    """Two names, each of a VM in two projects: a record gives one bare and the other with its path."""
    theirs = {"project": {"number": "402000000002", "id": "their-project"}}
    ours = {"project": {"number": PROJECT, "id": "our-project"}}
    rows = [
        row
        for name in ("vm-bare", "vm-path")
        for project in (ours, theirs)
        for row in tpu_bill(name, 4, range(9, 12), "TpuV6e running in Columbus", **project)
    ]
    path = "//compute.googleapis.com/projects/our-project/zones/us-east5-b/instances/vm-path"
    exports.runs(
        tpu_run("bare", ("vm-bare", NINE, TWELVE, 4)), tpu_run("path", (path, NINE, TWELVE, 4)),
        tpu_run("slice", ("slice-16", NINE, TWELVE, 16)),
    )  # fmt: skip
    parent = "//tpu.googleapis.com/projects/1/locations/us-east5-b/nodes/slice-16"
    workers = [{"resource": {"name": f"t1v-n-0a-w-{number}", "global_name": parent}} for number in range(4)]
    for worker in workers:
        rows += tpu_bill("", 4, range(9, 12), "TpuV6e running in Columbus", **worker)
    return rows


def unknown_chips() -> list[dict]:
    """Three hours of two TPU SKUs that no spelling knows; one of them ends in brackets, as the count of rows does."""
    return [*tpu_bill("odd-1", 4, range(9, 11), NEW), *tpu_bill("odd-2", 1, range(9, 10), "TPU Zeta in Columbus")]


def year_of_days(resource: str, first: str, days: int, hours: float = 24.0) -> list[dict]:
    """A node billed by the day."""
    start = datetime.fromisoformat(first)
    rows = []
    for at in (start + timedelta(days=number) for number in range(days)):
        row = hour(at.isoformat(), 21.5 * hours, line_item_resource_id=resource, line_item_usage_amount=hours)
        rows.append(row | {"line_item_usage_end_date": at + timedelta(days=1)})
    return rows


def open_ends(exports: GoogleExports) -> None:
    """Records without an end: a crash of two hours, a node that others took over, one that nobody did, one that goes on."""
    billed = [*year_of_days("i-0year", "2025-06-01", 365), *year_of_days("i-0after", "2025-06-01", 365)]
    billed += [hour(f"2025-06-10T{at:02d}:00:00", 21.5, line_item_resource_id="i-0crash") for at in (9, 10)]
    billed += year_of_days("i-0goes-on", "2025-06-01", 60)
    billed += read_by_a_server(exports)
    for month in sorted({row["line_item_usage_start_date"].strftime("%Y-%m") for row in billed}):
        exports.bill([row for row in billed if row["line_item_usage_start_date"].strftime("%Y-%m") == month], period=month)
    begun = "2025-06-10T09:00:00Z"
    later = [datetime(2025, 7, 2, 8, tzinfo=UTC) + timedelta(days=10 * number) for number in range(30)]
    for number, at in enumerate(later):
        exports.runs(run(f"later-{number:02d}", ("i-0year", at.isoformat(), (at + timedelta(hours=2)).isoformat(), 16)))
    exports.runs(
        *(run(name, (f"i-0{name}", begun, None, 16)) for name in ("year", "crash", "after", "goes-on")),
        run("next", ("i-0after", "2025-06-12T00:00:00Z", "2025-06-12T05:00:00Z", 16)),
    )
    documents = {
        "2025-06": [datetime(2025, 6, 30, at, tzinfo=UTC) for at in range(1, 24)] + [datetime(2025, 7, 1, tzinfo=UTC)],
        "2025-07": [datetime(2025, 7, 1, at, tzinfo=UTC) for at in range(1, 6)],
    }
    for month, times in documents.items():
        stated = [(at.isoformat(), neuron_document(dict.fromkeys(range(32), 50.0))) for at in times]
        exports.neuron("i-0goes-on", stated, run="goes-on", name=month)


def read_by_a_server(exports: GoogleExports) -> list[dict]:
    """Two machines of two hours on 10 March. Of one the server has the chips: 100 W by readings in the first hour, by their
    counters 110 W in its first half. Of the other its two outlets, 1,500 and 1,700 W, and from half past ten on one of them."""
    day, ten = "2026-03-10", int(datetime(2026, 3, 10, 10, tzinfo=UTC).timestamp())
    hour_of, half = [(ten + 60 * at, 100) for at in range(1, 61)], [(ten + 60 * at, 6_600_000 * at) for at in range(31)]
    chips = [{"gpu": str(number), "instance_id": "i-0chips"} for number in range(16)]
    exports.metrics("DCGM_FI_DEV_POWER_USAGE", *((chip, hour_of) for chip in chips), day=day)
    exports.metrics("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", *((chip, half) for chip in chips), day=day)
    outlets = [
        ({"instance": f"pdu-{pdu}", "rPDU2OutletMeteredStatusIndex": "7"}, watts) for pdu, watts in (("a", 1500), ("b", 1700))
    ]
    readings = [(labels, [(at, watts) for at, _ in hour_of[: 60 if watts == 1500 else 30]]) for labels, watts in outlets]
    exports.metrics("rPDU2OutletMeteredStatusPower", *readings, day=day)
    exports.settings["hosts"] = {"pdu-a:7": "i-0outlets", "pdu-b:7": "i-0outlets"}
    held = f"{day}T10:00:00Z", f"{day}T12:00:00Z"
    exports.runs(*(run(name, (f"i-0{name}", *held, 16)) for name in ("chips", "outlets")))
    return [
        hour(f"{day}T{at}:00:00", 21.5, line_item_resource_id=f"i-0{name}") for at in (10, 11) for name in ("chips", "outlets")
    ]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> GoogleExports:
    exports = GoogleExports(tmp_path_factory.mktemp("evidence"))
    exports.google_bill([*small_machines(exports), *names_of_several_machines(exports), *unknown_chips()])
    open_ends(exports)
    exports.config()
    return exports


@pytest.fixture(scope="module")
def home(exports: GoogleExports, trainledger: Command) -> Path:
    finished = trainledger("refresh", "--config", exports.folder / "trainledger.yaml", now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return exports.folder / "home"


def test_the_oracle_states_the_same(exports: GoogleExports, home: Path) -> None:
    found = differences(home / "published" / "trainledger.duckdb", Oracle(exports.folder / "trainledger.yaml").tables())
    assert not found, report(found)


def test_small_machines_that_were_held_whole_leave_nothing_idle(home: Path) -> None:
    idle = query(
        home,
        f"select coalesce(sum(effective_cost), 0) from marts.fct_residual_costs where reason = 'idle' and {GOOGLE} and {APRIL}",
    )
    assert idle == [(Decimal(0),)]
    energy = query(
        home,
        "select training_run_id, reserved_chip_hours, idle_share_facility_energy_kwh from marts.fct_training_run_energy"
        f" where training_run_id in ('small', 'full') and {APRIL} order by 1",
    )
    assert energy == [("full", Decimal(24), Decimal(0)), ("small", Decimal(45), Decimal(0))]


def test_watts_of_a_server_of_metrics_are_those_of_the_counter_and_of_all_outlets(home: Path) -> None:
    measured = query(
        home,
        "select training_run_id, measured_kwh from ("
        " select training_run_id, energy_kwh_measured / 1.05 / 1.12 as measured_kwh from marts.fct_training_run_energy"
        " where training_run_id in ('chips', 'outlets') and usage_month = date '2026-03-01') order by 1",
    )
    # half an hour of 16 x 110 W and one of 16 x 100 W with a host of 523 W; half an hour of 3,200 W
    assert [(name, round(value, 6)) for name, value in measured] == [("chips", 2.203), ("outlets", 1.6)]


def test_unknown_tpu_skus_are_named_in_status_with_their_rows(exports: GoogleExports, home: Path, trainledger: Command) -> None:
    config = exports.folder / "trainledger.yaml"
    stated = json.loads(trainledger("status", "--json", "--config", config, now=NOW).stdout)
    assert stated["unknown_tpu_skus"] == [
        {"sku_description": NEW, "row_count": 2},
        {"sku_description": "TPU Zeta in Columbus", "row_count": 1},
    ]
    shown = trainledger("status", "--config", config, now=NOW).stdout
    assert f"unknown TPU SKU '{NEW}' in 2 rows. They count as an accelerator without a type" in shown


def test_unknown_tpu_skus_are_a_warning_in_dagster_with_descriptions_and_cost(home: Path, tmp_path: Path) -> None:
    manifest, build_file = modelling.project(home), shutil.copyfile(home / "build.duckdb", tmp_path / "build.duckdb")
    gates = [one for one in statements.statements(home) if one.name == "assert_every_tpu_sku_is_known"]
    with duckdb.connect(str(build_file)) as connection:
        nodes = list(runner.run(gates, Build("b", "", "", "", {}, [], is_full=False), connection))
    key = dg.AssetCheckKey(dg.AssetKey(["intermediate", "int_gcp_lines"]), "assert_every_tpu_sku_is_known")
    checks = [event for event in results.node_events(manifest, nodes, None) if isinstance(event, dg.AssetCheckEvaluation)]
    [evaluation] = [check for check in checks if check.asset_check_key == key]
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert evaluation.metadata["failing rows"].value == 2
    assert json.loads(evaluation.metadata["first rows"].value) == [
        {"sku_description": NEW, "billing_currency": "USD", "line_count": 2, "billed_cost": "9.600000000000"},
        {"sku_description": "TPU Zeta in Columbus", "billing_currency": "USD", "line_count": 1, "billed_cost": "1.200000000000"},
    ]


def chip_hours(home: Path, run_id: str) -> list[tuple]:
    return query(
        home,
        "select strftime(usage_month, '%Y-%m'), reserved_chip_hours, telemetry_coverage_ratio, energy_basis, power_confidence"
        f" from marts.fct_training_run_energy where training_run_id = '{run_id}' order by 1",
    )


def test_a_crash_without_an_end_was_held_for_the_two_hours_that_were_billed(home: Path) -> None:
    assert chip_hours(home, "crash") == [("2025-06", Decimal(32), 0.0, "time_model", "assumed")]


def test_an_open_end_is_the_next_holding_of_the_machine(home: Path) -> None:
    """From 10 June at 09:00 to 12 June at 00:00."""
    assert [row[:2] for row in chip_hours(home, "after")] == [("2025-06", Decimal(39 * 16))]


def test_a_node_billed_for_twelve_months_is_not_held_by_one_open_record(home: Path) -> None:
    """It is still billed when June ends and nothing shows more: unknown in June; nothing reaches July or thirty later runs."""
    assert chip_hours(home, "year") == [("2025-06", None, None, None, None)]
    energy = "select facility_energy_kwh, busy_chip_hours from marts.fct_training_run_energy where training_run_id = 'year'"
    assert query(home, energy) == [(None, None)]
    costs = "select usage_month, status from marts.fct_training_run_costs where training_run_id = 'year'"
    assert query(home, costs) == [(date(2025, 6, 1), "no_cell")]
    later = "select count(*), sum(reserved_chip_hours) from marts.fct_training_run_energy where training_run_id like 'later-%'"
    assert query(home, later) == [(30, Decimal(30 * 32))]


def test_samples_with_the_key_of_a_run_carry_it_into_the_next_month_and_no_further(home: Path) -> None:
    assert [row[:2] for row in chip_hours(home, "goes-on")] == [
        ("2025-06", Decimal(16 * (20 * 24 + 15))),
        ("2025-07", Decimal(16 * 5)),
    ]


def test_whether_an_end_is_known_is_published_and_the_state_stays(home: Path) -> None:
    assert query(home, "select is_end_known, count(*) from marts.dim_training_runs group by all order by all") == [
        (False, 4),
        (True, 38),
    ]


def test_a_path_in_a_record_means_the_machine_of_its_project(home: Path) -> None:
    cost = "select sub_account_id, sum(effective_cost) from marts.fct_run_cell_costs where training_run_id = 'path' group by all"
    assert query(home, cost) == [(PROJECT, Decimal("14.4"))]


def test_a_bare_name_that_fits_two_machines_gets_the_cost_of_neither_and_is_reported(home: Path) -> None:
    assert query(home, "select count(*) from marts.fct_run_cell_costs where training_run_id = 'bare'") == [(0,)]
    stated = query(home, "select field, value_a, value_b, chosen from marts.fct_run_conflicts where training_run_id = 'bare'")
    places = f"{PROJECT}/us-east5-b, 402000000002/us-east5-b"
    assert stated == [("machine vm-bare in 2026-04", "vm-bare", places, "none of them")]


def test_a_slice_recorded_as_one_node_has_the_rows_of_all_its_workers(home: Path) -> None:
    cost = query(home, "select sum(effective_cost) from marts.fct_run_cell_costs where training_run_id = 'slice'")
    hours = query(home, "select reserved_chip_hours from marts.fct_training_run_energy where training_run_id = 'slice'")
    assert (cost, hours) == ([(Decimal("57.6"),)], [(Decimal(48),)])
