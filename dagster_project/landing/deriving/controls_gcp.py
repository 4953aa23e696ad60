"""Control totals of Google Cloud's exports. Written apart from the models they are held against.

A partition of the bill is a day and holds use of any month: its totals say which. Billed cost is cost and every credit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dagster_project.landing.deriving.contents import BillMonth, Controls
from dagster_project.landing.deriving.exact_sql import MONEY, exact
from dagster_project.landing.deriving.model_versions import highest_version
from dagster_project.landing.deriving.typed_select import short_hash

if TYPE_CHECKING:
    import duckdb

    from connectors.formats.schema import Schema

# supersets of the rows that run records can claim, whatever time they are of
ACCELERATOR_SKU = r"tpu|gpu|nvidia|^dws"
JOB_RESOURCE = r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+"


def bill_controls(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """Totals per billing account, usage month and currency, and the resources that run records may name."""
    total = f"coalesce(sum(coalesce({exact('cost')}, 0) + coalesce({exact('credit_amount')}, 0)), 0)"
    months = con.execute(
        f"""
        SELECT billing_account_id, strftime(usage_start_time, '%Y-%m'), coalesce(currency, ''),
            count(*) FILTER (part = 'line'), CAST({total} AS DECIMAL(38, {MONEY})),
            max(invoice_month) FILTER (regexp_full_match(invoice_month, '[0-9]{{4}}(0[1-9]|1[0-2])'))
        FROM {relation} GROUP BY ALL ORDER BY ALL
        """
    ).fetchall()
    return Controls(
        payers=sorted({row[0] for row in months}),
        months=[
            BillMonth(
                payer_account_id=payer, usage_month=month, currency=currency, line_count=count, billed_cost=f"{cost:f}",
                invoice_month=invoice and f"{invoice[:4]}-{invoice[4:]}",
            )
            for payer, month, currency, count, cost, invoice in months
        ],
        claimable_resources=_claimable(con, relation),
    )  # fmt: skip


def _claimable(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, list[str]]:
    """A resource has two names and a job a third. A row that crosses a month's end may be held by a run of the month after."""
    rows = con.execute(
        f"""
        SELECT usage_month, list_sort(list_distinct(list({short_hash("resource")})))
        FROM (
            SELECT strftime(usage_start_time, '%Y-%m') AS usage_month,
                unnest([
                    resource_name, regexp_extract(resource_global_name, '([^/]+)$', 1),
                    regexp_extract(resource_global_name, '{JOB_RESOURCE}'), regexp_extract(resource_name, '{JOB_RESOURCE}')
                ]) AS resource
            FROM {relation}
            WHERE regexp_matches(lower(sku_description), '{ACCELERATOR_SKU}')
                OR regexp_matches(resource_name, '{JOB_RESOURCE}') OR regexp_matches(resource_global_name, '{JOB_RESOURCE}')
                OR date_trunc('month', usage_end_time - INTERVAL 1 MICROSECOND) > date_trunc('month', usage_start_time)
        )
        WHERE resource <> '' GROUP BY usage_month ORDER BY usage_month
        """
    ).fetchall()
    return dict(rows)


def carbon_controls(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """The accounts of a month and the highest model version of each: rows name theirs, the partition does not."""
    found: dict[str, list[str]] = {}
    query = f"SELECT DISTINCT billing_account_id, coalesce(model_version, '') FROM {relation}"
    for payer, version in con.execute(query).fetchall():
        found.setdefault(payer, []).append(version)
    versions = {payer: highest_version(names) for payer, names in sorted(found.items())}
    return Controls(payers=sorted(versions), payer_versions=versions, model_version=highest_version(versions.values()) or None)
