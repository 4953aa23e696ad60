"""Which emission factors of a published file run out soon, in words. Whether it is soon, the caller's clock states."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

A_QUARTER = "INTERVAL 3 MONTH"
# of the newest month that has factors: what it rests on is what the next months would rest on
EXPIRING = f"""
WITH newest AS (
    SELECT factor_id, factor_age_years, factor_id || ' (' || region_id || ')' AS name
    FROM marts.fct_training_run_emissions_modelled
    WHERE usage_month = (SELECT max(usage_month) FROM marts.fct_training_run_emissions_modelled WHERE factor_id IS NOT NULL)
)
SELECT strftime(factors.valid_to, '%Y-%m-%d'), factors.valid_to <= CAST($at AS DATE), max(newest.factor_age_years),
    string_agg(DISTINCT newest.name, ', ' ORDER BY newest.name)
FROM newest INNER JOIN marts.dim_emission_factors AS factors USING (factor_id)
WHERE factors.valid_to <= CAST($at AS DATE) + {A_QUARTER}
GROUP BY factors.valid_to ORDER BY factors.valid_to
"""
REMEDY = "From then on months have no modelled emissions there; docs/methodology/factors.md describes how to put in a newer one"


def expiring_factors(published_file: Path, at: datetime) -> list[str]:
    """A sentence per day on which factors of the newest usage month run out; none where nothing is published yet."""
    if not published_file.exists():
        return []
    import duckdb

    with duckdb.connect(str(published_file), read_only=True) as connection:
        try:
            rows = connection.execute(EXPIRING, {"at": at.date()}).fetchall()
        except (duckdb.BinderException, duckdb.CatalogException):  # published by an older version, until the next refresh
            return []
    return [
        f"emission factors {'expired' if is_over else 'expire'} on {day}: {names}; "
        f"{'their age is unknown' if age is None else f'age {age} years'}. {REMEDY}."
        for day, is_over, age, names in rows
    ]
