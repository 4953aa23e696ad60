"""`report compare`: the published statements about other dates, half-open windows, refusals, and the same bytes again."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import duckdb
import pytest

from reports.comparison import render
from reports.errors import PublicationError, WindowError
from reports.quarter import Window, months_before
from reports.statements import standing_alone
from tests.reports.compared_file import write_compared

YEAR = (date(2025, 10, 1), date(2026, 10, 1))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_compared(tmp_path_factory.mktemp("compared") / "trainledger.duckdb")


def record_of(compared: Path, out: Path, start: date | None, end: date | None) -> dict:
    return json.loads(render(compared, start, end, out, organisation="Example AG").json.read_text())


def values(record: dict, table: str) -> list[dict]:
    [found] = [t for section in record["sections"] for t in section["tables"] if t["id"] == table]
    return [row["values"] for row in found["rows"]]


def test_from_is_in_the_window_and_to_is_not(compared: Path, tmp_path: Path) -> None:
    record = record_of(compared, tmp_path, *YEAR)
    assert (record["from"], record["to"]) == ("2025-10-01", "2026-10-01")
    assert [row["measured_value"] for row in values(record, "vendor_claims")] == ["2.0"]  # of five ends the two inside
    later = record_of(compared, tmp_path, date(2026, 9, 30), date(2026, 10, 2))
    assert [row["measured_value"] for row in values(later, "vendor_claims")] == ["2.0"]
    assert [
        row["measured_value"]
        for row in values(record_of(compared, tmp_path, date(2026, 10, 5), date(2026, 10, 6)), "vendor_claims")
    ] == ["1.0"]


def test_a_report_table_that_reads_another_reads_it_about_the_same_dates(compared: Path, tmp_path: Path) -> None:
    record = record_of(compared, tmp_path, *YEAR)
    assert [row["own_kgco2e"] for row in values(record, "what_if_span")] == ["2.000000000"]


def test_without_dates_the_last_twelve_complete_months_of_the_publication_are_compared(compared: Path, tmp_path: Path) -> None:
    record = record_of(compared, tmp_path, None, None)  # costs reach into October, and the build is of 10 October
    assert (record["from"], record["to"]) == ("2025-10-01", "2026-10-01")
    record = record_of(compared, tmp_path, None, date(2026, 10, 6))
    assert (record["from"], record["to"]) == ("2025-10-01", "2026-10-06")
    assert months_before(date(2026, 3, 15), 12) == date(2025, 3, 1)


def test_a_window_without_any_run_is_refused_with_the_days_on_which_runs_ended(compared: Path, tmp_path: Path) -> None:
    with pytest.raises(
        WindowError, match=r"No run ended from 2030-01-01 up to and without 2030-02-01\. Runs ended from 2025-09-30 to 2026-10-05"
    ):
        render(compared, date(2030, 1, 1), date(2030, 2, 1), tmp_path, organisation="Example AG")
    assert list(tmp_path.iterdir()) == []


def test_dates_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(WindowError, match="--to is the day after the last"):
        Window(date(2026, 1, 1), date(2026, 1, 1))


def test_a_file_of_an_older_version_is_refused_with_its_remedy(tmp_path: Path) -> None:
    older = write_compared(tmp_path / "older.duckdb")
    with duckdb.connect(str(older)) as connection:
        connection.execute("drop table ops.report_statements")
    with pytest.raises(PublicationError, match="trainledger refresh"):
        render(older, *YEAR, tmp_path / "out", organisation="Example AG")


def test_the_same_publication_gives_the_same_bytes(compared: Path, tmp_path: Path) -> None:
    folders = [render(compared, *YEAR, tmp_path / name, organisation="Example AG").html.parent for name in ("one", "other")]
    assert folders[0].name == "compare-2025-10-01_2026-10-01"
    one, other = ({str(p.relative_to(f)): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in folders)
    assert one == other and {"comparison.html", "comparison.json", "tables/vendor_claims.csv"} <= set(one)


def test_every_table_can_be_repeated_by_the_sql_beside_it(compared: Path, tmp_path: Path) -> None:
    record = record_of(compared, tmp_path, *YEAR)
    with duckdb.connect(str(compared), read_only=True) as connection:
        for section in record["sections"]:
            for table in section["tables"]:
                assert len(connection.execute(table["sql"]).fetchall()) == len(table["rows"])


def test_a_query_that_begins_with_its_own_tables_keeps_them() -> None:
    window = Window(*YEAR)
    statements = {"rpt_a": "/* windows */ select 1 as x /* end of windows */"}
    alone = standing_alone("with b as (select * from marts.rpt_a) select * from b", statements, window)
    assert alone.startswith("with rpt_a as (\n/* windows */ select date '2025-10-01' as window_start")
    assert duckdb.sql(alone).fetchall() == [YEAR]
    assert standing_alone("select * from marts.rpt_ab", statements, window) == "select * from marts.rpt_ab"


def test_the_page_states_its_dates_and_how_to_make_it_again(compared: Path, tmp_path: Path) -> None:
    page = render(compared, *YEAR, tmp_path, organisation="A & B <AG>").html.read_text()
    assert "A &amp; B &lt;AG&gt;" in page and "1 October 2025 to 30 September 2026" in page
    assert "trainledger report compare --from 2025-10-01 --to 2026-10-01" in page
    assert "src=" not in page and "http" not in page.replace("http-equiv", "")


def test_verdicts_are_about_the_dates_and_nothing_of_a_quarter_is_left_in_words(compared: Path, tmp_path: Path) -> None:
    report = render(compared, *YEAR, tmp_path, organisation="Example AG")
    record = json.loads(report.json.read_text())
    [verdict] = values(record, "verdicts")
    assert (verdict["verdict"], verdict["pair_count"]) == ("tpu", "2")
    assert "span" not in verdict and report.verdicts == {"tpu": 1}
    words = [text for section in record["sections"] for t in section["tables"] for text in (t["title"], t["method"])]
    assert not [text for text in words if "quarter" in text.replace("half quarters", "")]
