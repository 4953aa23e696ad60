"""Deliveries of bills and of carbon are judged before they can be elected: against their shape and the delivery before them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from dagster_project.base.kinds import KINDS, Kind
from dagster_project.commands.accepting import accept
from dagster_project.landing.deriving.contents import Verdict
from dagster_project.landing.judging import expectations
from dagster_project.landing.judging.rules import EVERY_ONE_JUDGED, FEW, HOLDING, RULES
from dagster_project.warehouse.gates import delivery_gates
from tests.landing.kit import Organisation, bill_line, carbon_row, hour, instant, write_run
from tests.landing.whole_company import SOURCES, whole_company

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow  # the library takes seconds to import


@pytest.fixture(scope="module", autouse=True)
def nothing_is_found() -> Iterator[None]:
    """Here the deliveries are judged."""
    yield


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many deliveries each batch had."""
    found: list[int] = []
    validate = expectations.validate
    monkeypatch.setattr(expectations, "validate", lambda rows: found.append(len(rows)) or validate(rows))
    return found


def many(rows: int = FEW, **more: Any) -> list[dict[str, Any]]:
    return [bill_line(1.0, number=number, **more) for number in range(rows)]


def verdict_of(organisation: Organisation) -> Verdict:
    """Of the one delivery that counts."""
    [member] = organisation.line.elect().members
    assert member.contents.verdict
    return member.contents.verdict


def shelved(organisation: Organisation) -> dict[str, bytes]:
    """Verdicts and validations as they lie on the shelf."""
    shelf = organisation.settings.cache / "derived"
    return {
        f"{path.relative_to(shelf)}": path.read_bytes()
        for name in ("contents.json", "validation.json")
        for path in sorted(shelf.rglob(name))
    }


def test_every_kind_of_a_bill_or_of_carbon_is_judged_in_one_batch_and_no_other_kind(tmp_path: Path, batches: list[int]) -> None:
    company = whole_company(tmp_path)
    judged = {name for name, kind in SOURCES.items() if KINDS[Kind(kind)].fact in ("bill", "carbon")}
    company.refresh()
    assert batches == [len(judged)]
    members = company.line.elect().members
    assert {member.source.name for member in members if member.contents.verdict} == judged
    assert batches == [len(judged)], "an election finds the verdicts"
    assert all(gate.passed for gate in delivery_gates(company.line.elect()))


CHANGES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = {
    "every_line_is_of_a_known_type": ([], [bill_line(line_item_line_item_type="Novelty")], "unknown_line_types 1: Novelty"),
    "every_required_column_has_a_value": (
        [],
        [bill_line(line_item_product_code=None)],
        "empty_columns 1: line_item_product_code",
    ),
    "every_currency_is_a_code": ([], [bill_line(line_item_currency_code="dollars")], "odd_currencies 1: dollars"),
    "most_use_is_of_the_time_of_the_delivery": (
        [],
        [
            bill_line(),
            *(
                bill_line(
                    number=number,
                    line_item_usage_start_date=instant("2025-12-01"),
                    line_item_usage_end_date=instant("2025-12-02"),
                )
                for number in (2, 3)
            ),
        ],
        "timely_lines_ratio 0.333",
    ),
    "rows_do_not_collapse_against_the_previous_delivery": (many(), many(FEW // 2 - 1), "rows_ratio_to_previous 0.499"),
    "accounts_do_not_collapse_against_the_previous_delivery": (
        [bill_line(line_item_usage_account_id=account) for account in "abcde"],
        [bill_line(line_item_usage_account_id=account) for account in "ae"],
        "accounts_ratio_to_previous 0.4: b, c, d",
    ),
    "payers_of_the_previous_delivery_are_there": (
        [bill_line()],
        [bill_line(bill_payer_account_id="000000000018")],
        "lost_payers 1: 000000000017",
    ),
    "currencies_of_the_previous_delivery_are_there": (
        [bill_line(), bill_line(line_item_currency_code="EUR")],
        [bill_line()],
        "lost_currencies 1: EUR",
    ),
    "columns_are_those_of_the_previous_delivery": (
        [bill_line()],
        [bill_line("21.5")],
        "changed_columns 1: line_item_unblended_cost",
    ),
    "columns_keep_their_values_against_the_previous_delivery": (
        many(),
        [*many(FEW // 2 - 1), *many(FEW // 2 + 1, line_item_resource_id=None, resource_tags={})],
        "emptied_columns 2: line_item_resource_id, resource_tags",
    ),
}


def test_each_rule_has_a_delivery_that_breaks_it() -> None:
    assert list(CHANGES) == [rule.name for rule in RULES]


@pytest.mark.parametrize("rule", CHANGES)
def test_a_delivery_that_does_not_meet_a_rule_counts_once_accepted_with_a_warning_that_has_the_finding(
    tmp_path: Path, rule: str
) -> None:
    before, rows, words = CHANGES[rule]
    organisation = Organisation(tmp_path)
    if before:
        organisation.deliver(before, at="2026-05-02")
        organisation.refresh()
        assert verdict_of(organisation).failed == {}
    organisation.deliver(rows, at="2026-05-03")
    assert organisation.outcomes() == {"landed": 1}
    if rule in HOLDING:
        [record] = organisation.line.elect().refusals
        assert record.refusals[0].reason == "unlike_its_predecessor" and words in record.refusals[0].message
        accept(organisation.settings, "cur", "2026-04", None, "an auditor", 0, lambda _: None)
    assert verdict_of(organisation).failed == {rule: words}
    [gate] = [gate for gate in delivery_gates(organisation.line.elect()) if not gate.passed]
    assert gate.gate == f"gx.deliveries.{rule}" and gate.failing_rows == 1
    assert (
        gate.detail and gate.detail.startswith("warning: ") and words in gate.detail and '"partition": "2026-04"' in gate.detail
    )


@pytest.mark.parametrize("rows", [many(FEW // 2), many(FEW, line_item_net_unblended_cost=0.5)], ids=["half", "more columns"])
def test_half_of_the_rows_and_a_column_more_are_as_usual(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    organisation = Organisation(tmp_path)
    for at, delivered in (("2026-05-02", many()), ("2026-05-03", rows)):
        organisation.deliver(delivered, at=at)
        organisation.refresh()
    assert verdict_of(organisation).failed == {}


def test_a_handful_of_rows_may_well_halve(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    for at, number in (("2026-05-02", FEW - 1), ("2026-05-03", 1)):
        organisation.deliver(many(number), at=at)
        organisation.refresh()
    assert verdict_of(organisation).failed == {}


def test_a_delivery_is_held_against_the_one_before_it_of_other_bytes(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    for at, cost in (("2026-05-02", 1.0), ("2026-05-03", 2.0), ("2026-05-04", 2.0)):
        organisation.deliver([bill_line(cost)], at=at)
        organisation.refresh()
    first, *others = organisation.line.landing.read("cur").generations
    assert len({one.content_hash for one in others}) == 1
    assert verdict_of(organisation).previous == first.content_hash


def test_carbon_and_google_have_accounts_and_kinds_of_lines_of_their_own(tmp_path: Path) -> None:
    sources = ({"name": "carbon", "kind": "aws_carbon"}, {"name": "google", "kind": "gcp_billing"})
    organisation = Organisation(tmp_path, *sources)
    organisation.deliver_carbon(
        [carbon_row(), carbon_row() | {"usage_account_id": "2"}, carbon_row() | {"usage_account_id": "3"}], at="2026-05-15"
    )
    organisation.deliver_google("2026-04-03", hour("2026-04-03"), at="2026-04-04")
    organisation.refresh()
    organisation.deliver_carbon([carbon_row()], at="2026-05-16")
    organisation.deliver_google("2026-04-03", hour("2026-04-03", cost_type="novelty"), at="2026-04-05")
    organisation.refresh()
    election = organisation.line.elect()
    found = {member.source.name: member.contents.verdict for member in election.members}
    failed = {name: list(verdict.failed) for name, verdict in found.items() if verdict}
    assert failed == {"carbon": [], "google": ["every_line_is_of_a_known_type"]}
    [held] = election.refusals
    assert held.source == "carbon" and "accounts_ratio_to_previous 0.333: 2, 3" in held.refusals[0].message


def test_verdict_and_validation_are_the_same_bytes_when_they_are_derived_again(tmp_path: Path, batches: list[int]) -> None:
    organisation = Organisation(tmp_path)
    for at, rows in (("2026-05-02", 3), ("2026-05-03", 2)):
        organisation.deliver(many(rows), at=at)
        organisation.refresh()
    organisation.deliver(many(1, day="2026-05-01"), at="2026-06-02", month="2026-05")
    organisation.refresh()
    before = shelved(organisation)
    assert batches == [1, 1, 1]
    shutil.rmtree(organisation.settings.cache)
    organisation.line.elect()
    after = shelved(organisation)
    assert batches == [1, 1, 1, 2], "those that count, together; and of what does not count no verdict is needed"
    judged = {name for name, data in after.items() if b'"verdict": null' not in data}
    assert {name: after[name] for name in judged} == {name: before[name] for name in judged}
    assert len(after) == 2 * 2 + 1


def test_a_landing_that_was_killed_before_it_judged_is_judged_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr("dagster_project.landing.planning.judge", killed)
        with pytest.raises(KeyboardInterrupt):
            organisation.refresh()
    assert verdict_of(organisation).failed == {}


def test_other_rules_judge_again_what_is_derived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: list[int]) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    monkeypatch.setattr("dagster_project.landing.judging.rules.rules_version", lambda: "other")
    monkeypatch.setattr("dagster_project.landing.land.Landing._derive_again", None)
    assert verdict_of(organisation).version == "other"
    assert batches == [1, 1]


def test_a_build_that_elects_what_was_not_judged_does_not_pass(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    election = organisation.line.elect()
    [member] = election.members
    missing = replace(member, contents=structs.replace(member.contents, verdict=None))
    [gate] = [gate for gate in delivery_gates(replace(election, members=(missing,))) if not gate.passed]
    assert (gate.gate, gate.detail) == (EVERY_ONE_JUDGED, member.generation.path)


LANDED = """
import sys
from pathlib import Path
from dagster_project.base.later import keep_pandas_for_later
from dagster_project.election.election import elect
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import land_all, make_plan
from dagster_project.settings import load_settings
settings = load_settings(Path(sys.argv[1]))
landing = open_landing(settings)
keep_pandas_for_later()
landed = land_all(landing, make_plan(settings.sources, settings.base, landing))
elect(settings.sources, landing)
print(len(landed), *(name for name in ("great_expectations", "pandas", "pyarrow") if name in sys.modules))
"""


def test_only_a_bill_or_carbon_loads_great_expectations_and_a_run_record_no_arrow(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "runs", "kind": "training_runs"})
    config = tmp_path / "trainledger.yaml"
    sources = [{key: str(getattr(one, key)) for key in ("name", "kind", "location")} for one in organisation.settings.sources]
    config.write_text(json.dumps({"organisation": {"name": "Test"}, "home": "./home", "sources": sources}))

    def landed() -> str:
        command = [sys.executable, "-c", LANDED, str(config)]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()

    organisation.deliver([bill_line()], at="2026-05-02")
    assert landed() == "1 great_expectations pandas pyarrow"
    write_run(tmp_path / "exports/runs/a.run.json", "a", at="2026-05-02")
    assert landed() == "1"
    assert landed() == "0"
