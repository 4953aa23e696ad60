"""The reference data of dbt/seeds: every row names its source, keys are unique, and the tables agree with each other.

Reads the CSV files as text, the way a reviewer sees them. What the models make of them is tested with the models.
"""

from __future__ import annotations

import csv
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

SEEDS = Path(__file__).resolve().parents[2] / "dbt" / "seeds"
KEYS = {
    "accelerator_types": ("accelerator_type",),
    "accelerator_sources": ("accelerator_source_id",),
    "regions": ("provider_name", "region_id"),
    "aws_region_prefixes": ("prefix",),
    "prices": ("price_id",),
    "accelerator_power": ("accelerator_type",),
    "host_power": ("accelerator_type",),
    "it_overhead": ("provider_name",),
    "unmetered_rails": ("meter",),
    "power_doubts": ("doubt",),
    "power_rails": ("accelerator_type", "meter", "rail"),
    "meters": ("source_kind", "meter"),
    "sampling_errors": ("over_s",),
    "pue": ("provider_name", "region_id", "data_year"),
    "wue": ("provider_name", "region_id", "data_year"),
    "emission_factors": ("factor_id",),
    "t_quantiles": ("degrees_of_freedom",),
    "t_two_sided": ("degrees_of_freedom",),
    "f_quantiles": ("numerator_df", "denominator_df"),
    "standard_normals": ("draw",),
    "power_terms": ("term",),
    "calibration_terms": ("term",),
    "comparison_plan_power": ("effect_over_spread", "power"),
    "dim_datapoints": ("framework", "datapoint_id"),
    "dim_service_categories": ("provider_name", "service"),
    "vendor_claims": ("claim_id",),
    "article_figures": ("figure_id",),
}
CHOSEN_ATTRIBUTES = (
    "chips_per_node",
    "cores_per_chip",
    "peak_bf16_tflops",
    "peak_fp8_tflops",
    "hbm_gib",
    "chip_power_idle_w",
    "chip_power_max_w",
)
PROVIDERS = {"AWS", "Google Cloud"}
FAMILIES = {"trainium", "inferentia", "tpu", "gpu"}
PURCHASE_OPTIONS = {"", "on_demand", "spot", "capacity_block", "commitment_1y", "commitment_3y", "calendar"}


# as schedulers and drivers name them, in whosever machine
CHIPS_OF_ANYBODY = {"a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "l40s", "l4", "a10g", "rtx-pro-6000"}


def rows(seed: str) -> list[dict[str, str]]:
    """All rows of a seed, every cell as text."""
    with (SEEDS / f"{seed}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def properties() -> dict[str, dict]:
    """What the YAML files beside the seeds say, by seed."""
    documents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(SEEDS.glob("*.yml"))]
    return {seed["name"]: seed for document in documents for seed in document["seeds"]}


def test_every_csv_is_described_and_every_description_has_its_csv() -> None:
    assert set(properties()) == {path.stem for path in SEEDS.glob("*.csv")} == set(KEYS)


@pytest.mark.parametrize("seed", KEYS)
def test_every_column_has_a_type_and_a_description(seed: str) -> None:
    header = list(rows(seed)[0])
    described = {column["name"]: column.get("description") for column in properties()[seed]["columns"]}
    assert list(properties()[seed]["config"]["column_types"]) == header
    assert list(described) == header
    assert all(described.values())


@pytest.mark.parametrize("seed", KEYS)
def test_every_row_has_a_source_a_date_and_a_confidence(seed: str) -> None:
    may_be_assumed = seed in {"pue", "meters", "sampling_errors", "calibration_terms"}
    levels = {"high", "medium", "low"} | ({"assumed"} if may_be_assumed else set())
    for row in rows(seed):
        assert row["source"].strip(), row
        assert date.fromisoformat(row["source_date"]), row
        assert row["confidence"] in levels, row


@pytest.mark.parametrize("seed", KEYS)
def test_keys_are_filled_and_unique(seed: str) -> None:
    keys = [tuple(row[part] for part in KEYS[seed]) for row in rows(seed)]
    assert all(all(key) for key in keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("seed", KEYS)
def test_cells_are_trimmed_and_complete(seed: str) -> None:
    for row in rows(seed):
        assert None not in row and None not in row.values(), row  # a row too long or too short
        assert all(cell == cell.strip() for cell in row.values()), row


@pytest.mark.parametrize("seed", KEYS)
def test_no_cell_carries_a_host_address(seed: str) -> None:
    for row in rows(seed):
        assert not any("://" in cell for cell in row.values()), row


def test_a_type_carries_exactly_the_chosen_value_of_its_sources() -> None:
    chosen: dict[tuple[str, str], list[str]] = {}
    for source in rows("accelerator_sources"):
        if source["is_chosen"] == "true":
            subject = source["accelerator_type"] or source["chip_name"]
            chosen.setdefault((subject, source["attribute"]), []).append(source["value"])
    for row in rows("accelerator_types"):
        for attribute in CHOSEN_ATTRIBUTES:
            found = chosen.get((row["accelerator_type"], attribute), []) + chosen.get((row["chip_name"], attribute), [])
            assert found == ([row[attribute]] if row[attribute] else []), (row["accelerator_type"], attribute)


def test_sources_speak_only_of_known_chips_and_types() -> None:
    types = {row["accelerator_type"]: row["chip_name"] for row in rows("accelerator_types")}
    for source in rows("accelerator_sources"):
        assert source["chip_name"] in types.values(), source
        assert source["accelerator_type"] == "" or types[source["accelerator_type"]] == source["chip_name"], source
        assert Decimal(source["value"]) > 0, source
        assert source["is_chosen"] in {"true", "false"}, source


def test_every_accelerator_type_the_product_promises_is_there() -> None:
    promised = {"trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge", "trn3"}
    promised |= {"inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge"}
    promised |= {"p4d.24xlarge", "p4de.24xlarge", "p5.4xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge"}
    sizes = ("xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge", "48xlarge")
    promised |= {f"{family}.{size}" for family in ("g5", "g6", "g6e") for size in sizes}
    promised |= {f"{series}-{count}g" for series in ("a2-highgpu", "a2-ultragpu", "a3-highgpu") for count in (1, 2, 4, 8)}
    promised |= {"p6-b200.48xlarge", "a2-megagpu-16g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"}
    promised |= {"p6-b300.48xlarge", "p6e-gb200.36xlarge", "p6e-gb300.36xlarge", "a4x-highgpu-4g", "a4x-maxgpu-4g", "v8t", "v8i"}
    promised |= {"gr6.4xlarge", "gr6.8xlarge", "u-p6e-gb200x36", "u-p6e-gb200x72"}
    promised |= {f"{family}.{size}" for family in ("g7", "g7e") for size in sizes[1:5] + sizes[6:]}
    promised |= {f"g4-standard-{cpus}" for cpus in (48, 96, 192, 384)}
    promised |= {"v4", "v5e", "v5p", "v6e", "v7x"} | CHIPS_OF_ANYBODY | {"trn1", "trn2", "inf2"}
    assert promised <= {row["accelerator_type"] for row in rows("accelerator_types")}


def test_families_and_providers_are_those_of_the_contract() -> None:
    for row in rows("accelerator_types"):
        assert row["accelerator_family"] in FAMILIES
        if row["accelerator_type"] in CHIPS_OF_ANYBODY:
            assert (row["accelerator_family"], row["provider_name"], row["chips_per_node"]) == ("gpu", "", "")
            continue
        assert row["provider_name"] in PROVIDERS
        families = {"tpu", "gpu"} if row["provider_name"] == "Google Cloud" else FAMILIES - {"tpu"}
        assert row["accelerator_family"] in families
    assert {row["provider_name"] for row in rows("regions")} == PROVIDERS


def test_a_google_machine_has_the_gpus_that_its_name_counts() -> None:
    counted = {row["accelerator_type"]: row["chips_per_node"] for row in rows("accelerator_types")}
    named = {name: re.search(r"-(\d+)g$", name) for name in counted}
    assert sum(match is not None for match in named.values()) == 19
    assert all(counted[name] == match[1] for name, match in named.items() if match)


def test_power_confidence_is_exactly_where_a_power_figure_is() -> None:
    for row in rows("accelerator_types"):
        has_power = bool(row["chip_power_idle_w"] or row["chip_power_max_w"])
        assert row["power_confidence"] in ({"published", "third_party", "assumed"} if has_power else {""}), row


def test_idle_power_is_below_the_greatest_power() -> None:
    both = [row for row in rows("accelerator_types") if row["chip_power_idle_w"] and row["chip_power_max_w"]]
    assert both
    assert all(Decimal(row["chip_power_idle_w"]) < Decimal(row["chip_power_max_w"]) for row in both)


def test_disagreeing_sources_stay_visible() -> None:
    values: dict[tuple[str, str], set[str]] = {}
    for source in rows("accelerator_sources"):
        values.setdefault((source["chip_name"], source["attribute"]), set()).add(source["value"])
    assert values["Trainium1", "peak_bf16_tflops"] == {"190", "191", "210", "260"}
    assert values["Trainium1", "hbm_gib"] == {"16", "32"}
    assert values["Trainium2", "peak_bf16_tflops"] == {"650", "667", "1300", "1680"}
    quotes = {row["price_per_unit"] for row in rows("prices") if row["accelerator_type"] == "trn2.48xlarge"}
    assert quotes == {"12.00", "38.43"}


def test_prefixes_lead_to_known_aws_regions() -> None:
    known = {row["region_id"] for row in rows("regions") if row["provider_name"] == "AWS"}
    assert {row["region_id"] for row in rows("aws_region_prefixes")} <= known


def test_the_prefix_a_region_names_is_in_the_list_of_prefixes() -> None:
    listed = {(row["prefix"], row["region_id"]) for row in rows("aws_region_prefixes")}
    named = {(row["usage_type_prefix"], row["region_id"]) for row in rows("regions") if row["usage_type_prefix"]}
    assert named <= listed
    assert {prefix for prefix, _ in listed - named} == {"CPT", "CPT1", "EUW1", "US"}  # older spellings


def test_prefixes_that_look_like_their_neighbours_are_not_confused() -> None:
    """The numbers of the Asian prefixes follow the order of opening, not the region's own number."""
    regions = {row["prefix"]: row["region_id"] for row in rows("aws_region_prefixes")}
    assert regions["APS3"] == "ap-south-1"
    assert regions["APS4"] == "ap-southeast-3"
    assert regions["EU"] == "eu-west-1"
    assert regions["USE1"] == regions["US"] == "us-east-1"


def test_region_codes_are_well_formed_and_none_is_global() -> None:
    for row in rows("regions"):
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+-?\d+", row["region_id"]), row
        assert re.fullmatch(r"([A-Z]{2})?", row["country_code"]), row
        assert row["region_name"], row


def test_carbon_names_are_unique_so_that_a_console_report_joins_to_one_region() -> None:
    names = [row["carbon_region_name"] for row in rows("regions") if row["carbon_region_name"]]
    assert len(set(names)) == len(names) > 30


def test_prices_speak_of_known_types_and_regions_in_known_units() -> None:
    types = {row["accelerator_type"]: row["provider_name"] for row in rows("accelerator_types")}
    regions = {(row["provider_name"], row["region_id"]) for row in rows("regions")}
    for row in rows("prices"):
        assert types[row["accelerator_type"]] == row["provider_name"], row
        assert row["region_id"] == "" or (row["provider_name"], row["region_id"]) in regions, row
        assert row["purchase_option"] in PURCHASE_OPTIONS, row
        assert row["unit"] in {"instance-hour", "chip-hour"}, row
        assert re.fullmatch(r"[A-Z]{3}", row["currency"]), row
        assert Decimal(row["price_per_unit"]) > 0, row
        assert row["valid_from"] == "" or date.fromisoformat(row["valid_from"]), row


def test_an_unsettled_price_is_never_of_high_confidence() -> None:
    open_questions = [row for row in rows("prices") if not row["purchase_option"]]
    assert {row["confidence"] for row in open_questions} == {"low"}


def test_a_datapoint_takes_a_figure_or_the_reason_why_it_is_never_filled() -> None:
    model = (SEEDS.parent / "models/intermediate/reporting/int_disclosure_figures.sql").read_text(encoding="utf-8")
    for row in rows("dim_datapoints"):
        assert bool(row["measure"]) != bool(row["not_available_reason"]), row["datapoint_id"]
        stem = re.sub(r"(location|market)_based$|[0-9]+$|upstream.*|^(revenue|headcount)(?=_)", "", row["measure"])
        assert stem in model, f"{row['datapoint_id']} would have no row"


def test_the_datapoints_of_a_framework_have_one_reading_order() -> None:
    positions: dict[str, list[int]] = {}
    for row in rows("dim_datapoints"):
        positions.setdefault(row["framework"], []).append(int(row["position"]))
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in positions.values())


def test_only_what_was_read_is_official_and_an_id_of_ours_never_looks_so() -> None:
    for row in rows("dim_datapoints"):
        is_official = row["id_kind"] == "official"
        assert is_official == bool(row["read_on"]) == bool(row["reference"]) == (row["confidence"] == "high" and not is_own(row))
        assert is_official or (row["datapoint_id"].startswith("ours.") and row["expected_reference"] and not row["xbrl_element"])
        assert not is_official or not row["datapoint_id"].startswith("ours.")
        assert row["edition"] and row["source"], row["datapoint_id"]
        assert bool(row["xbrl_element"]) == (is_official and row["framework"] == "ESRS-2023"), row["datapoint_id"]


def is_own(row: dict[str, str]) -> bool:
    """What the ledger itself has is of no framework."""
    return row["framework"] == "contribution"


def test_no_edition_is_in_force_in_the_years_of_the_one_that_replaces_it() -> None:
    years = {row["framework"]: (row["first_fiscal_year"], row["last_fiscal_year"]) for row in rows("dim_datapoints")}
    assert (years["GRI-2016"], years["GRI-2025"]) == (("", "2026"), ("2027", ""))
    assert (years["ESRS-2023"], years["ESRS-2026"]) == (("", "2026"), ("2026", ""))  # 2026 may choose


def test_no_share_of_primary_data_is_filled_and_upstream_tonnes_of_two_providers_are_two_rows() -> None:
    found = rows("dim_datapoints")
    primary = [row for row in found if "primary data" in row["datapoint"]]
    assert len(primary) == 2 and all("allocated" in row["not_available_reason"] for row in primary)
    upstream = [row["measure"] for row in found if "upstream" in row["measure"]]
    assert upstream == ["cloud_upstream_aws_location_based", "cloud_upstream_aws_market_based", "cloud_upstream_google"]


def test_no_datapoint_of_the_readers_own_scope_2_takes_a_figure_of_a_provider() -> None:
    for row in rows("dim_datapoints"):
        if "Scope 2" in row["datapoint"] and row["measure"]:
            assert row["measure"] in ("own_scope_2_location_based", "own_scope_2_market_based"), row["datapoint_id"]
