"""The oracle's own arithmetic, by numbers worked out by hand."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .numerals import OracleError, hours_to_microseconds, units, units_of_double, units_of_text
from .overlap import occupation, weights
from .records import Window
from .splitting import RESIDUAL, split


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (21.5, 21_500_000_000_000),
        (-0.1, -100_000_000_000),
        (123456789.123456789, 123_456_789_123_457_000_000),  # 15 digits are kept
        (8192.123456789012, 8_192_123_456_789_010_000 // 1000),
        (1.81e-8, 18_100),
        (4e-13, 0),
        (6e-13, 1),
    ],
)
def test_a_double_keeps_fifteen_digits_and_twelve_decimals(value: float, expected: int) -> None:
    assert units_of_double(value, 12) == expected


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 12))
def test_a_double_of_at_most_fifteen_digits_is_the_number_that_was_written(digits: int, decimals: int) -> None:
    assume(abs(digits) < 10 ** (12 + decimals))
    assert units_of_double(float(f"{digits}e-{decimals}"), 12) == digits * 10 ** (12 - decimals)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.81E-8", 18_100),
        ("0.0000000000005", 1),
        ("-0.0000000000005", -1),
        ("6e-24", 0),
        ("123456789.1234567890125", 123456789123456789013),
    ],
)
def test_text_is_taken_as_written_and_ties_go_away_from_zero(text: str, expected: int) -> None:
    assert units_of_text(text, 12) == expected


def test_empty_text_is_unknown_and_not_a_number_is_an_error() -> None:
    assert units("") is None
    assert units(None) is None
    with pytest.raises(OracleError):
        units(float("nan"))


def test_hours_become_whole_microseconds() -> None:
    assert hours_to_microseconds(units_of_text("0.25", 12)) == 900_000_000
    assert hours_to_microseconds(units_of_text("0.333333333333", 12)) == 1_200_000_000


def test_the_largest_remainder_gets_the_odd_unit_and_ties_go_by_id() -> None:
    assert split(100, [("b", 1), ("a", 1), (RESIDUAL, 1)]) == {"a": 34, "b": 33, RESIDUAL: 33}
    assert split(-100, [("b", 1), ("a", 1), (RESIDUAL, 1)]) == {"a": -34, "b": -33, RESIDUAL: -33}
    assert split(10, [("a", 6), ("b", 6), ("c", 2)]) == {"a": 4, "b": 4, "c": 2}


def test_the_residual_takes_what_no_run_weighs_for() -> None:
    assert split(7, [("a", 0), (RESIDUAL, 0)]) == {"a": 0, RESIDUAL: 7}
    with pytest.raises(OracleError):
        split(7, [("a", 0)])


@given(st.integers(-(10**24), 10**24), st.lists(st.integers(0, 10**15), min_size=1, max_size=8).filter(any))
def test_parts_add_up_and_differ_from_their_share_by_less_than_one_unit(amount: int, sizes: list[int]) -> None:
    parts = split(amount, [(str(place), size) for place, size in enumerate(sizes)])
    assert sum(parts.values()) == amount
    for place, size in enumerate(sizes):
        assert abs(parts[str(place)] - Fraction(amount * size, sum(sizes))) < 1


def _window(run: str, start: int, end: int, chips: int | None, kind: str | None = "trn1.32xlarge") -> Window:
    return Window(run, "i-1", start, end, chips, kind)


def test_free_chips_beside_a_run_stay_with_the_residual() -> None:
    shares = occupation([_window("a", 0, 60, 8)], 0, 60, "")
    assert weights(shares, 60) == [("a", 30), (RESIDUAL, 30)]


def test_an_oversubscribed_node_still_adds_up_to_one() -> None:
    shares = occupation([_window("a", 0, 60, 16), _window("b", 0, 60, 8)], 0, 60, "")
    assert shares == {"a": 40, "b": 20}


def test_a_hand_over_in_the_hour_divides_it_by_time_and_unknown_chips_are_the_whole_node() -> None:
    shares = occupation([_window("a", -100, 20, None), _window("b", 20, 60, None)], 0, 60, "")
    assert shares == {"a": 20, "b": 40}


def test_a_node_of_unknown_size_is_measured_by_what_is_held() -> None:
    shares = occupation([_window("a", 0, 60, None, "x9.large"), _window("b", 0, 60, 3, "x9.large")], 0, 60, "x9.large")
    assert shares == {"a": 15, "b": 45}


def test_the_type_of_the_bill_row_helps_where_the_record_names_none() -> None:
    assert occupation([_window("a", 0, 60, 8, None)], 0, 60, "trn1.32xlarge") == {"a": 30}


def test_billed_hours_below_the_time_held_leave_no_residual_and_above_it_do() -> None:
    shares = occupation([_window("a", 0, 40, 16)], 0, 60, "")
    assert dict(weights(shares, 30))[RESIDUAL] == 0
    assert dict(weights(shares, 60)) == {"a": 40, RESIDUAL: 20}
