"""What the FOCUS specification asks of a row, by the id of each rule, asked of the exports of the demo.

The ids and where they were read are in focus_rules.yml, with our own SQL: what breaks a rule is a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from dagster_project.commands.exporting import VERSIONS
from dagster_project.commands.options import FocusVersion

HERE = Path(__file__).parent
RULES: Mapping[str, Any] = yaml.safe_load((HERE / "focus_rules.yml").read_text())
PAGE = HERE.parents[1] / "docs" / "handover" / "focus.md"
LATER = (FocusVersion.v1_2, FocusVersion.v1_3, FocusVersion.v1_4)
# mandatory by the data sets CostAndUsage-D-* of 1.2; the two of 1.3 that 1.4 drops
MANDATORY = {
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart"),
    *("ChargeCategory", "ChargeClass", "ChargeDescription", "ChargePeriodEnd", "ChargePeriodStart", "ContractedCost"),
    *("EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingQuantity", "PricingUnit", "ServiceCategory", "ServiceName"),
    # conditional, where a provider has accounts, regions, commitments, several ways to price: ours do
    *("SubAccountId", "SubAccountName", "RegionId", "RegionName", "CommitmentDiscountCategory", "CommitmentDiscountId"),
    *("CommitmentDiscountName", "CommitmentDiscountStatus", "CommitmentDiscountType", "PricingCategory", "ResourceId"),
    *("ResourceName", "ResourceType", "ChargeFrequency"),
}
OF_1_2 = {
    *("BillingAccountType", "SubAccountType", "CommitmentDiscountQuantity", "CommitmentDiscountUnit", "ServiceSubcategory"),
    *("CapacityReservationId", "CapacityReservationStatus"),
}
PROVIDERS = {"1.0": "Provider Publisher", "1.2": "Provider Publisher", "1.3": "Provider Publisher HostProvider ServiceProvider"}


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield connection


def broken(connection: duckdb.DuckDBPyConnection, version: FocusVersion, rules: Mapping[str, str]) -> dict[str, int]:
    """Rows that break a rule, by its id, of those rules whose columns the version has."""
    what = VERSIONS[version]
    rows = f"with of_version as (from {what.schema}.{what.view})"
    columns = {name for name, *_ in connection.execute(f"describe from {what.schema}.{what.view}").fetchall()}
    found = {}
    for rule, condition in rules.items():
        if {*re.findall(r"\b[A-Z][a-z]\w+", re.sub(r"'[^']*'", "", condition))} <= columns:
            (count,) = connection.execute(f"{rows} select count(*) from of_version where {condition}").fetchone() or (0,)
            found[rule] = count
    return found


@pytest.mark.slow
@pytest.mark.parametrize("version", LATER)
def test_no_row_breaks_a_rule(published: duckdb.DuckDBPyConnection, version: FocusVersion) -> None:
    found = broken(published, version, RULES["broken_by"])
    assert {rule: count for rule, count in found.items() if count} == {}
    assert len(found) >= len(RULES["broken_by"]) - 3  # those of ProviderName and PublisherName, which 1.4 has not


@pytest.mark.slow
@pytest.mark.parametrize("version", [FocusVersion.v1_3, FocusVersion.v1_4])
def test_allocated_charges_keep_the_rules_of_their_columns(published: duckdb.DuckDBPyConnection, version: FocusVersion) -> None:
    found = broken(published, version, RULES["broken_by_later"])
    assert found == dict.fromkeys(RULES["broken_by_later"], 0)


@pytest.mark.slow
@pytest.mark.parametrize("version", LATER)
def test_columns_have_the_types_of_their_rules(published: duckdb.DuckDBPyConnection, version: FocusVersion) -> None:
    what = VERSIONS[version]
    types = {name: kind for name, kind, *_ in published.execute(f"describe from {what.schema}.{what.view}").fetchall()}
    for kind, rules in RULES["types"].items():
        for rule in rules:
            assert types.get(rule.partition("-")[0], kind).startswith(kind), rule


@pytest.mark.slow
@pytest.mark.parametrize("version", list(FocusVersion))
def test_columns_of_a_version_are_there_in_its_spelling_and_ours_come_last(
    published: duckdb.DuckDBPyConnection, version: FocusVersion
) -> None:
    what = VERSIONS[version]
    names = [name for name, *_ in published.execute(f"describe from {what.schema}.{what.view}").fetchall()]
    providers = {f"{name}Name" for name in PROVIDERS.get(version, "HostProvider ServiceProvider").split()}
    assert {*names} >= MANDATORY | providers | (set() if version == "1.0" else OF_1_2)
    focus = [name for name in names if not name.startswith("x_")]
    assert names[: len(focus)] == focus  # ColumnHandling-A-012-O, -013-O
    assert all(re.fullmatch(r"([A-Z][a-z]+)+", name) for name in focus)  # ColumnHandling-A-001-M, -003-M
    deprecated = {"ProviderName", "PublisherName"}
    assert (deprecated & {*names}) == (set() if version == "1.4" else deprecated)


@pytest.mark.slow
def test_a_service_has_a_category_and_a_subcategory_of_the_allowed_pairs(published: duckdb.DuckDBPyConnection) -> None:
    """ServiceCategory-C-003-M, ServiceSubcategory-C-003-M and -004-M, of every service that we place."""
    allowed = {(category, one) for category, many in RULES["service_categories"].items() for one in many}
    placed = published.execute("select service_category, service_subcategory from marts.dim_service_categories").fetchall()
    written = published.execute("select distinct ServiceCategory, ServiceSubcategory from marts.focus_1_4").fetchall()
    assert {*placed, *written} <= allowed and len(written) > 4


@pytest.mark.slow
def test_a_commitment_costs_in_use_what_was_paid_for_it(published: duckdb.DuckDBPyConnection) -> None:
    """EffectiveCost-C-012-C and -013-C: over what is published, but for what is still paid ahead."""
    of_usage = "sum(EffectiveCost) filter (ChargeCategory = 'Usage'{})"
    rows = published.execute(
        f"select CommitmentDiscountId, sum(BilledCost) filter (ChargeCategory = 'Purchase'), {of_usage.format('')},"
        f" {of_usage.format(chr(32) + 'and CommitmentDiscountStatus in (' + repr('Used') + ', ' + repr('Unused') + ')')}"
        " from marts.focus_1_4 where CommitmentDiscountId is not null group by 1"
    ).fetchall()
    ahead = dict(
        published.execute(
            "select commitment_id, sum(purchased_cost - refunded_cost - amortised_used_cost - amortised_unused_cost)"
            " from marts.fct_prepaid group by 1"
        ).fetchall()
    )
    assert len(rows) > 3
    for commitment, paid, used, by_status in rows:
        assert paid - used == ahead[commitment] and used == by_status, commitment


@pytest.mark.slow
def test_unused_commitments_are_usage_and_purchases_cost_nothing_effective(
    published: duckdb.DuckDBPyConnection,
) -> None:
    unused, purchased = published.execute(
        "select sum(EffectiveCost) filter (CommitmentDiscountStatus = 'Unused' and ChargeCategory = 'Usage'),"
        " sum(EffectiveCost) filter (ChargeCategory = 'Purchase') from marts.focus_1_4"
    ).fetchone() or (None, None)
    (prepaid,) = published.execute("select sum(amortised_unused_cost) from marts.fct_prepaid").fetchone() or (None,)
    assert unused == prepaid > 0 and purchased == 0


def test_a_rule_is_known_by_an_id_of_the_specification_and_what_does_not_hold_is_on_the_page() -> None:
    model = re.compile(r"(CAU-)?[A-Za-z]+-[ACD]-\d{3}-[MCO]")
    page = PAGE.read_text()
    for part in ("broken_by", "broken_by_later", "not_held"):
        assert all(model.fullmatch(rule) for rule in RULES[part]), part
    assert not RULES["not_held"].keys() & RULES["broken_by"].keys()
    assert [rule for rule in RULES["not_held"] if rule not in page] == []


def test_a_row_that_breaks_rules_is_found_by_each() -> None:
    """The SQL of rules is asked of one bad row: a purchase that costs, of a commitment without an id that is still Unused."""
    with duckdb.connect() as connection:
        connection.execute("create schema marts")
        connection.execute(
            "create view marts.focus_1_4 as select 'Purchase' as ChargeCategory, 1.5 as EffectiveCost, 2 as BilledCost,"
            " 'Usage-Based' as ChargeFrequency, 'Unused' as CommitmentDiscountStatus, null::varchar as CommitmentDiscountId,"
            " null::varchar as ChargeClass"
        )
        found = broken(connection, FocusVersion.v1_4, RULES["broken_by"])
    assert {rule for rule, count in found.items() if count} == {
        *("EffectiveCost-C-005-C", "ChargeFrequency-C-004-C", "CommitmentDiscountStatus-C-003-C", "DiscountHandling-A-009-C"),
    }
