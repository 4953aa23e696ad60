"""Status: sources by months, from the landing alone; and how long a refresh without news takes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest

from dagster_project.commands.status import json_text, read_status, table_text
from dagster_project.durable import write as write_durably
from dagster_project.landing.records import encode
from tests.landing.kit import Organisation, bill_line, carbon_row, write_run


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-10T00:00:00Z")
    return Organisation(
        tmp_path,
        {"name": "cur", "kind": "aws_cur"},
        {"name": "carbon", "kind": "aws_carbon"},
        {"name": "runs", "kind": "training_runs"},
    )


def states(organisation: Organisation, name: str) -> dict[str, str]:
    (source,) = [source for source in read_status(organisation.settings).sources if source.name == name]
    return {cell.month: cell.state for cell in source.months}


def test_each_month_is_final_preliminary_missing_or_not_published_yet(organisation: Organisation) -> None:
    organisation.deliver([bill_line(day="2026-05-01", bill_invoice_id="1")], at="2026-06-02", month="2026-05")
    organisation.deliver([bill_line(day="2026-07-01")], at="2026-08-02", month="2026-07")
    organisation.deliver_carbon([carbon_row(month="2026-05")], at="2026-06-18", month="2026-05")
    organisation.refresh()
    assert states(organisation, "cur") == {
        "2026-05": "final",
        "2026-06": "missing",
        "2026-07": "preliminary",
        "2026-08": "not_published",
    }
    assert states(organisation, "carbon") == {
        "2026-05": "preliminary",
        "2026-06": "missing",
        "2026-07": "not_published",
        "2026-08": "not_published",
    }


def test_a_closed_month_with_a_row_that_is_not_invoiced_is_preliminary_as_its_costs_are(organisation: Organisation) -> None:
    lines = [bill_line(day="2026-05-01", bill_invoice_id=number) for number in ("1", None)]
    organisation.deliver(lines, at="2026-06-02", month="2026-05")
    organisation.refresh()
    assert states(organisation, "cur")["2026-05"] == "preliminary"


def test_a_quarantined_month_shows_what_still_stands_and_why(organisation: Organisation) -> None:
    organisation.deliver([bill_line(day="2026-07-01")], at="2026-08-02", month="2026-07")
    organisation.refresh()
    organisation.deliver([bill_line(float("nan"), day="2026-07-01")], at="2026-08-03", month="2026-07")
    organisation.refresh()
    status = read_status(organisation.settings)
    assert any(source.quarantined for source in status.sources)
    cell = status.sources[0].months[0]
    assert (cell.month, cell.state, cell.landed, cell.rows) == ("2026-07", "quarantined", 1, 1)
    text = table_text(status, width=200)
    assert "line_item_unblended_cost" in text
    assert "quarantined" in text


def test_unknown_columns_are_listed_and_the_run_source_counts_its_records(organisation: Organisation) -> None:
    organisation.deliver([bill_line(day="2026-07-01", brand_new_column="x")], at="2026-08-02", month="2026-07")
    write_run(organisation.folder / "exports/runs/a.run.json", "a", at="2026-08-02")
    organisation.refresh()
    document = json.loads(json_text(read_status(organisation.settings)))
    cur, _, runs = document["sources"]
    assert cur["unknown_columns"] == ["brand_new_column"]
    assert cur["months"][0]["published_at"] == "2026-08-02T00:00:00Z"
    assert (runs["landed"], runs["elected"], runs["months"]) == (1, 1, [])
    assert document["at"] == "2026-08-10T00:00:00Z"


@pytest.mark.slow
def test_a_thousand_generations_without_news_take_under_three_seconds_of_one_core(organisation: Organisation) -> None:
    for number in range(1000):
        write_run(organisation.folder / f"exports/runs/{number}.run.json", f"run-{number}", at="2026-08-02")
    line = organisation.line
    plan = line.plan()
    first = line.landing.land(*plan.new[0])
    for _, delivery in plan.new[1:]:  # landed as the first was: what is in them does not matter here
        generation = msgspec.structs.replace(first.generation, partition=delivery.partition, identity=delivery.identity)
        folder = organisation.landing / generation.path
        folder.mkdir(parents=True)
        write_durably(folder / "_generation.json", encode(generation))
        made = organisation.folder / "made"
        made.mkdir()
        line.landing.shelf.put(generation, msgspec.structs.replace(first.contents, parts=[]), made)
    line = organisation.line
    started = time.process_time()
    assert line.plan().is_empty
    line.fingerprint(line.elect())
    assert time.process_time() - started < 3
