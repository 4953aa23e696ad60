"""What the controls of every bill share: a total per payer, usage month and currency, and resources by month.

Which rows count, and what they cost, is for each provider's own text.
"""

from __future__ import annotations

import duckdb

from dagster_project.landing.deriving.contents import BillMonth
from dagster_project.landing.deriving.typed_select import short_hash


def bill_months(con: duckdb.DuckDBPyConnection, select: str) -> list[BillMonth]:
    """The rows of a SELECT whose columns are named as BillMonth's fields."""
    found = con.execute(f"{select} GROUP BY ALL ORDER BY ALL")
    names = [name for name, *_ in found.description]
    return [BillMonth(**dict(zip(names, row, strict=True))) for row in found.fetchall()]


def claimable(con: duckdb.DuckDBPyConnection, relation: str, used: str, resources: str, where: str) -> dict[str, list[str]]:
    """By month of the column `used`: short hashes of the resources, as listed, of the rows that run records can claim."""
    rows = con.execute(
        f"""
        SELECT usage_month, list_sort(list_distinct(list({short_hash("resource")})))
        FROM (SELECT strftime({used}, '%Y-%m') AS usage_month, unnest([{resources}]) AS resource FROM {relation} WHERE {where})
        WHERE resource <> '' GROUP BY usage_month ORDER BY usage_month
        """
    ).fetchall()
    return dict(rows)
