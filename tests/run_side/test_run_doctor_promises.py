"""What `trainledger doctor` states will be null, or without a run, is what the tables hold after a refresh."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from doctor_kit import CLOCK, TAG, answer, doctor, text

from dagster_project.doctor import reading
from dagster_project.doctor.checks import REMEDIES
from dagster_project.landing.land import Landing
from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import Exports, carbon, hour, run

ROOT = Path(__file__).resolve().parents[2]
LOST = ("i-lost", "2026-05-10T00:00:00Z", "2026-05-10T01:00:00Z", None)
STRANGE = {"resource_id": "i-new", "accelerator_type": "trn9.48xlarge", "started_at": LOST[1], "ended_at": LOST[2]}


def bills_of_two_months(folder: Path) -> Exports:
    """April and May, each a tagged hour and one that no tag names; May has no list price, and April alone has carbon."""
    exports = Exports(folder)
    for month, more in (("2026-04", {}), ("2026-05", {"pricing_public_on_demand_cost": None})):
        tagged = hour(f"{month}-10T00:00:00", 10.0, line_item_resource_id="i-tagged", resource_tags=TAG, **more)
        rest = [hour(f"{month}-10T0{at}:00:00", 20.0, line_item_resource_id="i-rest", **more) for at in range(3)]
        exports.bill([tagged, *rest], period=month)
    return exports


def with_records(folder: Path) -> Exports:
    """And records: one of April's other machine, one that no bill has, of an unknown type, without machines, open."""
    exports = bills_of_two_months(folder)
    exports.carbon([carbon(0.1)])
    exports.runs(
        run("run-b", ("i-rest", "2026-04-10T00:00:00Z", "2026-04-10T01:00:00Z", None)),
        run("run-lost", LOST),
        run("run-strange", attempts=[{"attempt_id": "1", "nodes": [STRANGE]}]),
        run("run-nowhere", attempts=[]),
        run("run-open", ("i-open", "2026-05-10T00:00:00Z", None, None), tokens=10**9),  # type: ignore[arg-type]
    )
    return exports


@pytest.mark.slow
@pytest.mark.parametrize("make", [bills_of_two_months, with_records])
def test_what_doctor_states_is_what_the_tables_hold_after_a_refresh(
    make: Callable[[Path], Exports], tmp_path: Path, trainledger: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make(tmp_path).config()
    config.write_text(config.read_text().replace("reporting_currency: USD", "reporting_currency: EUR"))
    code, found = doctor(config)
    assert code == 0
    finished = trainledger("refresh", "--config", config, now=CLOCK["TRAINLEDGER_NOW"])
    assert finished.returncode == 0, finished.stderr[-2000:]
    nulls = [check["facts"] for check in found if check["question"] == "unknown_figures"]
    stated = {(one["provider_name"], one["reason"], place["month"]): place["runs"] for one in nulls for place in one["months"]}
    by_month = """select provider_name, unnest(string_split(unknown_because, '; ')), strftime(usage_month, '%Y-%m')
        from marts.run_month_summary"""
    rows = query(tmp_path / "home", by_month)
    of_runs = query(
        tmp_path / "home", by_month.replace("run_month_summary", "run_summary").replace("strftime(usage_month, '%Y-%m')", "null")
    )
    assert {key: number for key, number in stated.items() if key[2]} == {key: rows.count(key) for key in rows}
    assert {key[1] for key in stated} == {row[1] for row in [*rows, *of_runs]}, "and what a run's months do not state"
    without = [check["facts"] for check in found if check["question"] == "residuals"]
    residuals = {(one["reason"], place["month"]): Decimal(place["effective_cost"]) for one in without for place in one["months"]}
    sql = """select reason, strftime(usage_month, '%Y-%m'), sum(effective_cost) from marts.fct_residual_costs
        where cost_component = 'accelerator' or accelerator_type <> '' group by all"""
    assert residuals == {(reason, month): cost for reason, month, cost in query(tmp_path / "home", sql)} != {}
    for check in found:
        if check["question"] in ("unknown_figures", "residuals"):
            assert check["remedy"] or check["outcome"] == "ok", check
    assert "cost in the reporting currency: no exchange rate" in {reason for _, reason, _ in stated}
    sql = """select strftime(usage_month, '%Y-%m'), training_run_id from marts.fct_training_run_energy
        where energy_basis = 'time_model' and facility_energy_kwh is not null"""
    energy = [(one["month"], run) for one in answer(found, "energy")["facts"]["months"] for run in one["by_time_alone"]]
    assert sorted(energy) == sorted(query(tmp_path / "home", sql)) != []

    monkeypatch.setattr(Landing, "land_together", None)  # what was landed is not read again
    assert [one for one in doctor(config)[1] if one["about"] != "disk space"] == [
        one for one in found if one["about"] != "disk space"
    ]
    shown = text(config).splitlines()
    assert [line for line in shown if len(line) > 80 and " " in line[12:].strip()] == []


def test_every_reason_of_the_summaries_has_an_answer() -> None:
    models = ROOT / "dbt/models/marts/reports/run_summary.sql"
    texts = (ROOT / "dbt/macros/summaries.sql").read_text() + models.read_text()
    reasons = [found.replace("''", "'") for found in re.findall(r"(?:then|else) '([a-z -]+: (?:[^']|'')+)'", texts)]
    assert {*reasons} == {*REMEDIES["unknown_figures"]} and len(reasons) > 15


def test_every_month_that_is_listed_is_read_and_its_share_reported(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    for number in range(1, 7):
        exports.bill([hour(f"2026-0{number}-10T10:00:00", 1.0, resource_tags=TAG if number != 2 else {})], f"2026-0{number}")
    _, found = doctor(exports.config())
    cost = answer(found, "cost")
    assert [one["share"] for one in cost["facts"]["months"]] == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert "; by month: 2026-02 0 %, 2026-01 100 %" in cost["message"] and "and 1 more" in cost["message"]


def test_months_beyond_the_limit_are_named_and_nothing_is_stated_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = bills_of_two_months(tmp_path).config()
    monkeypatch.setitem(reading.BYTES, "bill", max(path.stat().st_size for path in tmp_path.rglob("*.parquet")))
    _, found = doctor(config)
    source = answer(found, "source")
    assert (source["facts"]["months_not_read"], source["facts"]["months_read_in_part"]) == (["2026-04"], [])
    assert source["message"].endswith("; not read: 2026-04") and "at most " in source["message"]
    stated = [
        place["month"]
        for check in found
        for place in check["facts"].get("months", [])
        if check["question"] != "source" and check["question"] != "carbon"
    ]
    assert {*stated} == {"2026-05"}
