"""The quick ways of DuckDB with whole numbers give what Python's integers give, on both sides of where they end."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import duckdb
import pytest

from tests.dialect import rendered

AROUND = [10**digits + more for digits in (0, 6, 15, 18, 19, 25) for more in (-1, 0, 1)] + [2**51, 2**53 + 1, 2**63 - 1, 2**63]


def test_quotient_and_rest_are_exact_on_both_sides_of_18_digits() -> None:
    pairs = [(a, b) for a in AROUND for b in AROUND if b > 0]
    with duckdb.connect() as con:
        con.execute("create table pairs (a decimal(38, 0), b decimal(38, 0))")
        con.executemany("insert into pairs values (?, ?)", [(Decimal(a), Decimal(b)) for a, b in pairs])
        asked = rendered("{{ int_div('a', 'b') }}, {{ int_mod('a', 'b') }}")
        found = con.execute(f"select a, b, {asked} from pairs").fetchall()
    assert len(found) == len(pairs)
    wrong = [row for row in found if divmod(int(row[0]), int(row[1])) != (int(row[2]), int(row[3]))]
    assert not wrong


@pytest.mark.parametrize("decimals", [6, 9, 12])
def test_units_of_an_exact_figure_are_its_digits(decimals: int) -> None:
    """A double takes part below 2 * 10^(15 - decimals): just below it there are 2^51 units, of which no digit may be lost."""
    bound, random = 2 * 10**15, Random(decimals)
    units = [bound + more for more in range(-2000, 2000)] + [
        random.randrange(10 ** random.randrange(1, 24)) for _ in range(20_000)
    ]
    with duckdb.connect() as con:
        con.execute(f"create table figures (u decimal(38, 0), x decimal(38, {decimals}))")
        listed = ", ".join(f"({sign * u}, {Decimal(sign * u).scaleb(-decimals):f})" for u in units for sign in (1, -1))
        con.execute(f"insert into figures values {listed}")
        asked = rendered(f"{{{{ quick_units('x', {decimals}) }}}}")
        wrong = con.execute(f"select u, x from figures where {asked} <> u").fetchall()
    assert not wrong
