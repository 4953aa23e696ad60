"""Factors of the modelled view: the organisation's own beside the default, and a word before one runs out."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from dagster_project.commands.last_publication import expiring_factors
from dagster_project.commands.status import Status
from dagster_project.commands.status_table import table_text
from tests.reports.kit import changed, record_of, rendered, values_of
from tests.reports.published_fixture import TWO_RUNS, write_published
from tests.reports.published_rows import PAYERS

OWN_FACTOR = """insert into marts.dim_emission_factors select * replace ('user:factor:us-east-2' as factor_id,
    'user' as factor_set_id, 'us-east-2' as grid_zone, null as data_year, null as valid_to, 0.1 as value,
    'meter 7' as source, date '2026-08-02' as source_date)
    from marts.dim_emission_factors where factor_id like 'egrid%'"""
OWN_ROWS = """insert into marts.fct_training_run_emissions_modelled select * replace ('user' as factor_set_id,
    'user:factor:us-east-2' as factor_id, null as factor_age_years,
    cast(facility_energy_kwh * 0.1 as decimal(38, 9)) as modelled_location_based_kgco2e)
    from marts.fct_training_run_emissions_modelled"""


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])


def expires(path: Path, day: str) -> Path:
    return changed(path, f"update marts.dim_emission_factors set valid_to = date '{day}'")


@pytest.mark.in_turn
def test_own_factors_stand_beside_the_default_with_source_and_date(published: Path, tmp_path: Path) -> None:
    record = record_of(rendered(changed(published, OWN_FACTOR, OWN_ROWS), "2026Q2", tmp_path))
    default, own = values_of(record, "modelled_by_region")
    assert (default["factor_set_id"], own["factor_set_id"]) == ("location_direct_v1", "user")
    assert default["facility_energy_kwh"] == own["facility_energy_kwh"]
    assert Decimal(own["modelled_location_based_kgco2e"]) == Decimal(own["facility_energy_kwh"]) / 10
    assert (own["factor_value"], own["factor_age_years"]) == ("0.100000000", None)
    (stated,) = [row for row in values_of(record, "factors") if row["factor_set_id"] == "user"]
    assert (stated["source"], stated["source_date"], stated["regions"]) == ("meter 7", "2026-08-02", "us-east-2")


@pytest.mark.in_turn
def test_what_the_organisation_measured_is_visible_as_such(published: Path, tmp_path: Path) -> None:
    path = changed(
        published,
        "update marts.fct_training_run_energy set energy_basis = 'measured', power_confidence = 'user', pue_ratio = null,"
        " pue_source = 'user: measured at the facility, meter 7, 2026-08-02'",
    )
    record = record_of(rendered(path, "2026Q2", tmp_path))
    assert {(row["energy_basis"], row["power_confidence"]) for row in values_of(record, "energy_by_basis")} == {
        ("measured", "user")
    }
    assert {row["pue_source"] for row in values_of(record, "pue")} == {"user: measured at the facility, meter 7, 2026-08-02"}


@pytest.mark.in_turn
@pytest.mark.parametrize(("day", "is_told"), [("2026-10-01", True), ("2026-10-02", False)])
def test_the_report_shows_a_quarter_before_a_factor_is_too_old(published: Path, tmp_path: Path, day: str, is_told: bool) -> None:
    reasons = " ".join(rendered(expires(published, day), "2026Q2", tmp_path).reasons)
    told = f"The emission factor of us-east-2 is too old on {day} (its data are 2 years old): it counts on"
    assert (told in reasons) == is_told


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("2028-09-30", []),
        ("2028-10-01", ["emission factors are too old on 2029-01-01 and count on: egrid2023-rfcw (us-east-2); age 2 years."]),
        ("2029-01-01", ["emission factors were too old on 2029-01-01 and count on: egrid2023-rfcw (us-east-2); age 2 years."]),
    ],
)
def test_status_shows_a_quarter_before_a_factor_is_too_old(published: Path, now: str, told: list[str]) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    warnings = expiring_factors(published, at)
    assert [warning.partition(" See")[0] for warning in warnings] == told
    text = " ".join(table_text(Status(at, [], warnings=warnings), width=120).split())
    assert all(f"warning {one}" in text for one in told)


@pytest.mark.in_turn
def test_an_own_factor_ends_and_does_not_count_on(published: Path, tmp_path: Path) -> None:
    path = changed(published, OWN_FACTOR, OWN_ROWS, "update marts.dim_emission_factors set valid_to = date '2026-09-01'")
    (own,) = [one for one in rendered(path, "2026Q2", tmp_path).reasons if one.startswith("The own emission factor")]
    assert own == "The own emission factor of us-east-2 ends on 2026-09-01: months from then on have none of that set."


def test_only_factors_of_the_newest_month_count(published: Path) -> None:
    old = "update marts.fct_training_run_emissions_modelled set factor_id = 'newer' where usage_month = date '2026-06-01'"
    newer = "insert into marts.dim_emission_factors select * replace ('newer' as factor_id, null as valid_to) from" \
        " marts.dim_emission_factors where factor_id like 'egrid%'"  # fmt: skip
    assert expiring_factors(changed(published, old, newer), datetime(2029, 1, 1, tzinfo=UTC)) == []


def test_without_a_publication_nothing_is_reported(tmp_path: Path) -> None:
    assert expiring_factors(tmp_path / "trainledger.duckdb", datetime(2029, 1, 1, tzinfo=UTC)) == []
