"""A report over sources whose rows an engine made into groups names them; over the provider's own rows it has nothing of it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from unittest import mock

import pytest
from openpyxl import load_workbook
from pypdf import PdfReader

from reports import yearly
from reports.page.numbers import THIN_SPACE
from reports.page.pdf import document as pdf_of
from reports.page.workbook import document as workbook_of
from tests.reports.kit import changed, record_of, rendered, tables_of, values_of
from tests.reports.published_fixture import TWO_RUNS, write_published
from tests.reports.published_rows import BILLING_ACCOUNT, PAYERS
from tests.reports.test_yearly_report import ROWS

ASKED = "kind = 'gcp_billing' and partition like '2026-0{}%'"
GROUPS = (
    "update ops.dim_deliveries set grouped_by = '{}', grouped_rows = 1200000, rows = 800, is_raw_kept = {},"
    " first_usage_month = date '2026-0{}-01', last_usage_month = date '2026-0{}-01' where " + ASKED
)
# of May and June groups of use of these months; of July some that also correct June
OF_QUARTER = (GROUPS.format("bigquery", "false", 5, 5, 5), GROUPS.format("bigquery", "true", 6, 6, 6))
OF_NEXT = (GROUPS.format("bigquery", "true", 6, 7, 7),)


@pytest.fixture(scope="module")
def two_clouds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_published(tmp_path_factory.mktemp("rows") / "p.duckdb", TWO_RUNS, payers=(PAYERS[0], BILLING_ACCOUNT))


def of_groups(published: Path, folder: Path, *statements: str) -> Path:
    folder.mkdir()
    return changed(Path(shutil.copy(published, folder / "p.duckdb")), *statements)


def test_a_report_names_the_sources_that_are_groups_in_each_of_its_forms(two_clouds: Path, tmp_path: Path) -> None:
    published = of_groups(two_clouds, tmp_path / "p", *OF_QUARTER)
    with mock.patch("reports.page.pdf.document", pdf_of), mock.patch("reports.page.workbook.document", workbook_of):
        report = rendered(published, "2026Q2", tmp_path / "out")
    [row] = values_of(record_of(report), "grouped_deliveries")
    assert {name: str(value) for name, value in row.items()} == {
        "source_name": row["source_name"],
        "kind": "gcp_billing",
        "grouped_by": "bigquery",
        "first_usage_month": "2026-05-01",
        "last_usage_month": "2026-06-01",
        "delivery_count": "6",
        "grouped_rows": "7200000",
        "rows": "4800",
        "kept_count": "3",
    }
    name = row["source_name"]
    sentence = f"For {name} (by bigquery) this report rests on groups, not on the provider's rows."
    [quality] = [section for section in record_of(report)["sections"] if section["id"] == "quality"]
    assert quality["lead"].endswith(f" checks before publication passed. {sentence}")
    title = "Groups, not the provider's rows"
    texts = (
        report.html.read_text().replace("&#39;", "'"),
        "\n".join(page.extract_text() for page in PdfReader(report.pdf).pages),
    )
    for text in (" ".join(one.split()) for one in texts):
        for printed in (title, sentence, "gave the same groups by a second working out", "7 200 000"):
            assert printed in text.replace(THIN_SPACE, " "), printed
    assert any(title in str(cell.value) for sheet in load_workbook(report.xlsx) for cells in sheet.rows for cell in cells)
    [table] = [path for path in report.tables if path.stem == "grouped_deliveries"]
    with table.open() as file:
        assert [line["grouped_rows"] for line in csv.DictReader(file)] == ["7200000"]


def test_a_later_delivery_that_corrects_the_quarter_counts_and_one_of_another_quarter_does_not(
    two_clouds: Path, tmp_path: Path
) -> None:
    published = of_groups(two_clouds, tmp_path / "p", *OF_NEXT)
    [row] = values_of(record_of(rendered(published, "2026Q2", tmp_path / "out")), "grouped_deliveries")
    assert (row["delivery_count"], row["last_usage_month"]) == ("3", "2026-07-01")
    later = of_groups(two_clouds, tmp_path / "later", OF_NEXT[0].replace("date '2026-06-01'", "date '2026-07-01'"))
    record = record_of(rendered(later, "2026Q2", tmp_path / "out"))
    assert "grouped_deliveries" not in tables_of(record)


def test_a_report_over_the_providers_rows_has_nothing_of_groups(two_clouds: Path, tmp_path: Path) -> None:
    report = rendered(two_clouds, "2026Q2", tmp_path)
    assert "grouped_deliveries" not in tables_of(record_of(report))
    for text in (report.html.read_text(), report.json.read_text()):
        assert "grouped_deliveries" not in text and "rests on groups" not in text


def test_the_report_of_a_year_names_them_too(two_clouds: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    published = of_groups(two_clouds, folder, *ROWS, *OF_QUARTER)
    report = yearly.render(published, "2026", tmp_path / "out", organisation="Example AG")
    record = json.loads(report.json.read_text())
    assert [row["delivery_count"] for row in values_of(record | {"vintage": {"rows": []}}, "grouped_deliveries")] == ["6"]
    without = yearly.render(
        changed(published, "update ops.dim_deliveries set grouped_by = null"), "2026", tmp_path, organisation="A"
    )
    assert "grouped_deliveries" not in without.json.read_text()
