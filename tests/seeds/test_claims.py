"""Claims of vendors and figures of articles: every one is there, and their arithmetic is computed again."""

from __future__ import annotations

import ast
import operator
import re
from decimal import Decimal
from pathlib import Path

import pytest

from tests.seeds.test_seeds import rows

MODELS = Path(__file__).resolve().parents[2] / "dbt" / "models"
CLAIMS = {*(f"E{n}" for n in range(1, 11)), *(f"C{n}" for n in range(1, 12))}
FORMS = {"", "times", "saving", "below"}
FIGURE_BESIDE = {"market_based", "commitment"}  # measured all the same, and it decides nothing
STEPS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def computed(node: ast.expr) -> Decimal:
    """An expression of numbers, +, - and *, in exact decimals."""
    if isinstance(node, ast.BinOp):
        return STEPS[type(node.op)](computed(node.left), computed(node.right))
    assert isinstance(node, ast.Constant), ast.dump(node)
    return Decimal(str(node.value))


def decimals_of(text: str) -> int:
    return len(text.partition(".")[2])


def test_every_claim_is_there_in_words_with_who_states_it_and_what_would_test_it() -> None:
    claims = rows("vendor_claims")
    assert {re.sub("b$", "", row["claim_id"]) for row in claims} == CLAIMS
    for row in claims:
        assert row["claim"] and row["stated_by"] and row["tested_by"], row
        assert re.search(r"article A[1-5]\)", row["source"]), row
        assert bool(row["claimed_value"]) == bool(row["unit"]), row
        assert (row["test"] in {"none", *FIGURE_BESIDE}) == bool(row["not_testable_because"]), row
        assert row["form"] in FORMS, row


def test_a_claim_is_supported_from_its_low_end_and_an_up_to_is_contradicted_only_without_any_advantage() -> None:
    for row in rows("vendor_claims"):
        if not row["supported_from"]:
            continue
        assert Decimal(row["supported_from"]) == Decimal(row["claimed_value"]), row
        nothing = {"saving": "0", "times": "1"}[row["form"]]
        expected = nothing if " up to " in row["claim"] else row["claimed_value"]
        assert Decimal(row["contradicted_below"]) == Decimal(expected), row


def test_what_aws_claims_against_comparable_instances_is_compared_with_those_of_ec2_alone() -> None:
    of_gpus = {row["claim_id"]: row["baseline"] for row in rows("vendor_claims") if "gpu" in row["baseline"]}
    assert of_gpus == dict.fromkeys(("E1", "E2", "C1"), "AWS/gpu")


def test_a_claim_about_a_year_of_a_whole_provider_is_not_tested_by_what_one_customer_is_allocated() -> None:
    untestable = {row["claim_id"]: row["not_testable_because"] for row in rows("vendor_claims") if row["test"] == "market_based"}
    assert untestable.keys() == {"E7", "E7b"} and all("in a year" in because for because in untestable.values())


def test_a_figure_that_its_paper_does_not_have_is_second_hand_and_judged_by_nothing() -> None:
    [quoted] = [row for row in rows("vendor_claims") if row["claim_id"] == "E3"]
    assert quoted["test"] == "none" and quoted["not_testable_because"].startswith("second hand: ")
    assert "2304.01433" in quoted["tested_by"]


@pytest.mark.parametrize("row", rows("article_figures"), ids=lambda row: row["figure_id"])
def test_the_arithmetic_of_the_articles_is_computed_again(row: dict[str, str]) -> None:
    assert bool(row["recomputed_value"]) == bool(row["recomputed_as"])
    if not row["recomputed_as"]:
        assert row["is_right"] == ""
        return
    found = computed(ast.parse(row["recomputed_as"], mode="eval").body)
    assert found == Decimal(row["recomputed_value"])
    if row["is_right"]:
        is_right = bool(row["stated_value"]) and Decimal(row["stated_value"]) == round(found, decimals_of(row["stated_value"]))
        assert is_right == (row["is_right"] == "true")


def test_the_figures_that_do_not_hold_are_named_with_the_right_ones() -> None:
    figures = {row["figure_id"]: row for row in rows("article_figures")}
    assert {name for name, row in figures.items() if row["is_right"] == "false"} == {
        "v5e-256-a1",
        "p5-48xlarge-a5",
        "a5-cluster-run",
        "a5-saving-hour",
        "a5-saving-month-of-8",
        "a5-saving-30-days-a",
        "a5-saving-30-days-b",
        "a5-c11-saving",
    }
    assert figures["a5-cluster-run"]["recomputed_value"] == "100669.44"
    assert figures["a5-saving-month-of-8"]["recomputed_value"] == "64915.20"


def test_every_value_on_which_the_articles_disagree_is_kept() -> None:
    values: dict[str, set[str]] = {}
    for row in rows("article_figures"):
        values.setdefault(row["item"], set()).add(row["stated_value"])
    assert values["trn1.32xlarge on demand"] == {"32.77", "21.50", "1.34"}
    assert values["Trainium1 BF16 peak per chip"] == {"260", "190"}
    assert values["Trainium1 memory per chip"] == {"16", "32"}


def test_a_price_is_quoted_only_unless_it_is_of_the_providers_own_list() -> None:
    for row in rows("prices"):
        assert row["is_quoted_only"] == str("Google Cloud Billing Catalog" not in row["source"]).lower(), row


def readers(table: str) -> set[str]:
    """The models that read a table; pages, which print it, are none."""
    found = (path for path in MODELS.rglob("*.sql") if "pages" not in path.parts)
    return {path.stem for path in found if f"ref('{table}')" in path.read_text(encoding="utf-8")}


def test_prices_enter_no_figure_but_a_sensitivity() -> None:
    assert readers("prices") == {"dim_prices"}
    assert readers("dim_prices") == {"rpt_purchase_options"}
    assert readers("rpt_purchase_options") == set()


def test_what_would_have_been_elsewhere_is_read_by_no_other_table() -> None:
    assert readers("rpt_region_what_if") == set()
