"""Status: sources by months, from the landing alone; and how long a refresh without news takes."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from connectors.layouts.accounting import Counts
from dagster_project.base.durable import write as write_durably
from dagster_project.base.months import months_between
from dagster_project.commands.status import SourceMonth, SourceStatus, Status, json_text, read_status
from dagster_project.commands.status_table import table_text
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


def test_a_bill_without_any_invoice_number_two_months_after_its_end_is_probably_pro_forma(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-10T00:00:00Z")

    def warnings(**configured: object) -> list[str]:
        organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur", **configured})
        organisation.deliver([bill_line(day="2026-05-01")], at="2026-06-02", month="2026-05")
        organisation.deliver([bill_line(day="2026-06-01")], at="2026-07-02", month="2026-06")
        organisation.refresh()
        return [one for one in read_status(organisation.settings).warnings if "pro forma" in one]

    [warning] = warnings()
    assert warning.startswith("cur is probably pro forma: no row of a payer has an invoice number in 2026-05. Set")
    assert warnings(book=True) == [], "who pays has stated it"
    assert warnings(is_pro_forma=True) == [], "and it counts nowhere"


def test_a_quarantined_month_shows_what_is_still_published_and_why(organisation: Organisation) -> None:
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


def eight_years() -> Status:
    """96 months of twelve sources: one month of 2021 is quarantined, some of 2020 and the newest but two are missing."""
    months = months_between("2018-11", "2026-10")

    def source(number: int) -> SourceStatus:
        def state(month: str) -> str:
            if number == 1 and month == "2021-08":
                return "quarantined"
            if number == 2 and month in ("2020-03", "2020-05", "2020-06", "2026-08"):
                return "missing"
            return "not_published" if month == "2026-10" else "preliminary" if month == "2026-09" else "final"

        cells = [SourceMonth(month, state(month), 1, 10) for month in months]
        refusal = {
            "message": f"s3://bucket/{'long-' * 30}name.parquet is missing columns a, b, c and some more.",
            "remedy": "Mend.",
        }
        counts = Counts(0, 0, 0, 0, 0, 0) if number == 5 else Counts(9, 9, 0, 0, 0, 0)
        unknown = [f"column_{letter}" for letter in "abcdefgh"] if number == 4 else []
        refused = [refusal] * 7 if number == 1 else []
        name = f"source-{number}" + ("-of-a-department-with-a-long-name" if number == 3 else "")
        return SourceStatus(name, "neuron_monitor", f"s3://b/{number}", 1096, 1, 96, cells, refused, unknown, counts)

    return Status(datetime(2026, 11, 1, tzinfo=UTC), [source(number) for number in range(12)])


def test_eight_years_of_twelve_sources_fit_on_120_columns_with_whatever_is_wrong() -> None:
    lines = table_text(eight_years(), 120).splitlines()
    assert len(lines) < 40
    assert [line for line in lines if len(line) > 120 and " " in line.strip()] == []  # but for one long name
    header = lines[2].split()
    assert header[4:] == ["11", "12", *(f"{month:02}" for month in range(1, 11))]
    assert lines[1].split() == ["2025", "2026"]
    rows = {line.split()[0]: line.split()[4:] for line in lines if "neuron_monitor" in line}
    assert len(rows) == 12 and rows["source-0"] == ["fin"] * 10 + ["prel", "-"]
    assert rows["source-2"] == ["fin"] * 9 + ["MISS", "prel", "-"]
    assert "fin final, prel preliminary, - not published, MISS missing, QUAR quarantined" in lines
    assert "earlier months of source-1: quarantined 2021-08" in lines
    assert "earlier months of source-2: missing 2020-03, 2020-05..2020-06" in lines
    assert "quarantined source-1: 4 more; --all shows them" in lines
    assert "unknown columns in source-4: column_a, column_b, column_c and 5 more" in lines
    assert [line for line in lines if line.startswith("empty source-5: s3://b/5: nothing below this prefix.")]


def test_on_80_columns_the_same_twelve_months_are_in_more_tables_and_nothing_is_cut() -> None:
    narrow, wide = table_text(eight_years(), 80), table_text(eight_years(), 120)
    assert [line for line in narrow.splitlines() if len(line) > 80 and " " in line.strip()] == [] and "…" not in narrow
    rows = {text: [line.split()[4:] for line in text.splitlines() if line.startswith("source-0 ")] for text in (narrow, wide)}
    assert len(rows[narrow]) > 1 and [cell for row in rows[narrow] for cell in row] == rows[wide][0]
    assert narrow.split("fin final,")[1].split() == wide.split("fin final,")[1].split()


def test_all_shows_every_month_and_every_finding_on_120_columns() -> None:
    text = table_text(eight_years(), 120, everything=True)
    assert [line for line in text.splitlines() if len(line) > 120 and " " in line.strip()] == []
    assert text.count("source-0 ") == 8 and text.count("QUAR") == 2 and text.count("MISS") == 5  # each once in the legend
    assert text.count("quarantined source-1:") == 7 and "column_h" in text and "earlier months" not in text


def test_an_empty_location_is_shown_by_status_and_is_no_finding(organisation: Organisation) -> None:
    organisation.deliver([bill_line(day="2026-07-01")], at="2026-08-02", month="2026-07")
    assert [landed.outcome for landed in organisation.refresh()] == ["landed"]
    text = table_text(read_status(organisation.settings), 400)
    assert f"empty runs: {organisation.folder}/exports/runs: nothing in this folder. Correct" in text
    assert "empty cur" not in text


@pytest.mark.slow
def test_a_thousand_generations_without_news_take_under_three_seconds_of_one_core(organisation: Organisation) -> None:
    for number in range(1000):
        write_run(organisation.folder / f"exports/runs/{number}.run.json", f"run-{number}", at="2026-08-02")
    line = organisation.line
    plan = line.plan()
    [first] = line.landing.land_together(plan.new[0][0], [plan.new[0][1]])
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
