"""Emission factors of the newest published month that are too old within a quarter, and own ones that end."""

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
    group by factors.valid_to, newest.factor_age_years is null
    order by factors.valid_to, newest.factor_age_years is null
"""


@dataclass(frozen=True, slots=True)
class Expiring:
    """Factors that are four years behind the year they describe on one day, or own ones that end then."""

    day: str
    is_over: bool
    age_years: int | None
    factors: str

    def __str__(self) -> str:
        if self.age_years is None:
            return f"own emission factors {'ended' if self.is_over else 'end'} on {self.day}: {self.factors}."
        was = "were" if self.is_over else "are"
        return f"emission factors {was} too old on {self.day} and count on: {self.factors}; age {self.age_years} years."


def expiring_factors(connection: duckdb.DuckDBPyConnection, day: date) -> list[Expiring]:
    """The factors by that day, as seen on a day."""
    return [Expiring(*row) for row in connection.execute(_EXPIRING, {"day": day}).fetchall()]
