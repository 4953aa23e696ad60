"""The first page in sentences: what it states of whole and of unknown quarters; each of its numbers is a figure of the record."""

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pytest

from reports.model import Figure, Table
from reports.page.html import tile
from reports.page.numbers import amount
from reports.sections.summary import MARKED, _change
from reports.sections.verdicts import VERDICTS, verdict_sentences
from tests.reports.kit import changed, record_of, rendered, tables_of, values_of
from tests.reports.published_fixture import PAIRED, TWO_RUNS, write_published
from tests.reports.published_rows import MONTHS, PAYERS, Run

NOTHING_BEFORE = "Nothing is compared with 2026Q1: nothing of that quarter is published."


def said(record: dict) -> dict[str, str]:
    """Sentences of the first page by what they are about, with plain spaces."""
    return {sentence["id"]: sentence["text"].replace("\u2009", " ") for sentence in record["sections"][0]["sentences"]}


def page_of(path: Path, quarter: str, out: Path) -> dict[str, str]:
    return said(record_of(rendered(path, quarter, out)))


@pytest.fixture(scope="module")
def records(published: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    out = tmp_path_factory.mktemp("pages")
    return {quarter: record_of(rendered(published, quarter, out)) for quarter in ("2026Q2", "2026Q3")}


@pytest.mark.parametrize("quarter", ["2026Q2", "2026Q3"])
def test_the_page_is_read_aloud_in_a_minute(records: dict[str, dict], quarter: str) -> None:
    board = {id: text for id, text in said(records[quarter]).items() if not id.startswith("verdict,")}  # one for each workload
    assert 60 < len(" ".join(board.values()).split()) <= 170


@pytest.mark.parametrize("quarter", ["2026Q2", "2026Q3"])
def test_each_number_of_a_sentence_is_a_figure_of_the_record(records: dict[str, dict], quarter: str) -> None:
    record = records[quarter]
    figures = {figure["id"]: figure for figure in record["figures"]}
    cells = {f"{row['id']}/{key}": value for table in tables_of(record).values() for row in table.get("rows", ())
             for key, value in row["values"].items()}  # fmt: skip
    count = 0
    for sentence in record["sections"][0]["sentences"]:
        plain = sentence["text"]
        if sentence["id"].startswith("verdict,"):
            continue  # its reason is a text of the verdict's row
        for number in sentence["figures"]:
            count += 1
            plain = plain.replace(number["text"], "", 1)
            base, part = "/".join(number["id"].split("/")[:3]), number["id"].split("/")[3:]
            if base not in figures:
                assert cells[number["id"]] is not None
                continue
            value = figures[base][part[0] if part else "value"]
            first = re.match(r"[\d\u2009.\u2212]+", number["text"])
            assert value is not None and first, number
            if not part and figures[base]["unit"] != "runs":
                assert amount(Decimal(value), figures[base]["unit"]).startswith(first[0].rstrip()), number
        for words in {figure[key] for figure in figures.values() for key in ("absent", "known_label", "change_reason")} - {None}:
            plain = plain.replace(words, "")  # a reason is a text of the figure's row
        free = re.sub(r"2026Q\d|Scope 1 and 3|Scope \d|category \d", "", plain)
        assert not re.search(r"\d", free), f"a number without an id: {free}"
    assert count >= 8


def test_a_share_has_one_decimal_in_its_tile(records: dict[str, dict], published: Path, tmp_path: Path) -> None:
    page = rendered(published, "2026Q3", tmp_path).html.read_text()
    tiles = dict(re.findall(r'class="tile-number" id="([^"]+)">([\d.]+) <span class="tile-unit">%', page))
    shares = {figure["id"]: figure["value"] for figure in records["2026Q3"]["figures"] if figure["id"] in tiles}
    assert tiles and tiles == {name: f"{Decimal(value) * 100:.1f}" for name, value in shares.items()}


@pytest.mark.in_turn
def test_two_runs_of_the_first_quarter_are_reported_in_words(tmp_path: Path) -> None:
    page = page_of(write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1]), "2026Q2", tmp_path)
    assert page["cost"] == "2 training runs cost 3 500 USD of 30 400 USD for all that was billed (effective cost)."
    assert page["energy"] == "The runs used 10.1 (8.09-12.6) MWh at the facility, modelled, and held chips for 14 000 h."
    # the one figure that is filed is a row of disclosures (test_datapoints.py), of which this publication has none
    assert page["emissions"] == "No emissions of 2026Q2 are disclosed yet: nothing is published of it."
    assert page["modelled"].endswith("location-based; it is in none of these figures.")
    assert page["sureness"].startswith("26.7 % of accelerator cost carries an energy")
    assert page["changes"] == NOTHING_BEFORE


def test_a_quarter_after_another_shows_what_changed_and_what_is_not_compared(records: dict[str, dict]) -> None:
    page = said(records["2026Q3"])
    assert re.match(r"Against 2026Q2 the cost of training runs (rose|fell) by [\d.]+ % from [\d ]+ USD", page["changes"])
    assert "No change is shown for their location-based emissions and their market-based emissions: " in page["changes"]
    assert page["emissions"] == "No emissions of 2026Q3 are disclosed yet: a carbon month of the quarter is not published."


@pytest.mark.parametrize("quarter", ["2026Q2", "2026Q3"])
def test_the_verdict_of_each_workload_is_on_the_page_as_its_table_has_it(records: dict[str, dict], quarter: str) -> None:
    rows = values_of(records[quarter], "verdicts") if "verdicts" in tables_of(records[quarter]) else []
    page = {id: text for id, text in said(records[quarter]).items() if id.startswith("verdict,")}
    assert len(page) == len({row["workload_key"] for row in rows})
    for row in rows:
        text = page[f"verdict,{quote(row['workload_key'])}"]
        year = [one for one in rows if one["workload_key"] == row["workload_key"] and one["span"] != "quarter"] or [row]
        assert text.endswith(year[0]["reason"].replace("\u2009", " "))
        assert ("undecided" in text.partition(". ")[0]) == (year[0]["verdict"] == "undecided")


def test_what_is_decided_comes_first_on_the_page_then_what_is_not() -> None:
    verdicts = {"a": "descriptive", "b": "undecided", "c": "tpu", "d": "not_comparable", "e": "equivalent", "f": "undecided"}
    rows = [
        {"workload_key": name, "span": "quarter", "measure": "Cost per run", "verdict": verdict, "reason": "."}
        for name, verdict in verdicts.items()
    ]
    sentences = verdict_sentences(Table(VERDICTS, tuple(rows)))
    assert [sentence.id for sentence in sentences] == [f"verdict,{name}" for name in ("c", "e", "b", "f", "a", "d")]


@pytest.mark.in_turn
def test_a_change_of_method_is_named_with_the_bounds_of_both_quarters(tmp_path: Path) -> None:
    """The same run in both quarters; in the second its watts are calibrated, and half of what they were."""
    runs = (replace(TWO_RUNS[0], months=MONTHS),)
    path = write_published(tmp_path / "p.duckdb", runs, payers=PAYERS[:1], carbon_until=date(2026, 9, 1))
    halved = ", ".join(
        f"{boundary}_energy_kwh{end} = {boundary}_energy_kwh{end} / 2"
        for boundary in ("chip", "chip_host", "it", "facility")
        for end in ("", "_low", "_high")
    )
    changed(
        path,
        f"update marts.fct_training_run_energy set {halved}, energy_basis = 'utilisation_model', power_confidence = 'calibrated' "
        "where usage_month >= date '2026-07-01'",
    )
    bounded = r"[\d.]+ \([\d.]+-[\d.]+\)"
    expected = (
        rf"their energy fell by [\d.]+ % from {bounded} ([kM]Wh) to {bounded} \1, of which [\d.]+ \1 less is another method"
    )
    assert re.search(expected, page_of(path, "2026Q3", tmp_path)["changes"])


def test_two_quarters_in_one_sentence_are_in_one_unit_however_far_apart_they_are() -> None:
    """53.2 kWh and 56.2 MWh look alike; of which 0.105 kWh is another method."""
    bounds = {
        name: Decimal(value) for name, value in {"low": "41500", "high": "101000", "prior_low": "37", "prior_high": "94"}.items()
    }
    change = {"change_ratio": Decimal(1055), "change_by_method": Decimal("0.105")}
    of = {"id": "q/glance/facility_energy", "label": "", "unit": "kWh", "method": "", "sql": ""}
    figure = Figure(**of, value=Decimal(56_200), prior=Decimal("53.2"), **bounds, **change)
    words = "".join(part for n, part in enumerate(MARKED.split(_change(figure, "their energy"))) if n % 3 != 1)
    assert words.endswith("from 0.0532 (0.0370-0.0940) MWh to 56.2 (41.5-101) MWh, of which 0.000105 MWh more is another method")


def test_of_next_to_nothing_a_change_is_two_figures_and_no_percentage() -> None:
    of = {"id": "q/glance/effective_cost", "label": "", "unit": "USD", "method": "", "sql": "", "prior_quarter": "2026Q1"}
    reason = "it is more than 10 times that of 2026Q1"
    figure = Figure(**of, value=Decimal(242_457), prior=Decimal(280), change=Decimal(242_177), change_reason=reason)
    words = "".join(part for n, part in enumerate(MARKED.split(_change(figure, "their cost"))) if n % 3 != 1)
    assert words.replace("\u2009", " ") == "their cost rose from 280 USD to 242 000 USD"
    assert tile(figure).lines[-1] == f"No percentage shown: {reason}."


def test_the_tile_of_what_is_filed_has_all_use_in_front_and_runs_as_a_part_of_it() -> None:
    of = {"id": "2026Q2/glance/provider_total_location_based", "label": "runs", "unit": "kgCO2e", "method": "", "sql": ""}
    filed = Figure(
        **of, value=Decimal("27214.61"), whole=Decimal("45216.5"), all_label="Scope 3 category 1, location-based, filed"
    )
    shown = tile(filed)
    assert (shown.label, shown.number, shown.unit, shown.id) == (filed.all_label, "45.2", "tCO2e", f"{filed.id}/whole")
    assert shown.part == (filed.id, "of which training runs 27.2 tCO2e, exactly 27\u2009214.610 kgCO2e")
    absent = tile(replace(filed, value=None, whole=None, absent="a carbon month of the quarter is not published"))
    assert (absent.label, absent.id, absent.lines[0].partition(":")[0]) == (filed.all_label, filed.id, "Not shown")


@pytest.mark.in_turn
def test_a_break_in_the_providers_model_is_the_reason_why_no_change_is_reported(tmp_path: Path) -> None:
    runs = (replace(TWO_RUNS[0], months=MONTHS),)
    path = write_published(tmp_path / "p.duckdb", runs, payers=PAYERS[:1], carbon_until=date(2026, 9, 1))
    assert "market-based emissions stayed at 225 kgCO2e" in page_of(path, "2026Q3", tmp_path)["changes"]
    for table in ("fct_run_cell_emissions", "fct_residual_emissions"):
        changed(path, f"update marts.{table} set provider_model_version = 'v2' where usage_month < date '2026-07-01'")
    page = page_of(path, "2026Q3", tmp_path)
    assert page["changes"].endswith("market-based emissions: the provider changed its model: AWS v2, then v3.0.1.")


@pytest.mark.in_turn
def test_costs_of_two_currencies_are_reported_one_after_the_other(tmp_path: Path) -> None:
    euro = replace(TWO_RUNS[1], payer=PAYERS[1], currency="EUR")
    page = page_of(write_published(tmp_path / "p.duckdb", (TWO_RUNS[0], euro)), "2026Q2", tmp_path)
    assert re.match(r"2 training runs cost 501 EUR of [\d ]+ EUR and 3 000 USD of [\d ]+ USD for all", page["cost"])
    assert "% (EUR) and " in page["sureness"]


@pytest.mark.in_turn
def test_what_is_unknown_is_reported_with_its_reason_and_what_is_known_of_it(tmp_path: Path) -> None:
    runs = (*TWO_RUNS, Run("dark", "vision", "m", months=MONTHS[:1], has_power=False))
    page = page_of(write_published(tmp_path / "p.duckdb", runs, payers=PAYERS[:1]), "2026Q2", tmp_path)
    assert page["energy"] == (
        "The energy of the runs is not stated: 1 of 5 run-months have no energy figure; in the other 4 run-months it was 10.1 "
        "(8.09-12.6) MWh."
    )
    assert "modelled" not in page
    path = write_published(tmp_path / "q.duckdb", TWO_RUNS, payers=PAYERS[:1])
    changed(path, "delete from marts.fct_reconciliation where measure like '%_cost' and usage_month = date '2026-05-01'")
    assert page_of(path, "2026Q2", tmp_path)["cost"] == (
        "The cost of training runs is not stated: a bill of the quarter is missing."
    )


@pytest.mark.in_turn
def test_a_bill_without_runs_is_reported_and_nothing_else_is_made_up(tmp_path: Path) -> None:
    page = page_of(write_published(tmp_path / "p.duckdb", (), payers=PAYERS[:1]), "2026Q2", tmp_path)
    assert page["cost"] == "No training run cost anything in 2026Q2; all that was billed is 26 900 USD."
    assert page.keys() == {"cost", "waste", "accelerators", "sureness", "changes", "emissions"}


@pytest.mark.in_turn
def test_coverage_of_the_bill_and_lost_work_are_reported_where_they_are_published(tmp_path: Path) -> None:
    path = changed(
        write_published(tmp_path / "p.duckdb", PAIRED),
        "insert into marts.rpt_coverage values (date '2026-05-01', 'AWS', 'AmazonEC2', 'USD', 1000, 712, 840),"
        " (date '2026-05-01', 'AWS', 'AmazonS3', 'USD', 1000, 0, 160)",
    )
    record = record_of(rendered(path, "2026Q2", tmp_path))
    assert "; of the whole bill 35.6 % carries energy and 50.0 % emissions." in said(record)["sureness"]
    rows = tables_of(record)["coverage_by_service"]["rows"]
    assert [row["values"]["service_code"] for row in rows if Decimal(row["values"]["effective_cost_with_energy"]) == 0] == [
        "AmazonS3"
    ]
