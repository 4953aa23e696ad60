"""Telemetry, rates and own inputs: one generation per file, the months a file speaks of, and that many files stay quick."""

from __future__ import annotations

import datetime as dt
import json
import time
from pathlib import Path
from typing import Any

import pytest

from dagster_project.commands.status import read_status
from dagster_project.election.units import months_to_build
from tests.landing.kit import Organisation, bill_line, set_time, write_points, write_run, write_samples

SOURCES = (
    {"name": "neuron", "kind": "neuron_monitor"},
    {"name": "tpu", "kind": "tpu_monitoring"},
    {"name": "runs", "kind": "training_runs"},
)
APRIL, MAY, JUNE = (dt.date(2026, month, 1) for month in (4, 5, 6))


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """A company without any bill; one run over three months."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    organisation = Organisation(tmp_path, *SOURCES)
    for number, month in enumerate(("04", "05", "06")):
        node = {
            "resource_id": f"i-{number}",
            "started_at": f"2026-{month}-02T00:00:00Z",
            "ended_at": f"2026-{month}-03T00:00:00Z",
        }
        write_run(tmp_path / f"exports/runs/{number}.run.json", f"run-{number}", at="2026-07-02", nodes=[node])
    organisation.refresh()
    return organisation


def units(organisation: Organisation) -> dict[str, str]:
    return organisation.line.units(organisation.line.elect())


def changed(organisation: Organisation, before: dict[str, str]) -> list[dt.date]:
    assert {landed.outcome for landed in organisation.refresh()} <= {"landed"}
    return months_to_build(units(organisation), before)


def neuron(organisation: Organisation, name: str) -> Path:
    return organisation.folder / "exports/neuron/run=run-0/host=i-0123456789abcdef0" / name


def controls(organisation: Organisation, source: str) -> Any:
    (member,) = [one for one in organisation.line.elect().members if one.generation.source == source]
    return member.contents.controls


def test_a_company_without_bills_has_its_months_under_no_payer(organisation: Organisation) -> None:
    months = "select provider_name, payer_account_id, usage_month, is_bill_landed, is_carbon_published from raw.months order by 3"
    assert organisation.raw(months) == [("AWS", "", month, False, False) for month in (APRIL, MAY, JUNE)]
    write_points(organisation.folder / "exports/tpu/a.json", "2026-05-10T12:00:00Z", at="2026-07-03")
    organisation.refresh()
    names = [f"Google Cloud/2026-0{month}" for month in (4, 5, 6)]
    assert sorted(units(organisation)) == [*names, "~shared", *(f"~status/{name}" for name in names)]


def test_a_file_names_its_months_run_and_host(organisation: Organisation) -> None:
    write_samples(neuron(organisation, "a.jsonl"), "2026-04-30T23:59:59Z", "2026-05-01T00:00:30Z", at="2026-07-03")
    organisation.refresh()
    found = controls(organisation, "neuron")
    assert (found.sample_months, found.reached_months) == (["2026-04", "2026-05"], ["2026-04", "2026-05"])
    assert found.reached_days == ["2026-04-30", "2026-05-01"], "a sample within minutes of midnight reaches both days"
    assert (found.sample_runs, found.sample_hosts) == (["run-0"], ["i-0123456789abcdef0"])


def test_the_last_points_of_a_month_are_read_with_the_first_day_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A point covers the spacing before it: the first one of May since the last one of April."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "power", "kind": "neuron_power"})
    for day, name in (("2026-04-20", "utilization_raw"), ("2026-04-29", "utilization_raw"), ("2026-04-28", "utilization")):
        noon = f"{day}T12:00:00Z"
        epoch = int(dt.datetime.fromisoformat(noon).timestamp())
        text = "40.00 41.00" if name == "utilization_raw" else f"POWER_STATUS_VALID,{epoch},40.00,60.00,50.00"
        line = {"collected_at": noon, "path": f"/sys/devices/virtual/neuron_device/neuron0/stats/power/{name}", "text": text}
        path = tmp_path / f"exports/power/host=i-1/{day}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(line) + "\n")
        set_time(path, "2026-07-03")
    organisation.refresh()
    found = sorted(member.contents.controls.reached_days for member in organisation.line.elect().members)
    assert found == [["2026-04-20"], ["2026-04-28"], ["2026-04-29", "2026-05-01"]]


def test_telemetry_rebuilds_the_months_it_lies_in(organisation: Organisation) -> None:
    before = units(organisation)
    write_samples(neuron(organisation, "a.jsonl"), "2026-04-30T00:00:00Z", at="2026-07-03")
    assert changed(organisation, before) == [APRIL]
    before = units(organisation)
    write_samples(neuron(organisation, "c.jsonl"), "2026-05-01T00:00:00Z", at="2026-07-03")
    assert changed(organisation, before) == [APRIL, MAY], "it ends at midnight, so May may begin without a gap"
    before = units(organisation)
    write_samples(neuron(organisation, "b.jsonl"), "2026-05-01T00:00:01Z", at="2026-07-03")
    assert changed(organisation, before) == [APRIL, MAY]


def test_a_point_also_rebuilds_a_month_that_is_less_than_some_days_away(organisation: Organisation) -> None:
    before = units(organisation)
    folder = organisation.folder / "exports/tpu"
    write_points(folder / "a.json", "2026-05-15T00:00:00Z", at="2026-07-03")
    assert set(changed(organisation, before)) >= {MAY}
    assert controls(organisation, "tpu").reached_months == ["2026-05"]
    before = units(organisation)
    write_points(folder / "b.json", "2026-05-01T12:00:00Z", at="2026-07-03")
    assert changed(organisation, before) == [APRIL, MAY], "it covers the spacing before it"
    before = units(organisation)
    write_points(folder / "c.json", "2026-05-30T12:00:00Z", at="2026-07-03")
    assert changed(organisation, before) == [MAY, JUNE], "the next point covers the time since this one"


def test_samples_of_a_run_without_end_rebuild_the_months_they_lie_in(organisation: Organisation) -> None:
    """An open end is decided inside each month: what June shows is no evidence of April."""
    node = {"resource_id": "node-1", "started_at": "2026-04-20T00:00:00Z"}
    write_run(organisation.folder / "exports/runs/open.run.json", "Open Run", at="2026-07-02", nodes=[node])
    write_points(organisation.folder / "exports/tpu/0.json", "2026-06-10T12:00:00Z", at="2026-07-03")
    organisation.refresh()
    before = units(organisation)
    write_points(organisation.folder / "exports/tpu/a.json", "2026-06-15T12:00:00Z", at="2026-07-03", run="open-run")
    assert changed(organisation, before) == [JUNE]


def test_the_date_of_a_run_records_file_has_no_meaning(organisation: Organisation) -> None:
    runs = organisation.folder / "exports/runs"
    write_run(runs / "open.run.json", "open", at="2026-07-02", nodes=[{"resource_id": "x", "started_at": "2026-05-20T00:00:00Z"}])
    organisation.refresh()
    for name in ("0.run.json", "open.run.json"):
        before = units(organisation)
        (runs / name).write_text((runs / name).read_text() + " ")
        set_time(runs / name, "2026-07-05")
        assert changed(organisation, before) == []


def test_a_rate_rebuilds_the_month_in_whose_last_eight_days_it_lies_and_an_own_figure_those_from_its_first_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    fx, inputs = tmp_path / "inputs/fx.csv", tmp_path / "inputs/own.csv"
    fx.parent.mkdir()
    sources = [
        {"name": "cur", "kind": "aws_cur"},
        {"name": "fx", "kind": "fx_rates", "location": str(fx)},
        {"name": "own", "kind": "user_inputs", "location": str(inputs)},
    ]
    fx.write_text("rate_date,base_currency,quote_currency,rate,source\n2026-04-01,USD,EUR,0.925,ECB\n")
    inputs.write_text("kind,key,value,unit,source,valid_from,valid_to\npue,us-east-1,1.15,ratio,meter,2026-01-01,\n")
    organisation = Organisation(tmp_path, *sources)
    organisation.deliver([bill_line()], at="2026-05-02")
    assert organisation.outcomes() == {"landed": 3}
    assert organisation.raw("select rate__text, source from raw.fx_rates") == [("0.925", "ECB")]
    assert organisation.raw("select kind, value__text, valid_to from raw.user_inputs") == [("pue", "1.15", None)]
    before = units(organisation)
    fx.write_text(fx.read_text().replace("0.925", "0.926"))
    assert changed(organisation, before) == []
    after = units(organisation)
    assert after["~shared"] != before["~shared"], "and yet something is to be built"
    for day, months in (("04-22", []), ("04-23", [APRIL]), ("04-30", [APRIL]), ("05-01", []), ("05-31", [])):
        before = after
        fx.write_text(fx.read_text() + f"2026-{day},USD,EUR,0.93,ECB\n")
        assert changed(organisation, before) == months, day
        after = units(organisation)
    inputs.write_text(inputs.read_text().replace("1.15", "1.16"))
    assert changed(organisation, after) == [APRIL]
    before = units(organisation)
    inputs.write_text(inputs.read_text() + "pue,us-east-1,1.1,ratio,meter,2026-05-01,\n")
    assert changed(organisation, before) == [], "April is not of it"


def test_a_reading_of_a_meter_belongs_to_its_month_and_ties_the_run_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which run a name means is found from all records, so one that takes the name touches whatever the figure does."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    inputs = tmp_path / "own.csv"
    inputs.write_text("kind,key,value,unit,source,valid_from,basis\n")
    own = {"name": "own", "kind": "user_inputs", "location": str(inputs)}
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "runs", "kind": "training_runs"}, own)
    for month in ("2026-04", "2026-05", "2026-06"):
        organisation.deliver([bill_line(day=f"{month}-01")], at="2026-07-02", month=month)
    organisation.refresh()
    before = units(organisation)
    inputs.write_text(inputs.read_text() + "measured_energy,Meter Run,12.5,kWh,meter,2026-05-01,facility\n")
    assert changed(organisation, before) == [MAY]
    before = units(organisation)
    node = {"resource_id": "i-x", "started_at": "2026-06-20T00:00:00Z", "ended_at": "2026-06-21T00:00:00Z"}
    write_run(tmp_path / "exports/runs/a.run.json", "Meter-Run", at="2026-07-02", nodes=[node])
    assert MAY in changed(organisation, before)


def test_status_shows_the_months_of_telemetry_as_landed(organisation: Organisation) -> None:
    write_samples(neuron(organisation, "a.jsonl"), "2026-04-10T00:00:00Z", "2026-05-10T00:00:00Z", at="2026-07-03")
    write_samples(neuron(organisation, "b.jsonl"), "2026-04-11T00:00:00Z", at="2026-07-04")
    organisation.refresh()
    cells = read_status(organisation.settings).sources[0].months
    assert [(cell.month, cell.state, cell.landed, cell.is_book) for cell in cells] == [
        ("2026-04", "landed", 2, None),
        ("2026-05", "landed", 1, None),
    ]


@pytest.mark.slow
def test_three_hundred_files_are_landed_and_read_in_little_time(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, SOURCES[0])
    for number in range(300):
        day, rest = divmod(number, 24)
        write_samples(neuron(organisation, f"{number}.jsonl"), f"2026-04-{day + 1:02}T{rest:02}:30:00Z", at="2026-07-03")
    started = time.process_time()
    assert organisation.outcomes() == {"landed": 300}
    landed = time.process_time()
    assert organisation.raw("select count(*), count(distinct _source_object) from raw.neuron_monitor") == [(300, 300)]
    assert time.process_time() - landed < 2
    assert landed - started < 20
