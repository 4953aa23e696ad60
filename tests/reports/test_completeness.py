"""What arrived and what did not: the stamp of a quarter with a gap, the vintage of sources by month, by day and as records."""

from ast import literal_eval
from pathlib import Path

import pytest

from connectors.registry import DESCRIPTORS
from dagster_project.base.failures import UsageError
from dagster_project.publishing.reporting import render_quarter
from tests.reports.kit import changed, record_of, rendered, values_of
from tests.reports.published_fixture import TWO_RUNS, write_published
from tests.reports.published_rows import BILLING_ACCOUNT, PAYERS
from tests.reports.report_models import phrase

DELIVERY = "insert into ops.dim_deliveries (source_name, kind, partition, published_at, is_elected)"


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    return write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])


@pytest.mark.in_turn
def test_a_configured_source_that_has_delivered_nothing_keeps_the_quarter_a_draft(usual: Path, tmp_path: Path) -> None:
    assert rendered(usual, "2026Q2", tmp_path).status == "preliminary"
    report = rendered(changed(usual, "insert into ops.listed_objects values ('new-payer', 'aws_cur')"), "2026Q2", tmp_path)
    months = "April 2026, May 2026 and June 2026"
    assert report.status == "draft"
    assert report.reasons[0] == f"No bill of source new-payer, which has delivered nothing so far, for {months}."


@pytest.mark.in_turn
def test_a_payer_that_fell_silent_long_ago_is_missed_while_its_source_is_configured(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=(PAYERS[0], BILLING_ACCOUNT))
    older = (
        f"update marts.{table} set usage_month = usage_month - interval 6 month where source_name like 'gcp-%'"
        for table in ("fct_reconciliation", "fct_residual_costs", "fct_residual_emissions")
    )
    changed(path, *older)
    reasons = rendered(path, "2026Q2", tmp_path).reasons
    assert reasons[0].startswith(f"No bill of Google Cloud payer {BILLING_ACCOUNT} for April 2026")
    changed(path, "delete from ops.listed_objects where source_name like 'gcp-%'")
    assert not any(BILLING_ACCOUNT in reason for reason in rendered(path, "2026Q3", tmp_path).reasons), "no longer configured"


@pytest.mark.in_turn
def test_telemetry_and_records_are_distinguished_from_what_is_missing(usual: Path, tmp_path: Path) -> None:
    days = ("2026-04-03T05-00-00Z", "2026-04-03T06-00-00Z", "2026-04-09T05-00-00Z")
    changed(
        usual,
        *(f"{DELIVERY} values ('neuron', 'neuron_monitor', 'host=i-2026-01~{day}.jsonl', '2026-04-10', true)" for day in days),
        f"{DELIVERY} values ('tpu', 'tpu_monitoring', 'p~duty_cycle~2026-05.json', '2026-06-01', true)",
        f"{DELIVERY} values ('records', 'training_runs', 'team~refresh-2026-06.run.json', '2026-06-02 03:04:05', true)",
        "insert into ops.listed_objects values ('late-bill', 'aws_cur')",
        "insert into marts.fct_quarantine values ('late-bill', 'BILLING_PERIOD=2026-05/a.parquet', 1, null, null, 'r', 'remedy')",
    )
    record = record_of(rendered(usual, "2026Q2", tmp_path))
    vintage = {row["source_name"]: row for row in values_of(record, "vintage")}
    assert (vintage["neuron"]["month_1_days"], vintage["neuron"]["month_2_days"]) == ("2 of 30", "0 of 31")
    assert vintage["neuron"]["month_2"] == "no file" and vintage["tpu"]["month_2"].startswith("2026-06-01")
    assert (vintage["records"]["records"], vintage["records"]["month_1"]) == ("1", "as records")
    assert vintage["records"]["newest_record"].startswith("2026-06-02 03:04")
    matrix = {row["source_name"]: [row[f"month_{n}"] for n in (1, 2, 3)] for row in values_of(record, "sources_by_month")}
    assert matrix["neuron"] == ["landed", "no file", "no file"] and matrix["records"] == ["as records"] * 3
    assert matrix["late-bill"] == ["missing", "quarantined", "missing"] and matrix["cur-012"] == ["final"] * 3
    assert "telemetry until 2026-06-01 and run records until" in record["vintage_sentence"]


@pytest.mark.in_turn
def test_a_file_of_every_kind_of_telemetry_counts_for_the_day_in_its_name(usual: Path, tmp_path: Path) -> None:
    partitions = {
        "xprof": "vm-1~plugins~profile~2026_04_03_09_05_20~vm-1.xplane.pb",
        "neuron_power": "host=i-016a44539ba0f959f~neuron0-2026-04-03T09-30-00Z.jsonl",
        "power_meters": "2026-04-03T09-30-00Z.csv",
    }
    telemetry, records = (set(literal_eval(phrase(f"kinds_of_{what}"))) for what in ("telemetry", "records"))
    assert telemetry == {kind for kind, one in DESCRIPTORS.items() if one.fact == "telemetry"} and telemetry > set(partitions)
    assert records == {kind for kind, one in DESCRIPTORS.items() if one.fact in ("runs", "inputs")}
    changed(usual, *(f"{DELIVERY} values ('of-{k}', '{k}', '{name}', '2026-04-10', true)" for k, name in partitions.items()))
    vintage = {row["source_name"]: row for row in values_of(record_of(rendered(usual, "2026Q2", tmp_path)), "vintage")}
    shown = {tuple(vintage[f"of-{kind}"][column] for column in ("month_1", "month_1_days", "month_2")) for kind in partitions}
    assert shown == {("2026-04-10 00:00", "1 of 30", "no file")}


def test_a_quarter_without_data_ends_the_command_with_2_and_names_those_with_data(usual: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Nothing is published of 2031Q1: there are data of 2026Q2 and 2026Q3") as refused:
        render_quarter(usual, tmp_path / "reports", "2031Q1", "Example AG")
    assert refused.value.exit_code == 2
    assert not (tmp_path / "reports" / "2031Q1").exists()


@pytest.mark.in_turn
def test_checks_are_one_line_and_what_failed_is_named_in_words(usual: Path, tmp_path: Path) -> None:
    def lead() -> str:
        record = record_of(rendered(usual, "2026Q2", tmp_path))
        return next(section["lead"] for section in record["sections"] if section["id"] == "quality")

    assert lead() == "All 3 checks before publication passed."
    changed(usual, "insert into ops.gate_results values ('b1', 'dbt.assert_every_tpu_sku_is_known', false, 2, 'two')")
    assert lead() == "3 of 4 checks before publication passed. Not passed, as a warning: every tpu sku is known."


@pytest.mark.in_turn
def test_long_tables_are_appendices_with_a_line_where_they_were(tmp_path: Path, published: Path) -> None:
    report = rendered(published, "2026Q2", tmp_path)
    tables = [table for section in record_of(report)["sections"] for table in section["tables"]]
    long = [table for table in tables if len(table["rows"]) > 12 and table["id"] != "gates"]
    assert [table["code"] for table in long] == [f"A{n}" for n in range(1, len(long) + 1)] and len(long) > 3
    html = report.html.read_text()
    text, _, appendices = html.partition('id="appendices"')
    for table in long:
        assert f'id="{table["id"]}"' in appendices and f'id="{table["id"]}"' not in text
    for table in long:
        where = f'<a href="#{table["id"]}">appendix {table["code"]}</a>'
        ranked, in_order = (
            f"The ten largest; all {len(table['rows'])} rows are in {where}",
            f"{len(table['rows'])} rows, in {where}",
        )
        assert (ranked in text) != (in_order in text)
