"""One payer's bill never replaces another's: deliveries follow each other inside one export, and only where they are alike."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_project.base.failures import UsageError
from dagster_project.commands.accepting import accept
from dagster_project.election.winners import name_of
from dagster_project.landing.judging.rules import FEW, RULES
from dagster_project.landing.retention import prune
from tests.landing.conftest import VALIDATE
from tests.landing.kit import PAYER, Organisation, bill_line, carbon_row, instant

OTHER = "000000000018"
CUR = {"name": "cur", "kind": "aws_cur"}


@pytest.fixture(scope="module", autouse=True)
def nothing_is_found() -> Iterator[None]:
    """Here deliveries are judged, by the predicate of each rule; test_landing_judging.py holds it against Great Expectations."""

    def validate(rows: Sequence[dict[str, float | None]]) -> list[dict[str, Any]]:
        return [{"results": [{"success": rule.is_met(row[rule.measure])} for rule in RULES]} for row in rows]

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(VALIDATE, validate)
        yield


def lines(payer: str, cost: float = 1.0, rows: int = 1, month: str = "2026-04") -> list[dict[str, Any]]:
    return [bill_line(cost, day=f"{month}-01", number=number, bill_payer_account_id=payer) for number in range(rows)]


def booked(organisation: Organisation, **asked: Any) -> Counter[tuple[str, str]]:
    """What counts: the billed cost of each payer and month."""
    found: Counter[tuple[str, str]] = Counter()
    for member in organisation.line.elect(**asked).members:
        for total in member.totals:
            found[total.payer_account_id, total.usage_month] += float(total.billed_cost)
    return found


def reasons(organisation: Organisation) -> list[str]:
    return [record.refusals[0].reason for record in organisation.line.elect().refusals]


def accepted(organisation: Organisation, export: str | None = None) -> None:
    accept(organisation.settings, "cur", "2026-04", export, "an auditor", 0, lambda _: None)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_two_exports_of_two_payers_in_one_location_are_both_booked(tmp_path: Path, order: tuple[str, str]) -> None:
    organisation = Organisation(tmp_path, CUR)
    payers = {"a": PAYER, "b": OTHER}
    for day, export in enumerate(order, 2):
        organisation.deliver(lines(payers[export], 10.0 if export == "a" else 7.0), at=f"2026-05-0{day}", export=export)
    organisation.refresh()
    assert booked(organisation) == {(PAYER, "2026-04"): 10.0, (OTHER, "2026-04"): 7.0}
    assert reasons(organisation) == []
    [(cost,)] = organisation.raw("select sum(line_item_unblended_cost) from raw.aws_cur where _is_book")
    assert cost == 17


def test_of_two_exports_of_one_payer_the_older_counts_and_the_other_is_refused_with_both_names(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, CUR)
    organisation.deliver(lines(PAYER, 10.0), at="2026-05-02", export="old")
    organisation.deliver(lines(PAYER, 9.0), at="2026-05-03", export="new")
    organisation.refresh()
    assert booked(organisation) == {(PAYER, "2026-04"): 10.0}
    [record] = organisation.line.elect().refusals
    assert record.refusals[0].reason == "two_exports"
    assert "'old'" in record.refusals[0].message and "'new'" in record.refusals[0].message
    named = Organisation(tmp_path, CUR | {"book": "new"})
    assert (booked(named), reasons(named)) == ({(PAYER, "2026-04"): 9.0}, [])
    accepted(organisation, "new")
    assert (booked(organisation), reasons(organisation)) == ({(PAYER, "2026-04"): 9.0}, [])
    organisation.deliver(lines(PAYER, 8.0), at="2026-05-04", export="new")
    organisation.deliver(lines(PAYER, 11.0), at="2026-05-05", export="old")
    organisation.refresh()
    assert (booked(organisation), reasons(organisation)) == ({(PAYER, "2026-04"): 8.0}, [])


def test_a_delivery_of_another_payer_is_held_back_until_one_that_is_like_the_elected_arrives(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, CUR)
    organisation.deliver(lines(PAYER, 10.0), at="2026-05-02")
    organisation.refresh()
    organisation.deliver(lines(OTHER, 3.0), at="2026-05-03")
    organisation.refresh()
    assert (booked(organisation), reasons(organisation)) == ({(PAYER, "2026-04"): 10.0}, ["unlike_its_predecessor"])
    organisation.deliver(lines(OTHER, 4.0), at="2026-05-04")
    organisation.refresh()
    assert booked(organisation) == {(PAYER, "2026-04"): 10.0}, "like the held one, and unlike the one that counts"
    organisation.deliver(lines(PAYER, 12.0), at="2026-05-05")
    organisation.refresh()
    assert (booked(organisation), reasons(organisation)) == ({(PAYER, "2026-04"): 12.0}, [])


@pytest.mark.parametrize(("rows", "is_held"), [(FEW // 2 - 1, True), (FEW // 2, False)])
def test_a_delivery_that_lost_more_than_half_of_its_rows_is_held_back(tmp_path: Path, rows: int, is_held: bool) -> None:
    organisation = Organisation(tmp_path, CUR)
    organisation.deliver(lines(PAYER, rows=FEW), at="2026-05-02")
    organisation.refresh()
    organisation.deliver(lines(PAYER, rows=rows), at="2026-05-03")
    organisation.refresh()
    assert booked(organisation) == {(PAYER, "2026-04"): float(FEW if is_held else rows)}
    assert reasons(organisation) == ["unlike_its_predecessor"] * is_held


def test_what_a_person_accepts_counts_from_then_on_and_an_earlier_view_does_not_know_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation = Organisation(tmp_path, CUR)
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
    for at, payer in (("2026-05-02", PAYER), ("2026-05-03", OTHER)):
        organisation.deliver(lines(payer, 3.0), at=at)
        organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-20T00:00:00Z")
    accepted(organisation)
    assert (booked(organisation), reasons(organisation)) == ({(OTHER, "2026-04"): 3.0}, [])
    assert booked(organisation, as_of=instant("2026-05-15")) == {(PAYER, "2026-04"): 3.0}
    organisation.deliver(lines(OTHER, 5.0), at="2026-05-21")
    organisation.refresh()
    assert booked(organisation) == {(OTHER, "2026-04"): 5.0}, "it is like the accepted one"
    with pytest.raises(UsageError, match="names no delivery that is held back"):
        accepted(organisation)


def test_what_an_issued_report_names_counts_whatever_it_is_unlike(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, CUR)
    for at, payer in (("2026-05-02", PAYER), ("2026-05-03", OTHER)):
        organisation.deliver(lines(payer, 3.0), at=at)
        organisation.refresh()
    held = organisation.line.landing.read("cur").generations[-1]
    assert booked(organisation, named=frozenset({name_of(held)})) == {(OTHER, "2026-04"): 3.0}


def test_deliveries_that_arrive_together_or_late_are_elected_as_those_that_arrived_one_by_one(tmp_path: Path) -> None:
    one_by_one = Organisation(tmp_path / "one", CUR)
    history = [("2026-05-02", PAYER), ("2026-05-03", OTHER), ("2026-05-04", PAYER), ("2026-05-05", OTHER), ("2026-05-06", OTHER)]
    for at, payer in history:
        one_by_one.deliver(lines(payer, float(at[-1])), at=at)
        one_by_one.refresh()
    assert booked(one_by_one) == {(PAYER, "2026-04"): 4.0}
    late = Organisation(tmp_path / "late", CUR)
    for at, payer in [history[3], history[1], history[0], history[4], history[2]]:
        late.deliver(lines(payer, float(at[-1])), at=at)
        late.refresh()
    together = Organisation(tmp_path / "together", CUR)
    shutil.copytree(one_by_one.landing, together.landing)
    for other in (late, together):
        assert booked(other) == booked(one_by_one)
        assert sorted(reasons(other)) == sorted(reasons(one_by_one))


def test_retention_keeps_what_counts_before_a_held_delivery_and_remembers_what_it_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation = Organisation(tmp_path, CUR)
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-06T00:00:00Z")
    for at, payer in (("2026-04-02", PAYER), ("2026-04-03", PAYER), ("2026-04-04", OTHER)):
        organisation.deliver(lines(payer, float(at[-1])), at=at)
        organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-12-01T00:00:00Z")
    removed = prune(organisation.settings.sources, organisation.line.landing, organisation.issued, yes=True)
    assert [one.generation.published_at for one in removed] == [instant("2026-04-02")]
    [tombstone] = organisation.line.landing.read("cur").tombstones
    assert tombstone.likeness and (tombstone.likeness.rows, tombstone.likeness.payers) == (1, [PAYER])
    assert (booked(organisation), reasons(organisation)) == ({(PAYER, "2026-04"): 3.0}, ["unlike_its_predecessor"])


def test_retention_removes_what_an_older_version_derived_without_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation = Organisation(tmp_path, CUR)
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-06T00:00:00Z")
    for at in ("2026-04-02", "2026-04-03"):
        organisation.deliver(lines(PAYER, float(at[-1])), at=at)
        organisation.refresh()
    for profile in organisation.settings.cache.rglob("profile.json"):
        profile.unlink()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-12-01T00:00:00Z")
    prune(organisation.settings.sources, organisation.line.landing, organisation.issued, yes=True)
    [tombstone] = organisation.line.landing.read("cur").tombstones
    assert tombstone.likeness is None


def test_carbon_of_another_payer_is_held_back_like_a_bill(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "carbon", "kind": "aws_carbon"})
    for at, payer in (("2026-05-22", PAYER), ("2026-05-23", OTHER)):
        organisation.deliver_carbon([carbon_row(payer=payer)], at=at)
        organisation.refresh()
    assert reasons(organisation) == ["unlike_its_predecessor"]


COSTS = st.dictionaries(
    st.tuples(st.sampled_from((PAYER, OTHER)), st.sampled_from(("2026-04", "2026-05"))), st.integers(1, 90), min_size=1
)


@given(first=COSTS, second=COSTS, is_swapped=st.booleans())
def test_any_two_exports_laid_into_one_location_every_cent_is_booked_once_or_refused_by_name(
    first: dict[tuple[str, str], int], second: dict[tuple[str, str], int], is_swapped: bool
) -> None:
    exports = {"first": first, "second": second}
    with tempfile.TemporaryDirectory() as folder:
        organisation = Organisation(Path(folder), CUR)
        for day, name in enumerate(sorted(exports, reverse=is_swapped), 2):
            for month in ("2026-04", "2026-05"):
                rows = [row for (payer, of), cost in exports[name].items() if of == month for row in lines(payer, cost, 1, of)]
                if rows:
                    organisation.deliver(rows, at=f"2026-06-0{day}", month=month, export=name)
        organisation.refresh()
        election = organisation.line.elect()
        refused = {(record.partition, record.refusals[0].value) for record in election.refusals}
        expected: Counter[tuple[str, str]] = Counter()
        for name, costs in exports.items():
            for (payer, month), cost in costs.items():
                if (month, name) not in refused:
                    expected[payer, month] += cost
        assert booked(organisation) == expected
        for month in ("2026-04", "2026-05"):
            common = {p for p, of in first if of == month} & {p for p, of in second if of == month}
            assert len([1 for of, _ in refused if of == month]) == bool(common), "only where a payer has two exports"
