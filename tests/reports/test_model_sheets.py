"""The sheet of a model: a page and a JSON of all its runs, also where its name is no name for a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from reports.errors import ModelError, PublicationError
from reports.sheets import file_name, render_sheets
from tests.reports.report_models import with_pages

HOSTILE = '../../<script>alert(1)</script>"=cmd|\u202ex'
TABLES = """
create schema marts; create schema ops;
create table ops.builds as select 'b1' as build_id, timestamp '2026-10-01' as finished_at;
create table marts.rpt_model_energy (
    model_name varchar, boundary varchar, run_count bigint, attempt_count bigint, energy_kwh decimal(38, 9),
    energy_kwh_low decimal(38, 9), energy_kwh_high decimal(38, 9), chip_hours decimal(38, 9), training_days double,
    model_flops double, power_confidence varchar, telemetry_coverage_ratio double, method varchar, not_available_reason varchar
);
create table marts.dim_training_runs (
    training_run_id varchar, model_name varchar, state varchar, attempt_count bigint, started_at timestamp, ended_at timestamp,
    accelerator_type varchar, provider_name varchar, region_id varchar, chip_count bigint, sdk_version varchar
);
create table marts.fct_training_run_energy (
    training_run_id varchar, reserved_chip_hours decimal(38, 9), energy_basis varchar, usage_month date, power_confidence varchar
);
create table marts.fct_power_calibration (
    accelerator_type varchar, sdk_version varchar, source_kind varchar, valid_from_month date, window_count bigint,
    host_count bigint, workload_count bigint, unmetered_share double, busy_w double, spread_w double, coverage_promised double,
    refused_reason varchar, first_measured_at timestamp, last_measured_at timestamp
);
"""


def published(folder: Path, *models: str, rows: str = "") -> Path:
    """Each model with a run that succeeded and one that failed, on 16 chips: 1,234,567.891 kWh at the facility."""
    path = folder / "published.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.begin()
        connection.execute(TABLES)
        for n, model in enumerate(models):
            for boundary, kwh in {"chip": 1, "chip_host": 2, "it": 3, "facility": 1234567.891}.items():
                connection.execute(
                    "insert into marts.rpt_model_energy values (?, ?, 2, 3, ?, 1000000, 2000000, 48, 12.5, 3.456e22,"
                    " 'third_party', 0.999, 'words', null)",
                    [model, boundary, kwh],
                )
            for state in ("succeeded", "failed"):
                connection.execute(
                    "insert into marts.dim_training_runs values (?, ?, ?, 1, '2026-07-01', '2026-07-13', 'trn2.48xlarge',"
                    " 'AWS', 'us-east-2', 16, null)",
                    [f"{n}-{state}", model, state],
                )
                connection.execute(
                    "insert into marts.fct_training_run_energy values (?, 24, 'utilisation_model', '2026-07-01', 'third_party')",
                    [f"{n}-{state}"],
                )
        if rows:
            connection.execute(rows)
        with_pages(connection)
        connection.commit()
    return path


def sheet_of(folder: Path, *models: str, rows: str = "") -> tuple[str, dict]:
    page = render_sheets(published(folder, *models, rows=rows), folder / "models", organisation="Example AG")[0]
    return page.read_text(), json.loads(page.with_suffix(page.suffix.replace("html", "json")).read_text())


def test_a_sheet_has_all_runs_energy_at_four_boundaries_compute_hardware_and_days(tmp_path: Path) -> None:
    page, record = sheet_of(tmp_path, "llm-8b")
    assert "1\u2009230 (1\u2009000-2\u2009000) MWh" in page
    assert "3.46 × 10²² FLOP" in page and "12.5 days (under 1 month)" in page and "2.0 chip-days" in page
    assert "1 failed, 1 succeeded" in page and "trn2.48xlarge, AWS, us-east-2" in page
    assert [(row["boundary"], row["energy_kwh"]) for row in record["energy"]][-1] == ("facility", "1234567.891000000")
    assert len(record["energy"]) == 4 and record["boundary_filed"] == "facility" and record["energy_is"] == "estimated"


def test_the_text_on_method_has_about_100_words_made_of_the_rows(tmp_path: Path) -> None:
    _, record = sheet_of(tmp_path, "llm-8b")
    assert 80 <= len(record["method"].split()) <= 120
    assert "2 runs with 3 attempts from 2026-07-01 to 2026-07-13 on trn2.48xlarge" in record["method"]
    assert "Telemetry covers 99 %" in record["method"] and "third party" in record["method"]  # never rounded up to all


def test_a_run_that_goes_on_has_no_last_day(tmp_path: Path) -> None:
    _, record = sheet_of(tmp_path, "m", rows="update marts.dim_training_runs set ended_at = null where state = 'failed'")
    assert "to a day not yet known on" in record["method"]


def test_what_is_not_known_is_reported_with_its_reason_and_never_as_zero(tmp_path: Path) -> None:
    unknown = (
        "update marts.rpt_model_energy set energy_kwh = null, energy_kwh_low = null, energy_kwh_high = null, model_flops = null,"
        " training_days = null, chip_hours = null, not_available_reason = 'a month is not known'"
    )
    page, record = sheet_of(tmp_path, "m", rows=unknown)
    assert page.count("not available: a month is not known") == 5
    assert "not available: a run states no operations" in page and "no start or no end on record" in page
    assert record["energy"][0]["energy_kwh"] is None


def test_only_own_meters_make_a_figure_measured(tmp_path: Path) -> None:
    _, record = sheet_of(tmp_path, "m", rows="update marts.fct_training_run_energy set energy_basis = 'measured'")
    assert record["energy_is"] == "measured" and "Measured." in record["method"]


def test_hostile_names_are_text_on_the_page_and_stay_in_their_folder(tmp_path: Path) -> None:
    page, record = sheet_of(tmp_path, HOSTILE)
    assert record["model"] == HOSTILE
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "\u202e" not in page and "U+202E" in page
    (written,) = (tmp_path / "models").glob("*.html")
    assert re.fullmatch(r"script-alert-1-script-cmd-x-[0-9a-f]{12}\.html", written.name)
    assert {path.name for path in tmp_path.iterdir()} == {"published.duckdb", "models"}


@pytest.mark.parametrize("model", ["llm-8b", "llama-3.1-8b", "a"])
def test_a_plain_name_is_its_files_name(model: str) -> None:
    assert file_name(model) == model


def test_no_two_models_meet_in_one_file() -> None:
    names = ["a b", "a/b", "A-B", "a-b", "..", ".", "", "con", "NUL.txt", "nul.txt", "模型", "x" * 300, ".hidden", "a-b-"]
    names += [file_name("a b"), file_name("a/b")]  # a name made to look like another's file
    files = [file_name(name) for name in names]
    assert len({file.lower() for file in files}) == len(names)
    for file in files:
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", file) and len(file) <= 64, file


def test_one_model_is_asked_for_by_name_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    file = published(tmp_path, "a", "b")
    assert [page.name for page in render_sheets(file, tmp_path / "m", organisation="X", model="b")] == ["b.html"]
    with pytest.raises(ModelError, match=r"no model 'c'\. It has 'a', 'b'\."):
        render_sheets(file, tmp_path / "m", organisation="X", model="c")


def test_a_publication_of_an_older_version_has_no_sheets(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "old.duckdb")) as connection:
        connection.execute("create schema marts; create table marts.dim_training_runs as select 1 as x")
    with pytest.raises(PublicationError, match=r"no ops\.report_pages"):
        render_sheets(tmp_path / "old.duckdb", tmp_path, organisation="X")
