"""Control totals of Google Cloud's exports. Written apart from the models they are held against.

A partition of the bill is a day and holds use of any month: its totals say which. Billed cost is cost and every credit.
"""

from __future__ import annotations

import duckdb

from connectors.formats.schema import Schema
from dagster_project.landing.deriving.contents import Controls
from dagster_project.landing.deriving.controls_bills import bill_months, claimable
from dagster_project.landing.deriving.exact_sql import MONEY, exact
from dagster_project.landing.deriving.model_versions import highest_version

# supersets of the rows that run records can claim, whatever time they are of
ACCELERATOR_SKU = r"tpu|gpu|nvidia|^dws"
JOB_RESOURCE = r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+"


def bill_controls(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """Totals per billing account, usage month and currency, and the resources that run records may name."""
    total = f"coalesce(sum(coalesce({exact('cost')}, 0) + coalesce({exact('credit_amount')}, 0)), 0)"
    months = bill_months(
        con,
        f"""
        SELECT billing_account_id AS payer_account_id, strftime(usage_start_time, '%Y-%m') AS usage_month,
            coalesce(currency, '') AS currency, count(*) FILTER (part = 'line') AS line_count,
            CAST(CAST({total} AS DECIMAL(38, {MONEY})) AS VARCHAR) AS billed_cost,
            max(left(invoice_month, 4) || '-' || right(invoice_month, 2))
                FILTER (regexp_full_match(invoice_month, '[0-9]{{4}}(0[1-9]|1[0-2])')) AS invoice_month
        FROM {relation}
        """,
    )
    return Controls(
        payers=sorted({month.payer_account_id for month in months}),
        months=months,
        claimable_resources=claimable(
            con,
            relation,
            used="usage_start_time",
            # a resource has two names and a job a third
            resources=f"""resource_name, regexp_extract(resource_global_name, '([^/]+)$', 1),
                regexp_extract(resource_global_name, '{JOB_RESOURCE}'), regexp_extract(resource_name, '{JOB_RESOURCE}')""",
            # a row that crosses a month's end may be held by a run of the month after
            where=f"""regexp_matches(lower(sku_description), '{ACCELERATOR_SKU}')
                OR regexp_matches(resource_name, '{JOB_RESOURCE}') OR regexp_matches(resource_global_name, '{JOB_RESOURCE}')
                OR date_trunc('month', usage_end_time - INTERVAL 1 MICROSECOND) > date_trunc('month', usage_start_time)""",
        ),
    )


def carbon_controls(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """The accounts of a month and the highest model version of each: rows name theirs, the partition does not."""
    found: dict[str, list[str]] = {}
    query = f"SELECT DISTINCT billing_account_id, coalesce(model_version, '') FROM {relation}"
    for payer, version in con.execute(query).fetchall():
        found.setdefault(payer, []).append(version)
    versions = {payer: highest_version(names) for payer, names in sorted(found.items())}
    return Controls(payers=sorted(versions), payer_versions=versions, model_version=highest_version(versions.values()) or None)
