"""Election: what counts at an instant, whose bill is the book, and that the order of landing never matters."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_project.base.failures import UsageError
from dagster_project.election.winners import View, in_force, winner_of, winners_of
from dagster_project.landing.deriving.contents import Contents, version_order
from dagster_project.landing.records import Generation, RefusalRecord, Tombstone
from dagster_project.landing.store import SourceLanding
from tests.landing.kit import PAYER, Organisation, bill_line, carbon_row, instant

UNBLENDED = "select line_item_unblended_cost from raw.aws_cur order by 1"


def generation(published_day: int, content: str, landed_day: int = 1) -> Generation:
    """A generation of which only the order counts."""
    return Generation(
        source="cur",
        kind="aws_cur",
        partition="2026-04",
        delivery_id="",
        identity="",
        published_at=dt.datetime(2026, 5, published_day, tzinfo=dt.UTC),
        landed_at=dt.datetime(2026, 6, landed_day, tzinfo=dt.UTC),
        content_hash=content,
        objects=[],
    )


@given(
    st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc"), st.integers(1, 9)), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_the_winner_is_the_same_in_any_order_of_landing(drawn: list[tuple[int, str, int]], random) -> None:
    generations = [generation(*one) for one in drawn]
    shuffled = list(generations)
    random.shuffle(shuffled)
    winner = winner_of(generations)
    assert winner_of(shuffled).order == winner.order
    assert winner.content_hash == max(generations, key=lambda one: one.order).content_hash


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc")), min_size=1, max_size=8, unique=True))
def test_a_repeat_of_the_bytes_before_it_changes_nothing(drawn: list[tuple[int, str]]) -> None:
    generations = sorted((generation(*one) for one in drawn), key=lambda one: one.order)
    repeat = generation(28, generations[-1].content_hash)
    assert winner_of([*generations, repeat]).order == winner_of(generations).order


def test_the_first_of_the_kept_repeats_replaces_a_removed_generation(tmp_path: Path) -> None:
    """The bytes of 1 May were removed, and came again on the 3rd and the 5th: of those two the 3rd counts."""
    source = Organisation(tmp_path).settings.sources[0]
    removed, first, second = (generation(day, "a") for day in (1, 3, 5))
    landed = SourceLanding([second, first], [Tombstone(generation=removed, removed_at=second.landed_at)])
    contents = Contents(content_hash="a", connector_version="1")
    (winner,), refusals = winners_of(source, landed, lambda _: contents, View())
    assert (winner.generation, refusals) == (first, [])


@pytest.mark.parametrize(("question", "moment"), [("as_of", "landed_at"), ("as_published", "published_at")])
def test_what_came_at_the_very_instant_asked_about_was_known_and_a_microsecond_before_it_was_not(
    question: str, moment: str
) -> None:
    bill = generation(9, "a", landed_day=11)
    came = getattr(bill, moment)
    assert View(**{question: came}).has_generation(bill)
    assert not View(**{question: came - dt.datetime.resolution}).has_generation(bill)


def test_a_refusal_that_was_withdrawn_at_the_very_instant_asked_about_is_no_longer_in_force() -> None:
    refused, withdrawn = dt.datetime(2026, 6, 1, tzinfo=dt.UTC), dt.datetime(2026, 6, 2, tzinfo=dt.UTC)
    record = RefusalRecord(
        source="cur",
        kind="aws_cur",
        partition="2026-04",
        identity="",
        connector_version="1",
        published_at=None,
        refused_at=refused,
        withdrawn_at=withdrawn,
        refusals=[],
    )
    landed = SourceLanding(refusals=[record])
    assert in_force(landed, View(as_of=refused)) == [record]
    assert in_force(landed, View(as_of=withdrawn - dt.datetime.resolution)) == [record]
    assert in_force(landed, View(as_of=withdrawn)) == []


def test_versions_are_ordered_by_their_numbers() -> None:
    versions = ["v3.0.9", "v2.0.10", "v3.0.10", "v3.0.0", "1.0", "v3.1"]
    assert sorted(versions, key=version_order) == ["1.0", "v2.0.10", "v3.0.0", "v3.0.9", "v3.0.10", "v3.1"]


def test_as_of_is_what_we_knew_and_as_published_what_the_provider_had_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation = Organisation(tmp_path)
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-20T00:00:00Z")  # landed long after it was published
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-21T00:00:00Z")
    organisation.deliver([bill_line(2.0)], at="2026-05-10")
    organisation.refresh()
    assert organisation.raw(UNBLENDED) == [(2.0,)]
    assert organisation.raw(UNBLENDED, as_published=instant("2026-05-09")) == [(1.0,)]
    assert organisation.raw(UNBLENDED, as_of=instant("2026-05-09")) == []
    assert organisation.raw(UNBLENDED, as_of=instant("2026-05-20T12:00")) == [(1.0,)]
    with pytest.raises(UsageError, match="exclude each other"):
        organisation.line.elect(as_of=instant("2026-05-09"), as_published=instant("2026-05-09"))


def test_flags_of_an_as_of_election_are_as_of_its_instant_whatever_the_clock_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation = Organisation(tmp_path)
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-03T00:00:00Z")
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    asked = {"as_published": instant("2026-05-14T23:59")}
    before = organisation.line.units(organisation.line.elect(**asked))
    monkeypatch.setenv("TRAINLEDGER_NOW", "2027-05-03T00:00:00Z")
    assert organisation.line.units(organisation.line.elect(**asked)) == before
    closed = "select is_bill_landed, is_bill_closed, is_carbon_published from raw.months"
    assert organisation.raw(closed, **asked) == [(True, False, False)]
    assert organisation.raw(closed, as_published=instant("2026-05-15")) == [(True, True, False)]


def two_bills(tmp_path: Path, **more: object) -> Organisation:
    """Two exports of the same payer and month."""
    return Organisation(tmp_path, {"name": "cur", "kind": "aws_cur", **more}, {"name": "other", "kind": "aws_cur"})


def test_two_bills_of_one_payer_and_month_are_an_error_that_names_both(tmp_path: Path) -> None:
    organisation = two_bills(tmp_path)
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.deliver([bill_line(2.0)], at="2026-05-03", source="other")
    organisation.refresh()
    with pytest.raises(UsageError, match=rf"cur and other both are the book of AWS payer {PAYER} in 2026-04"):
        organisation.line.elect()


@pytest.mark.parametrize(("choice", "book"), [(True, "cur"), (False, "other")])
def test_book_in_the_settings_shows_which_of_two_counts_and_the_other_is_only_landed(
    tmp_path: Path, choice: bool, book: str
) -> None:
    organisation = two_bills(tmp_path, book=choice)
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.deliver([bill_line(2.0)], at="2026-05-03", source="other")
    organisation.refresh()
    assert organisation.raw("select _source_name from raw.aws_cur where _is_book") == [(book,)]
    assert organisation.raw("select count(*) from raw.aws_cur") == [(2,)]
    assert organisation.raw("select source_name from raw.delivery_totals") == [(book,)]


def test_two_payers_in_one_export_are_the_book_one_by_one(tmp_path: Path) -> None:
    organisation = two_bills(tmp_path, book=True)
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    both = [bill_line(2.0), bill_line(3.0, number=2, bill_payer_account_id="000000000099")]
    organisation.deliver(both, at="2026-05-03", source="other")
    organisation.refresh()
    assert organisation.raw("select line_item_unblended_cost from raw.aws_cur where _is_book order by 1") == [(1.0,), (3.0,)]


def test_successive_exports_of_one_payer_follow_each_other_without_conflict(tmp_path: Path) -> None:
    organisation = two_bills(tmp_path)
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.deliver([bill_line(2.0, day="2026-05-01")], at="2026-06-02", month="2026-05", source="other")
    organisation.refresh()
    assert organisation.raw("select count(*) from raw.aws_cur where _is_book") == [(2,)]


def test_the_highest_known_carbon_version_of_a_month_is_elected_and_the_others_stay_readable(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "carbon", "kind": "aws_carbon"})
    for version, value in (("v3.0.9", 9.0), ("v3.0.10", 10.0)):
        organisation.deliver_carbon([carbon_row(value, version=version)], at="2026-05-18", version=version)
    organisation.deliver_carbon(
        [carbon_row(1.0, month="2026-05", version="v3.0.9")], at="2026-06-18", month="2026-05", version="v3.0.9"
    )
    organisation.refresh()
    query = (
        "select strftime(usage_period_start, '%m'), model_version, _is_book, _is_elected_version from raw.aws_carbon order by all"
    )
    assert organisation.raw(query) == [
        ("04", "v3.0.10", True, True),
        ("04", "v3.0.9", True, False),
        ("05", "v3.0.9", True, True),
    ]
    flags = "select usage_month, is_carbon_published, is_carbon_final from raw.months order by 1"
    assert organisation.raw(flags, as_published=instant("2027-06-30")) == [
        (dt.date(2026, 4, 1), True, False),
        (dt.date(2026, 5, 1), True, False),
    ]
    assert [row[2] for row in organisation.raw(flags, as_published=instant("2027-07-01"))] == [True, True]


def test_a_source_name_given_to_another_kind_is_refused(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    renamed = Organisation(tmp_path, {"name": "cur", "kind": "aws_carbon"})
    with pytest.raises(UsageError, match="is aws_carbon, but its landing holds aws_cur"):
        renamed.line.elect()


def test_kinds_without_a_source_are_empty_views_of_their_own_columns(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    columns = organisation.raw(
        "select column_name, data_type from information_schema.columns where table_name = 'aws_carbon' and column_name in "
        "('total_lbm_emissions_value', 'total_lbm_emissions_value__text', '_is_elected_version', '_published_at') order by 1"
    )
    assert columns == [
        ("_is_elected_version", "BOOLEAN"),
        ("_published_at", "TIMESTAMP"),
        ("total_lbm_emissions_value", "DOUBLE"),
        ("total_lbm_emissions_value__text", "VARCHAR"),
    ]
    assert organisation.raw("select count(*) from raw.training_runs") == [(0,)]
