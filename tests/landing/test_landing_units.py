"""Build units: a month is built again when, and only when, something its numbers can depend on has changed."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_project.base.kinds import KINDS, Kind
from dagster_project.election.run_ids import ambiguous_run_ids, linked, normalised_run_id
from dagster_project.election.run_tags import tag_key
from dagster_project.election.units import SHARED, turned_months
from tests.landing.kit import Organisation, bill_line, hour, set_time, write_points, write_run

BLOCK = "arn:aws:ec2:us-east-1:012345678901:capacity-reservation/cr-0a1b2c3d4e5f60718"
APRIL, MAY, JUNE = (dt.date(2026, month, 1) for month in (4, 5, 6))


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """Three months of bills and one run in April."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "runs", "kind": "training_runs"})
    for month in (4, 5, 6):
        line = bill_line(1.0, day=f"2026-0{month}-01", line_item_resource_id=f"i-{month}")
        organisation.deliver([line], at=f"2026-0{month + 1}-02", month=f"2026-0{month}")
    write_run(tmp_path / "exports/runs/a.run.json", "a", at="2026-05-02")
    organisation.refresh()
    return organisation


def changed(organisation: Organisation, before: dict[str, str]) -> list[dt.date]:
    """The months to build after a refresh, against fingerprints of before."""
    from dagster_project.election.units import months_to_build

    organisation.refresh()
    return months_to_build(organisation.line.units(organisation.line.elect()), before)


@pytest.fixture
def before(organisation: Organisation) -> dict[str, str]:
    return organisation.line.units(organisation.line.elect())


def test_every_month_is_built_first_and_none_when_nothing_changed(organisation: Organisation, before: dict[str, str]) -> None:
    line = organisation.line
    assert line.months_to_build(line.elect()) == [APRIL, MAY, JUNE]
    assert changed(organisation, before) == []


def test_a_restated_month_alone_is_built_again(organisation: Organisation, before: dict[str, str]) -> None:
    organisation.deliver([bill_line(2.0, day="2026-05-01")], at="2026-06-03", month="2026-05")
    assert changed(organisation, before) == [MAY]


def test_a_bill_with_usage_of_an_earlier_month_rebuilds_that_month_too(
    organisation: Organisation, before: dict[str, str]
) -> None:
    lines = [
        bill_line(1.0, day="2026-06-01"),
        bill_line(2.0, day="2026-05-31", bill_billing_period_start_date=dt.datetime.fromisoformat("2026-06-01")),
    ]
    organisation.deliver(lines, at="2026-07-03", month="2026-06")
    assert changed(organisation, before) == [MAY, JUNE]


def test_a_run_that_touches_two_months_rebuilds_both(organisation: Organisation, before: dict[str, str]) -> None:
    node = {"resource_id": "i-new", "started_at": "2026-04-30T23:00:00Z", "ended_at": "2026-05-01T00:00:00.000001Z"}
    write_run(organisation.folder / "exports/runs/b.run.json", "b", at="2026-06-02", nodes=[node])
    assert changed(organisation, before) == [APRIL, MAY]


def test_a_window_that_ends_at_midnight_does_not_touch_the_next_month(organisation: Organisation, before: dict[str, str]) -> None:
    node = {"resource_id": "i-new", "started_at": "2026-04-30T23:00:00Z", "ended_at": "2026-05-01T00:00:00Z"}
    write_run(organisation.folder / "exports/runs/b.run.json", "b", at="2026-06-02", nodes=[node])
    assert changed(organisation, before) == [APRIL]


def test_a_node_that_is_still_held_touches_no_month_in_which_no_sample_shows_it(
    organisation: Organisation, before: dict[str, str]
) -> None:
    """A static cluster writes such records every day: its machines are billed each month, and that is no evidence of a run."""
    node = {"resource_id": "i-6", "started_at": "2026-05-20T00:00:00Z"}
    write_run(organisation.folder / "exports/runs/b.run.json", "b", at="2026-06-02", nodes=[node])
    assert changed(organisation, before) == [MAY]


def test_an_end_that_another_row_of_the_record_states_reaches_its_months(
    organisation: Organisation, before: dict[str, str]
) -> None:
    """The node shows when it began and its attempt when it ended: the holding reaches from the one to the other."""
    path = organisation.folder / "exports/runs/b.run.json"
    node = {"resource_id": "i-6", "started_at": "2026-04-20T00:00:00Z"}
    write_run(path, "b", at="2026-06-02", nodes=[node])
    record = json.loads(path.read_text())
    record["attempts"][0]["ended_at"] = "2026-06-10T00:00:00Z"
    path.write_text(json.dumps(record))
    set_time(path, "2026-06-11")
    assert changed(organisation, before) == [APRIL, MAY, JUNE]


def test_a_record_touches_no_other_month_that_bills_a_resource_of_its_name(
    organisation: Organisation, before: dict[str, str]
) -> None:
    """A name may be another machine there, so it is no evidence of what was held in June."""
    node = {"resource_id": "i-6", "started_at": "2026-04-02T00:00:00Z", "ended_at": "2026-04-03T00:00:00Z"}
    write_run(organisation.folder / "exports/runs/b.run.json", "b", at="2026-06-02", nodes=[node])
    assert changed(organisation, before) == [APRIL]


def test_a_record_touches_every_month_that_bills_its_managed_job(organisation: Organisation) -> None:
    job = "arn:aws:sagemaker:us-east-1:012345678901:training-job/llama"
    organisation.deliver([bill_line(1.0, day="2026-06-01", line_item_resource_id=job)], at="2026-07-03", month="2026-06")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    node = {"resource_id": "i-x", "started_at": "2026-04-02T00:00:00Z", "ended_at": "2026-04-03T00:00:00Z"}
    aliases = [{"system": "sagemaker", "id": job}]
    write_run(organisation.folder / "exports/runs/b.run.json", "b", at="2026-06-02", nodes=[node], aliases=aliases)
    assert changed(organisation, before) == [APRIL, JUNE]


@pytest.mark.parametrize(
    ("label", "value", "alias"),
    [
        ("k8s-workload-name", "train", "pods/ml/train"),
        ("k8s-label/jobset.sigs.k8s.io/jobset-name", "set", "ml/set"),
        ("vertex-ai-pipelines-run-billing-id", "41", "41"),
    ],
)
def test_a_record_touches_every_month_that_bills_its_workload_or_its_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str, value: str, alias: str
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "google", "kind": "gcp_billing"}, {"name": "runs", "kind": "training_runs"})
    for month, labels in (("05", []), ("06", [{"key": label, "value": value}])):
        organisation.deliver_google(f"2026-{month}-03", hour(f"2026-{month}-03T06:00", labels=labels), at="2026-07-03")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    aliases = [{"system": "kubernetes", "id": alias}]
    write_run(tmp_path / "exports/runs/b.run.json", "b", at="2026-06-02", nodes=[], aliases=aliases)
    assert changed(organisation, before) == [JUNE]


def test_a_payer_who_came_in_june_is_not_missing_in_april(organisation: Organisation) -> None:
    """A run without billed rows waits for every payer of its provider: for those there were."""
    line = bill_line(1.0, day="2026-06-01", bill_payer_account_id="999999999999")
    organisation.deliver([line], at="2026-07-03", month="2026-06")
    organisation.refresh()
    found = organisation.raw("select usage_month, count(*) from raw.months group by all order by all")
    assert found == [(APRIL, 1), (MAY, 1), (JUNE, 2)]


def test_two_ids_that_match_alike_touch_every_month(organisation: Organisation, before: dict[str, str]) -> None:
    write_run(organisation.folder / "exports/runs/b.run.json", "A", at="2026-06-02")
    assert changed(organisation, before) == [APRIL, MAY, JUNE]


def test_a_record_that_can_merge_with_another_by_alias_touches_the_months_of_that_one(
    organisation: Organisation, before: dict[str, str]
) -> None:
    runs = organisation.folder / "exports/runs"
    alias = {"aliases": [{"system": "slurm", "id": "4711"}]}
    node = {"resource_id": "i-x", "started_at": "2026-05-02T00:00:00Z", "ended_at": "2026-05-03T00:00:00Z"}
    write_run(runs / "b.run.json", "b", at="2026-06-02", nodes=[node], **alias)
    assert changed(organisation, before) == [MAY]
    before = organisation.line.units(organisation.line.elect())
    write_run(runs / "c.run.json", "c", at="2026-06-02", nodes=[], **alias)
    assert changed(organisation, before) == [MAY]


@given(st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=3), max_size=8))
def test_records_are_linked_exactly_when_a_chain_of_names_leads_from_one_to_the_other(names: list[set[str]]) -> None:
    numbers = linked(names)
    for start in range(len(names)):
        reached, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            for other in range(len(names)):
                if other not in reached and names[here] & names[other]:
                    reached.add(other)
                    waiting.append(other)
        assert {other for other in range(len(names)) if numbers[other] == numbers[start]} == reached


def test_a_capacity_block_ties_the_months_that_bill_it(organisation: Organisation) -> None:
    fee = bill_line(
        900.0,
        day="2026-05-03",
        number=7,
        line_item_line_item_type="Fee",
        line_item_usage_type="CapacityBlockFee:trn2.48xlarge",
        reservation_reservation_a_r_n=BLOCK,
    )
    organisation.deliver([bill_line(1.0, day="2026-05-01"), fee], at="2026-06-04", month="2026-05")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    hour = bill_line(0.0, day="2026-06-10", number=8, line_item_resource_id=BLOCK)
    organisation.deliver([bill_line(1.0, day="2026-06-01"), hour], at="2026-07-04", month="2026-06")
    assert changed(organisation, before) == [MAY, JUNE]
    before = organisation.line.units(organisation.line.elect())
    organisation.deliver([bill_line(5.0, day="2026-06-01"), hour], at="2026-07-05", month="2026-06")
    assert changed(organisation, before) == [JUNE], "the block's own rows did not change"
    organisation.deliver([bill_line(1.0, day="2026-07-01")], at="2026-08-04", month="2026-07")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    hour["line_item_unblended_cost"] = 1.0
    organisation.deliver([bill_line(5.0, day="2026-06-01"), hour], at="2026-08-05", month="2026-06")
    assert changed(organisation, before) == [MAY, JUNE], "no row of July is of the block"


def test_the_clock_counts_only_where_a_flag_turns(
    organisation: Organisation, before: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-09-01T00:00:00Z")
    assert organisation.line.units(organisation.line.elect()) == before
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-07-14T00:00:00Z")
    assert changed(organisation, before) == [], "only the time is another one"
    assert turned_months(organisation.line.units(organisation.line.elect()), before) == [JUNE]


def test_settings_that_change_figures_touch_everything(organisation: Organisation, before: dict[str, str]) -> None:
    other = organisation.settings.model_copy(update={"carbon_weights": "energy"})
    organisation.settings = other
    after = organisation.line.units(organisation.line.elect())
    assert all(after[name] != before[name] for name in before if not name.startswith("~status"))


def test_a_month_that_is_no_longer_there_is_still_one_to_build(organisation: Organisation, before: dict[str, str]) -> None:
    assert changed(organisation, {**before, "AWS/2026-03": "0"}) == [dt.date(2026, 3, 1)]
    assert SHARED in before


def test_run_ids_are_matched_as_the_contract_states() -> None:
    assert normalised_run_id("Run A/7.Ünit_x-y") == "run-a-7--nit_x-y"
    assert normalised_run_id("x" * 80) == "x" * 63
    assert normalised_run_id("İzmir-1") == "i-zmir-1"  # its lower case is an i and a dot above, two characters
    assert ambiguous_run_ids(["a.b", "a-b", "a-b", "c"]) == ["a-b"]
    assert [tag_key(key) for key in ("training_run_id", "TrainingRunId", "training-run:id")] == ["training_run_id"] * 3


def test_planning_and_fingerprints_import_no_engine(organisation: Organisation) -> None:
    script = f"""
import sys
from dataclasses import replace
from pathlib import Path
from dagster_project.election.election import elect
from dagster_project.election.units import fingerprints
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import make_plan
from dagster_project.settings import settings_of
from dagster_project.warehouse.builds import is_current
from dagster_project.warehouse.site import Site
sources = [
    {{"name": "cur", "kind": "aws_cur", "location": "./exports/cur"}},
    {{"name": "runs", "kind": "training_runs", "location": "./exports/runs"}},
]
document = {{"organisation": {{"name": "Test"}}, "home": "./home", "sources": sources}}
settings = settings_of(document, Path({str(organisation.folder / "trainledger.yaml")!r}))
landing = open_landing(settings)
assert make_plan(settings.sources, settings.base, landing).is_empty
election = elect(settings.sources, landing, contents_of=landing.contents_on_shelf)
assert not is_current(Site.of_home(settings.home), fingerprints(settings.rules, election))
print([name for name in ("dagster", "dbt", "duckdb", "polars", "pyarrow", "pandas", "numpy") if name in sys.modules])
"""
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[2]
    )
    assert finished.stdout.strip() == "[]"


def test_a_metered_window_rebuilds_its_month_and_the_twelve_after_it_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "tpu", "kind": "tpu_monitoring"})
    months = [dt.date(2025 + number // 12, number % 12 + 1, 1) for number in range(18)]
    for month in months:
        organisation.deliver([bill_line(1.0, day=f"{month}")], at="2026-07-02", month=f"{month:%Y-%m}")
    for month in ("2025-02", "2025-07"):
        write_points(tmp_path / f"exports/tpu/{month}.json", f"{month}-10T10:00:00Z", at="2026-07-02")
    organisation.refresh()
    use, watts = organisation.line.units(organisation.line.elect()), replace(KINDS[Kind.TPU_MONITORING], meters_chips=True)
    with monkeypatch.context() as patched:
        patched.setitem(KINDS, Kind.TPU_MONITORING, watts)  # as if the points were of a meter
        before = organisation.line.units(organisation.line.elect())
    write_points(tmp_path / "exports/tpu/2025-02.json", "2025-02-10T10:00:00Z", "2025-02-10T10:01:00Z", at="2026-07-03")
    assert changed(organisation, use) == [dt.date(2025, 2, 1)]
    monkeypatch.setitem(KINDS, Kind.TPU_MONITORING, watts)
    assert changed(organisation, before) == months[1:14], "from February 2025 to February 2026"
