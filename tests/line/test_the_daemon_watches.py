"""Dagster's own daemon over a line that is left alone: a new month is found and published, a final quarter is reported, a refused
delivery and a failed gate are red runs of which one letter and one call tell. Tests follow each other: the line goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
import yaml

from dagster_project.assets import names
from dagster_project.assets.instance import prepare_instance
from dagster_project.warehouse.site import Site
from tests.alerts.kit import Received, alerts_of, environment, servers
from tests.browser import open_page, picture
from tests.deploy.kit import Deployment, deployed, until
from tests.landing.kit import Organisation, bill_line, carbon_row

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
SOURCES = [
    {"name": name, "kind": kind, "location": f"./exports/{name}"} for name, kind in (("cur", "aws_cur"), ("carbon", "aws_carbon"))
]
GATE, SWITCH = "assert_every_cell_adds_up", "a-gate-fails"  # of tests/line/watched.py
# the true-up of 2026 was over in July 2027, so what is there is final
SURROUNDINGS = {"TRAINLEDGER_NOW": "2027-08-01T00:00:00Z", "FRESHNESS_DAEMON_INTERVAL_SECONDS": "2"}
DESK = {"width": 1400, "height": 800}


def line_of(month: str) -> dict[str, Any]:
    """A line of the bill that has its invoice."""
    number = int(month[-2:])
    return bill_line(day=f"{month}-01", number=number, bill_invoice_id=f"invoice-{number}", resource_tags={})


def deliver(organisation: Organisation, month: str, day: int = 20) -> None:
    """A month of bill and carbon to which nothing will be added, on a day of the month after it."""
    at = f"2026-{int(month[-2:]) + 1:02d}-{day}"
    organisation.deliver([line_of(month)], at=at, month=month)
    organisation.deliver_carbon([carbon_row(month=month)], at=at, month=month)


@pytest.fixture(scope="module")
def organisation(tmp_path_factory: pytest.TempPathFactory) -> Organisation:
    """April and May are there; June is not."""
    made = Organisation(tmp_path_factory.mktemp("watched"), *SOURCES)
    for month in ("2026-04", "2026-05"):
        deliver(made, month)
    return made


@pytest.fixture(scope="module")
def received(organisation: Organisation) -> Iterator[Received]:
    with servers(organisation.folder) as found:
        document: dict[str, Any] = {"organisation": {"name": "Test"}, "home": "./home", "sources": SOURCES}
        document["schedules"] = {"new_deliveries": True, "quarterly": True}
        document["alerts"] = alerts_of(found)
        organisation.settings.path.write_text(yaml.safe_dump(document))
        yield found


@pytest.fixture(scope="module")
def instance(organisation: Organisation) -> Iterator[dg.DagsterInstance]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", "")
        prepare_instance(organisation.settings.home)
        with dg.DagsterInstance.get() as opened:
            yield opened


@pytest.fixture(scope="module")
def dagster(organisation: Organisation, received: Received, instance: dg.DagsterInstance) -> Iterator[Deployment]:
    """Daemon and pages; all that happens is the daemon's doing."""
    surroundings = SURROUNDINGS | environment(received, organisation.folder)
    with deployed(organisation.settings, surroundings, "tests.line.watched") as serving:
        yield serving


def runs(instance: dg.DagsterInstance, job: str = "refresh") -> list[str]:
    """How the runs of a job ended, the first one first."""
    return [run.status.value for run in instance.get_runs(dg.RunsFilter(job_name=job), ascending=True)]


def is_published(organisation: Organisation, month: str) -> bool:
    return f"AWS/{month}" in (Site.of_home(organisation.settings.home).publication() or {}).get("units", {})


def of(matter: str, sent: list[str]) -> list[str]:
    """What was sent about it: with each month of carbon another one is missing, which is a matter by itself."""
    return [one for one in sent if matter in one]


def looks_after(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int:
    """How often the sensor looked since a run ended."""
    [state] = [one for one in instance.all_instigator_state() if one.name == "new_deliveries"]
    ended = instance.get_run_stats(run.run_id).end_time
    return len(instance.get_ticks(state.instigator_origin_id, state.selector_id, after=ended)) if ended else 0


def test_a_new_month_is_found_and_published_and_the_quarter_that_is_final_then_is_reported_once(
    organisation: Organisation, instance: dg.DagsterInstance, dagster: Deployment
) -> None:
    def log() -> str:
        return dagster.log("code") + dagster.log("daemon")

    until(lambda: is_published(organisation, "2026-05") and runs(instance) == ["SUCCESS"], log)
    assert runs(instance, "quarterly_report") == [], "two months of a quarter are not the quarter"
    deliver(organisation, "2026-06")
    until(lambda: is_published(organisation, "2026-06") and runs(instance, "quarterly_report") == ["SUCCESS"], log)
    assert (organisation.settings.home / "reports/2026Q2/report.pdf").exists()
    watched = [names.PUBLICATION, names.landing_key("cur"), dg.AssetKey(["marts", "fct_reconciliation"])]
    until(lambda: {*states(instance, watched)} == {"PASS"}, log)
    assert runs(instance, "quarterly_report") == ["SUCCESS"] and runs(instance) == ["SUCCESS", "SUCCESS"]


def states(instance: dg.DagsterInstance, keys: list[dg.AssetKey]) -> list[str]:
    """How fresh assets are, as Dagster's daemon found last."""
    found = instance.get_freshness_state_records(keys)
    return [found[key].freshness_state.value if key in found else "UNKNOWN" for key in keys]


def test_a_refused_delivery_is_a_red_run_one_letter_and_one_call_and_the_next_good_one_ends_the_matter(
    organisation: Organisation, instance: dg.DagsterInstance, dagster: Deployment, received: Received
) -> None:
    before, title = runs(instance), "cur: a delivery was not taken"
    received.letters.clear(), received.calls.clear()
    line = line_of("2026-07")
    del line["line_item_unblended_cost"]
    organisation.deliver([line], at="2026-08-20", month="2026-07")
    until(lambda: runs(instance) == [*before, "FAILURE"], lambda: dagster.log("code"))
    [red] = instance.get_runs(dg.RunsFilter(job_name="refresh"), limit=1)
    with open_page(viewport=DESK) as page:
        page.goto(f"{dagster.address}/runs/{red.run_id}")
        page.get_by_text("is missing columns line_item_unblended_cost").first.wait_for(timeout=60_000)
        page.get_by_text("Failure").first.wait_for(timeout=60_000)
        assert page.get_by_text(names.SOURCES).count() > 1
        page.get_by_placeholder("Filter…").fill("Steps failed")
        page.get_by_text("ENGINE_EVENT").first.wait_for(state="hidden")
        picture(page, "red-run", height=518)  # above the traceback that Dagster adds
    until(lambda: looks_after(instance, red) > 1)  # and finds what it found
    assert runs(instance) == [*before, "FAILURE"]
    assert received.subjects == received.titles == [title]
    assert "line_item_unblended_cost" in received.calls[0]["causes"][0]["first"]

    deliver(organisation, "2026-07", day=21)
    until(lambda: runs(instance) == [*before, "FAILURE", "SUCCESS"], lambda: dagster.log("code"))
    assert is_published(organisation, "2026-07")
    until(lambda: len(of(title, received.titles)) > 1 < len(of(title, received.subjects)))
    assert of(title, received.subjects) == of(title, received.titles) == [title, f"Over: {title}"]


def test_a_failed_gate_keeps_the_publication_and_shows_its_rows(
    organisation: Organisation, instance: dg.DagsterInstance, dagster: Deployment, received: Received
) -> None:
    before = runs(instance)
    (organisation.folder / SWITCH).touch()
    deliver(organisation, "2026-08")
    until(lambda: runs(instance) == [*before, "FAILURE"], lambda: dagster.log("code"))
    assert not is_published(organisation, "2026-08")
    with open_page(viewport=DESK) as page:
        page.goto(f"{dagster.address}/assets/marts/fct_reconciliation?view=checks&checkDetail={GATE}")
        page.get_by_text('"usage_month": "2026-08-01"').first.wait_for(timeout=60_000)
        page.get_by_text("This is a blocking asset check.").wait_for(timeout=60_000)
        picture(page, "failed-gate")
    until(lambda: of(GATE, received.titles) and of(GATE, received.subjects))
    words = f"Gate dbt.{GATE} did not pass, and nothing new is published"
    assert of(GATE, received.subjects) == of(GATE, received.titles) == [words]
