"""Both clouds in one report: medians and pairs, energy with bounds, modelled beside allocated, totals apart."""

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from statistics import geometric_mean, median

import pytest

from reports.page.charts import Bar, Segment, chart
from reports.page.html import interval
from reports.sections.charts import ratio_chart
from tests.reports.kit import changed, figures_of, record_of, rendered, tables_of, values_of
from tests.reports.published_energy import BOUNDARIES, FACTORS, chip_energy
from tests.reports.published_fixture import PAIRED, write_published
from tests.reports.published_rows import BILLING_ACCOUNT, MONTHS, PAYERS, Run

SPRING = tuple(run for run in PAIRED if run.months == MONTHS[:1])
VERDICTS, BY_KPI, PAIR_RATIOS = "verdicts", "verdicts_by_kpi", "pair_ratios"
COST = "Cost per run of fixed work"  # these runs have no target


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_published(tmp_path_factory.mktemp("paired") / "p.duckdb", PAIRED, list_known=True)


@pytest.fixture(scope="module")
def record(paired: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return record_of(rendered(paired, "2026Q2", tmp_path_factory.mktemp("paired")))


def of(record: dict, workload: str, measure: str = COST, span: str = "quarter", view: str = "chip") -> dict:
    asked = {"workload_key": workload, "measure": measure, "span": span, "factor_view": view}
    [found] = [row for row in values_of(record, BY_KPI) if asked.items() <= row.items()]
    return found


def same(shown: str | None, expected: float) -> bool:
    return shown is not None and abs(float(shown) / expected - 1) < 1e-8


@pytest.mark.parametrize("workload", ["llm-8b", "bert-large", "vit-huge"])
def test_medians_and_the_ratio_of_pairs_are_what_a_person_computes(record: dict, workload: str) -> None:
    sides = {
        family: {run.pair: run for run in SPRING if run.workload == workload and run.family == family}
        for family in ("trainium", "tpu")
    }
    cost, energy = of(record, workload), of(record, workload, "Energy per 1M useful tokens")
    for family, runs in sides.items():
        assert same(cost[f"{family}_median"], median(run.dollars for run in runs.values()))
        kwh = [float(chip_energy(run) * BOUNDARIES["it"]) / (run.useful_tokens or 0) * 1e6 for run in runs.values()]
        assert same(energy[f"{family}_median"], median(kwh))
    ratios = [sides["tpu"][pair].dollars / run.dollars for pair, run in sides["trainium"].items()]
    assert int(cost["pair_count"]) == len(ratios) and same(cost["geometric_mean_ratio"], geometric_mean(ratios))
    assert (cost["verdict"], cost["ratio_low"], cost["ratio_corner_low"]) == ("descriptive", None, None)


def test_pairs_that_were_not_registered_are_described_with_their_interval_and_the_day_a_plan_could_decide(
    paired: Path, tmp_path: Path
) -> None:
    report = rendered(paired, "2026Q3", tmp_path)
    record = record_of(report)
    cheaper, even, energy = (
        of(record, "llm-8b", span="four quarters"),
        of(record, "bert-large", span="four quarters"),
        of(record, "bert-large", "Energy per 1M useful tokens", "four quarters"),
    )
    assert {row["verdict"] for row in (cheaper, even, energy)} == {"descriptive"}
    assert float(cheaper["ratio_high"]) < 1 and float(even["ratio_low"]) < 1 < float(even["ratio_high"])
    assert float(energy["ratio_corner_low"]) < float(energy["ratio_low"]) and energy["pairs_needed"] is None
    assert "not tested. A registered plan could decide from 2027-07-01" in cheaper["reason"]  # three quarters after this one
    html = report.html.read_text()
    assert f"<strong>llm-8b, cost per run of fixed work: described, not decided.</strong> {cheaper['reason']}" in html
    assert values_of(record, "comparison_sensitivities") and "comparison_strata" not in tables_of(record)
    assert all(row["saving_per_run"] is None and row["reason"] for row in values_of(record, "break_even"))


def test_two_ratios_that_disagree_get_a_sentence_with_the_reason(paired: Path, record: dict, tmp_path: Path) -> None:
    """Allocated by list price TPU emits a quarter more, modelled from power half: the reader sees both with their pairs."""
    stated = changed(
        tmp_path_of(paired, tmp_path),
        "update marts.fct_training_run_emissions set provider_scope_2_location_based_kgco2e = 10 * "
        "provider_scope_2_location_based_kgco2e where provider_name = 'Google Cloud'",
        "insert into marts.dim_regions (provider_name, region_id, grid_zone) values ('AWS', 'us-east-1', 'RFCW')",
    )

    def sentences(of_record: dict) -> str:
        [section] = [section for section in of_record["sections"] if section["id"] == "side_by_side"]
        return str(section["sentences"])

    apart = sentences(record_of(rendered(stated, "2026Q2", tmp_path)))
    assert "providers allocate by list price" in apart and "llm-8b" in apart and "Neither is a verdict" in apart
    assert "list price" not in sentences(record)


def tmp_path_of(published: Path, folder: Path) -> Path:
    copy = folder / "told.duckdb"
    copy.write_bytes(published.read_bytes())
    return copy


def test_a_run_without_useful_tokens_is_in_no_median_per_token(tmp_path: Path) -> None:
    runs = tuple(replace(run, useful_tokens=None) if run.id.endswith("00") else run for run in PAIRED)
    record = record_of(rendered(write_published(tmp_path / "p.duckdb", runs), "2026Q2", tmp_path))
    counts = [of(record, "llm-8b", measure)["pair_count"] for measure in (COST, "Cost per 1M useful tokens")]
    assert counts == ["4", "3"]


def test_workloads_without_a_pair_show_medians_and_say_that_they_are_unpaired(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", tuple(replace(run, pair=None) for run in PAIRED))
    report = rendered(path, "2026Q2", tmp_path)
    row = of(record_of(report), "llm-8b")
    assert (row["verdict"], row["pair_count"], row["geometric_mean_ratio"]) == ("not_comparable", "0", None)
    assert row["trainium_median"] and row["tpu_median"] and 'class="dot' not in report.html.read_text()


TARGET = """update marts.dim_training_runs set target_metric = 'loss', target_direction = 'min', target_value = 2.0,
    is_target_reached = training_run_id <> 'llm-8b-tpu-00'"""


@pytest.mark.parametrize(
    ("change", "column", "measure"),
    [
        ("update marts.dim_training_runs set state = 'failed' where training_run_id = 'llm-8b-tpu-00'", "unfinished_count", COST),
        (TARGET, "target_missed_count", "Cost per run to target"),
    ],
)
def test_a_run_that_did_not_finish_or_missed_its_target_is_counted_and_not_compared(
    tmp_path: Path, change: str, column: str, measure: str
) -> None:
    record = record_of(rendered(changed(write_published(tmp_path / "p.duckdb", PAIRED), change), "2026Q2", tmp_path))
    rows = [row for row in values_of(record, "compared_runs") if row["workload_key"] == "llm-8b"]
    tpu = next(row for row in rows if row["accelerator_family"] == "tpu")
    assert (tpu[column], tpu["ended_count"], tpu["compared_count"], tpu["paired_count"]) == ("1", "4", "3", "3")
    assert of(record, "llm-8b", measure)["pair_count"] == "3"


def test_costs_in_two_currencies_make_no_ratio(tmp_path: Path) -> None:
    runs = tuple(replace(run, currency="EUR") if run.family == "tpu" else run for run in PAIRED)
    record = record_of(rendered(write_published(tmp_path / "p.duckdb", runs), "2026Q2", tmp_path))
    cost = of(record, "llm-8b")
    assert (cost["pair_count"], cost["trainium_median"], cost["verdict"]) == ("0", None, "not_comparable")
    measures = {row["measure"] for row in values_of(record, PAIR_RATIOS)}
    assert "Energy per 1M useful tokens" in measures and not any(measure.startswith("Cost") for measure in measures)
    totals = {row["billing_currency"] for row in values_of(record, "totals_by_currency")}
    assert totals == {"EUR", "USD"} and len(values_of(record, "totals_by_currency")) == 4


def test_one_platform_alone_is_compared_with_nothing(tmp_path: Path) -> None:
    alone = tuple(run for run in PAIRED if run.family == "tpu")
    report = rendered(write_published(tmp_path / "p.duckdb", alone, payers=(BILLING_ACCOUNT,)), "2026Q2", tmp_path)
    assert report.status == "preliminary"
    assert "in this quarter they ended only on tpu" in report.html.read_text()
    assert not {VERDICTS, BY_KPI} & tables_of(record_of(report)).keys()


def test_every_dot_stroke_and_interval_is_a_number_of_the_tables_and_reciprocals_stand_equally_far(
    paired: Path, tmp_path: Path
) -> None:
    record = record_of(rendered(paired, "2026Q3", tmp_path))
    pairs, rated = (
        tuple(
            {key: float(value) if re.fullmatch(r"[0-9.e-]+", str(value)) else value for key, value in row.items()}
            | {"workload_pair_count": 8}
            for row in values_of(record, table)
            if row.get("span") != "quarter" and row.get("factor_view") != "deployed"
        )
        for table in (PAIR_RATIOS, BY_KPI)
    )
    (drawing,) = ratio_chart(pairs, rated)
    assert [len(panel.lines[0].marks) for panel in drawing.panels] == [8, 8, 2]
    for panel in drawing.panels:
        for line in panel.lines:
            places = [float(dot.x) for dot in line.marks]
            assert min(places) - 0.1 <= float(line.median) <= max(places) + 0.1
            assert bool(line.bounds) == (len(places) >= 5)
            assert not line.bounds or float(line.bounds[0]) < float(line.median) < float(line.bounds[1])
    twins = ({**pairs[0], "ratio": 0.5}, {**pairs[0], "pair_key": "q", "ratio": 2.0})
    left = ratio_chart(twins, ())[0].panels[0]
    low, high = (float(dot.x) - left.one for dot in left.lines[0].marks)
    assert low < 0 and low == pytest.approx(-high, abs=0.11)


def test_an_interval_is_printed_with_one_unit_and_thin_spaces() -> None:
    thin = "\u2009"
    assert interval(Decimal(812345), Decimal(640000), Decimal(1020000), "kWh") == f"812 (640-1{thin}020) MWh"
    assert interval(Decimal("8.124"), Decimal(6), Decimal(11), "kgCO2e") == "8.12 (6.00-11.0) kgCO2e"


def test_facility_energy_is_the_sum_of_the_runs_with_bounds_that_add(record: dict) -> None:
    figure = figures_of(record)["facility_energy"]
    facility = sum(chip_energy(run) for run in SPRING) * BOUNDARIES["facility"]
    assert Decimal(figure["value"]) == facility and figure["unit"] == "kWh" and figure["known"] is None
    assert (Decimal(figure["low"]), Decimal(figure["high"])) == (facility * Decimal("0.8"), facility * Decimal("1.25"))
    assert Decimal(figure["whole"]) == facility * Decimal("1.125")
    total = values_of(record, "energy_by_accelerator")[-1]
    for name, factor in BOUNDARIES.items():
        assert Decimal(total[f"{name}_energy_kwh"]) == sum(chip_energy(run) for run in SPRING) * factor
    bases = values_of(record, "energy_by_basis")
    parts = [sum(Decimal(row[key]) for row in bases) for key in bases[0] if key.startswith("energy_kwh_")]
    assert sum(parts) == facility and parts[0] == parts[1] == 0


def test_a_run_month_without_energy_leaves_no_total_and_the_known_part_is_named(tmp_path: Path) -> None:
    runs = (*PAIRED, Run("dark", "vision", "m", months=MONTHS[:1], has_power=False))
    report = rendered(write_published(tmp_path / "p.duckdb", runs), "2026Q2", tmp_path)
    figure = figures_of(record_of(report))["facility_energy"]
    assert figure["value"] is None and figure["absent"] == f"1 of {len(SPRING) + 1} run-months have no energy figure"
    assert Decimal(figure["known"]["value"]) == sum(chip_energy(run) for run in SPRING) * BOUNDARIES["facility"]
    rows = values_of(record_of(report), "energy_by_accelerator")
    assert rows[-1]["facility_energy_kwh"] is None and any(row["facility_energy_kwh"] for row in rows)


def test_busy_chip_hours_are_set_against_the_hours_telemetry_saw(record: dict) -> None:
    row = next(row for row in values_of(record, "energy_by_basis") if row["accelerator_type"] == "v6e")
    runs = [run for run in SPRING if run.accelerator == "v6e"]
    reserved = sum(4 * run.dollars for run in runs)
    observed = sum(Decimal("3.6") * run.dollars for run in runs if run.has_telemetry)
    assert Decimal(row["reserved_chip_hours"]) == reserved
    assert same(row["coverage_ratio"], float(observed) / reserved) and same(row["busy_ratio"], 0.75)
    assert same(row["use_coverage_ratio"], float(observed) / reserved) and float(row["power_coverage_ratio"]) == 0


def test_the_model_is_beside_the_provider_as_a_ratio_of_sums(record: dict) -> None:
    google = next(row for row in values_of(record, "modelled_beside_provider") if row["provider_name"] == "Google Cloud")
    runs = [run for run in SPRING if run.family == "tpu"]
    provider = sum(Decimal(run.dollars) for run in runs) / 4 * Decimal("0.80")
    model = sum(chip_energy(run) for run in runs) * BOUNDARIES["facility"] * FACTORS["Google Cloud"][2]
    assert (Decimal(google["provider_kgco2e"]), Decimal(google["modelled_kgco2e"])) == (provider, model)
    assert same(google["ratio"], float(model / provider))
    cells = values_of(record, "modelled_vs_provider")
    assert sum(Decimal(row["modelled_total"]) for row in cells if row["provider_name"] == "Google Cloud") == model
    used = {row["factor_id"]: row for row in values_of(record, "factors")}
    assert set(used) == {factor_id for factor_id, _, _ in FACTORS.values()}
    assert all(row["licence"] and row["source"] and row["data_year"] == "2024" for row in used.values())
    assert {row["pue_source"] for row in values_of(record, "pue")} == {"Provider's fact sheet, 2025, fleet"}


def test_modelled_bars_are_hatched_and_carry_their_bounds_provider_bars_are_plain(paired: Path, tmp_path: Path) -> None:
    bar = Bar("a", (Segment(Decimal(8), "done", "m", True),), Decimal(8), bounds=(Decimal(6), Decimal(12)))
    drawn = chart("c", "C", [("", [bar, Bar("b", (Segment(Decimal(4), "done", "p"),), Decimal(4))])], "kWh").panels[0]
    assert [line.marks[0].is_modelled for line in drawn.lines] == [True, False]
    assert drawn.lines[0].number == "8.00 (6.00-12.0)" and drawn.lines[1].bounds is None
    html = rendered(paired, "2026Q2", tmp_path).html.read_text()
    emissions = html.partition('id="emissions"')[2].partition('id="disclosure"')[0]
    beside = emissions.partition("Location-based emissions of the runs on accelerators")[2].partition("</svg>")[0]
    assert beside.count('class="bar') == 4 and beside.count("-hatch)") == 2
    assert "-hatch)" not in emissions.partition("Location-based emissions of the runs on accelerators")[0]


def test_google_has_one_unsplit_scope_3_and_aws_two_split_ones(record: dict) -> None:
    scopes = {(row["provider_name"], row["scope"]): row for row in values_of(record, "totals_twice")}
    unsplit = scopes["Google Cloud", "Provider Scope 3, not split by method"]
    assert unsplit["all_location_based_kgco2e"] == unsplit["all_market_based_kgco2e"] is not None
    assert ("Google Cloud", "Provider Scope 3") not in scopes
    assert ("AWS", "Provider Scope 3") in scopes and ("AWS", "Provider Scope 3, not split by method") not in scopes


def test_a_cloud_whose_carbon_is_published_has_its_totals_while_the_other_waits(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", PAIRED, payers=(PAYERS[0], BILLING_ACCOUNT))
    changed(
        path,
        *(
            f"delete from marts.{table} where provider_name = 'AWS' and source_name like 'carbon%' "
            "and usage_month = date '2026-06-01'"
            for table in ("fct_run_cell_emissions", "fct_residual_emissions", "fct_reconciliation")
        ),
        "delete from ops.dim_deliveries where kind = 'aws_carbon' and partition like '2026-06%'",
    )
    rows = values_of(record_of(rendered(path, "2026Q2", tmp_path)), "totals_twice")
    known = {(row["provider_name"], row["all_location_based_kgco2e"] is not None) for row in rows}
    assert known == {("AWS", False), ("Google Cloud", True)}


def test_daily_partitions_of_a_google_bill_stand_in_the_vintage_of_their_month(record: dict) -> None:
    google = {row["source_name"]: row for row in values_of(record, "vintage")}["gcp-cur"]
    assert (google["kind"], google["delivery_count"], google["records"]) == ("gcp_billing", "9", "0")
    assert google["month_1"].startswith("2026-04-28") and google["month_1_days"] == "3 of 30"
