"""How often the models claim what is not there: drawn worlds, each report decided as if it were the only one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from benchmarks.comparison.counting import GIVEN, KEPT, Counted, counted, table, tables
from benchmarks.comparison.worlds import EVERY, World, drawn
from reports.sections.verdicts import LEAD
from tests.comparison.published import Models
from tests.nightly import seed

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("comparison")]
VERDICTS, DECISIONS = "marts.rpt_trainium_vs_tpu", "intermediate.int_comparison_decisions"
COVERED = [world for world in EVERY if world.is_covered]
PAGE = Path(__file__).parents[2] / "docs" / "methodology" / "comparison.md"
FOUND = next(world for world in EVERY if world.is_covered is None)


@pytest.fixture(scope="module")
def models(template: Path) -> Models:
    return Models(template, GIVEN, ["rpt_trainium_vs_tpu"], KEPT)


@pytest.mark.parametrize("relation", [VERDICTS, DECISIONS])
def test_a_report_beside_others_is_decided_as_if_it_were_alone(models: Models, relation: str) -> None:
    world = replace(FOUND, workloads=3, differ=2, spread=0.05, reports=4)
    pairs = drawn(world, seed())
    together = models.decide(tables(pairs), worlds=True).execute(f"from {relation}").pl()
    for report in range(world.reports):
        alone = {name: rows.drop("world") for name, rows in tables(pairs.filter(pl.col("world") == report)).items()}
        expected = models.decide(alone).execute(f"from {relation}").pl()
        found = together.filter(pl.col("world") == report).select(expected.columns)
        assert found.height > 0
        assert sorted(found.rows(), key=repr) == sorted(expected.rows(), key=repr)


def test_most_reports_find_a_true_difference_in_two_years_and_hardly_any_one_that_is_not_there(models: Models) -> None:
    decide = partial(models.decide, worlds=True)
    there = counted(replace(FOUND, reports=60), decide, seed())
    not_there = counted(replace(FOUND, true_ratio=1.0, differ=0, reports=60), decide, seed())
    assert there.found[0] > 0.25 and there.found[1] > 0.8 and there.false[-1] < 0.1
    assert not_there.false[-1] < 0.12


def test_where_some_workloads_differ_what_is_held_is_the_share_of_claims_and_reports_are_a_line_as_well() -> None:
    world = next(world for world in EVERY if 0 < world.differ < world.workloads)
    row = Counted(world, false=(0.0, 0.02, 0.036), of_claims=(0.0, 0.003, 0.006), found=(0.1, 0.9, 1.0))
    covered, not_covered, found = table([row]).split("**")[2::2]
    assert f"| {world.name}: false of what is claimed | 0.0 | 0.3 | 0.6 | 0.6 | 500 |" in covered
    assert f"| {world.name}: reports with a false claim | 0.0 | 2.0 | 3.6 | 0.8 | 500 |" in not_covered
    assert f"| {world.name} | 10.0 | 90.0 | 100.0 | 0.0 | 500 |" in found
    assert row.keeps_its_promise and not replace(row, of_claims=(0.0, 0.02, 0.05)).keeps_its_promise


def test_the_report_states_how_soon_a_true_difference_is_found_as_the_page_has_it() -> None:
    rows = [
        line.split(" | ")[1:3] for line in PAGE.read_text().splitlines() if "five pairs a quarter at a true 0.8, spread" in line
    ]
    assert len(rows) == 2
    assert all(f"{share} %" in LEAD for row in rows for share in row)


def test_where_the_sides_were_bought_in_other_ways_the_sentence_has_the_ratio_at_list_prices(models: Models) -> None:
    pairs = drawn(replace(FOUND, spread=0.05, reports=1), seed())
    apart = pairs.with_columns(trainium_purchase=pl.lit("on_demand"))
    listed = apart.with_columns(setting=pl.lit("price: list"), log_ratio=pl.lit(0.9).log())
    for given, is_named in ((pl.concat([apart, listed]), True), (pl.concat([pairs, listed]), False)):
        with models.decide({name: rows.drop("world") for name, rows in tables(given).items()}) as connection:
            [reason] = connection.execute(f"select max(reason) from {VERDICTS} where verdict = 'tpu'").fetchone() or ()
        assert ("At list prices the ratio of the pairs of these dates is 0.9." in reason) == is_named


@pytest.mark.nightly
@pytest.mark.parametrize("world", COVERED, ids=[world.name for world in COVERED])
def test_what_the_page_covers_is_claimed_falsely_in_2_percent_at_most(models: Models, world: World) -> None:
    found = counted(world, partial(models.decide, worlds=True), seed())
    assert found.keeps_its_promise, f"{found.promised} in {world.reports} reports"
