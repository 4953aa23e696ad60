"""Emission factors of the newest published month that run out within a quarter: the next months would rest on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_EXPIRING = """
    with newest as (
        select factor_id, factor_age_years, factor_id || ' (' || region_id || ')' as name
        from marts.fct_training_run_emissions_modelled
        where usage_month = (select max(usage_month) from marts.fct_training_run_emissions_modelled where factor_id is not null)
    )
    select strftime(factors.valid_to, '%Y-%m-%d'), factors.valid_to <= $day, max(newest.factor_age_years),
        string_agg(distinct newest.name, ', ' order by newest.name)
    from newest
    inner join marts.dim_emission_factors as factors using (factor_id)
    where factors.valid_to <= $day + interval 3 month
    group by factors.valid_to
    order by factors.valid_to
"""


@dataclass(frozen=True, slots=True)
class Expiring:
    """Factors that run out on one day."""

    day: str
    is_over: bool
    age_years: int | None
    factors: str

    def __str__(self) -> str:
        age = "their age is unknown" if self.age_years is None else f"age {self.age_years} years"
        return f"emission factors {'expired' if self.is_over else 'expire'} on {self.day}: {self.factors}; {age}."


def expiring_factors(connection: duckdb.DuckDBPyConnection, day: date) -> list[Expiring]:
    """The factors by the day on which they run out, as seen on a day."""
    return [Expiring(*row) for row in connection.execute(_EXPIRING, {"day": day}).fetchall()]
