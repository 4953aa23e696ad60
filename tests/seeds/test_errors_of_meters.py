"""Every meter that a connector can deliver has its error, and points of any spacing have that of their sampling."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

from connectors.registry import DESCRIPTORS
from tests.seeds.test_seeds import rows


def test_every_meter_of_the_registry_has_its_error_and_no_other_meter_has() -> None:
    seeded = {(row["source_kind"], row["meter"]) for row in rows("meters")}
    delivered = {(kind, meter) for kind, descriptor in DESCRIPTORS.items() for meter in descriptor.meters}
    assert seeded == delivered | {("user_inputs", "measured_energy")}


def test_a_reading_may_be_less_by_no_more_than_itself_and_a_published_share_names_who_publishes_it() -> None:
    for row in (*rows("meters"), *rows("sampling_errors")):
        assert 0 <= Decimal(row["error_low_share"]) < 1 and Decimal(row["error_high_share"]) >= 0, row
        assert row["confidence"] == "assumed" or not row["source"].startswith("own"), row


def test_of_rails_that_are_missing_both_seeds_have_the_same_share() -> None:
    unmetered = {row["meter"]: Decimal(row["unmetered_share"]) for row in rows("unmetered_rails")}
    for row in rows("meters"):
        if row["source_kind"] == "xprof":
            assert (row["error_low_share"], Decimal(row["error_high_share"])) == ("0", unmetered[row["meter"]])


def test_spacings_follow_each_other_and_wider_ones_have_no_smaller_share() -> None:
    found = rows("sampling_errors")
    assert found[0]["over_s"] == "0" and found[-1]["to_s"] == ""
    for row, after in pairwise(found):
        assert row["to_s"] == after["over_s"]
        assert all(Decimal(row[end]) <= Decimal(after[end]) for end in ("error_low_share", "error_high_share"))
