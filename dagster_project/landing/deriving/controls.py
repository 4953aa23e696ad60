"""Control totals and keys of a generation, taken from its landed Parquet by one SQL text per kind.

Money is summed exactly. What election and fingerprints need later (payers, months, capacity blocks, run windows) is written
down here once, so that a refresh without news opens no Parquet. The accounting itself is dbt's; the billed total is the
independent sum it is held against.
"""

from collections.abc import Callable
from typing import Any

import duckdb

from connectors.formats.schema import Schema
from dagster_project.kinds import Kind
from dagster_project.landing.deriving.contents import BillMonth, Commitment, Controls, Figures, highest_version
from dagster_project.landing.deriving.controls_runs import run_controls, sample_controls
from dagster_project.landing.deriving.exact_sql import MONEY, exact
from dagster_project.landing.deriving.typed_select import row_hash

BLOCK_RESOURCE = r"capacity-reservation|(^|/)cr-[0-9a-z]+$"
JOB_RESOURCE = r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+"


def row_digest(con: duckdb.DuckDBPyConnection, relation: str, schema: Schema) -> str:
    """Equal for equal rows in any order and any files: their number, a sum and an exclusive or of two hashes."""
    return con.execute(f"SELECT {_digest(schema)} FROM {relation}").fetchall()[0][0]


def _digest(schema: Schema) -> str:
    total = f"coalesce(sum(CAST({row_hash(schema)} AS HUGEINT)), 0)"
    return f"sha256(concat_ws(':', count(*), {total}, coalesce(bit_xor({row_hash(schema, 'second')}), 0)))"


def _bill_months(con: duckdb.DuckDBPyConnection, select: str) -> list[BillMonth]:
    """The rows of a SELECT whose columns are named as BillMonth's fields."""
    found = con.execute(f"{select} GROUP BY ALL ORDER BY ALL")
    names = [name for name, *_ in found.description]
    return [BillMonth(**dict(zip(names, row, strict=True))) for row in found.fetchall()]


def _managed_jobs(con: duckdb.DuckDBPyConnection, relation: str, used: str, jobs: str) -> dict[str, list[str]]:
    """By month of the column `used`: managed jobs among these expressions, null or '' where a row is of none."""
    rows = con.execute(
        f"""
        SELECT usage_month, list_sort(list_distinct(list(job)))
        FROM (SELECT strftime({used}, '%Y-%m') AS usage_month, unnest([{jobs}]) AS job FROM {relation})
        WHERE job <> '' GROUP BY usage_month ORDER BY usage_month
        """
    ).fetchall()
    return dict(rows)


def _aws_cur(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    cost = f"coalesce({exact('line_item_net_unblended_cost')}, {exact('line_item_unblended_cost')})"
    months = _bill_months(
        con,
        f"""
        SELECT bill_payer_account_id AS payer_account_id, strftime(line_item_usage_start_date, '%Y-%m') AS usage_month,
            coalesce(line_item_currency_code, '') AS currency, count(*) AS line_count,
            CAST(CAST(coalesce(sum({cost}), 0) AS DECIMAL(38, {MONEY})) AS VARCHAR) AS billed_cost,
            count(*) FILTER (WHERE coalesce(bill_invoice_id, '') = '') AS uninvoiced_lines
        FROM {relation}
        """,
    )
    job = "CASE WHEN contains(line_item_resource_id, ':training-job/') THEN line_item_resource_id END"
    return Controls(
        payers=sorted({month.payer_account_id for month in months}),
        months=months,
        commitments=_capacity_blocks(con, relation, schema),
        managed_jobs=_managed_jobs(con, relation, used="line_item_usage_start_date", jobs=job),
    )


def _capacity_blocks(con: duckdb.DuckDBPyConnection, relation: str, schema: Schema) -> list[Commitment]:
    rows = con.execute(
        f"""
        SELECT commitment_id, strftime(min(line_item_usage_start_date), '%Y-%m'), {_digest(schema)}
        FROM (
            SELECT *, unnest(list_distinct([
                CASE WHEN line_item_usage_type LIKE '%CapacityBlockFee%' THEN reservation_reservation_a_r_n END,
                capacity_reservation_capacity_reservation_arn,
                CASE WHEN regexp_matches(line_item_resource_id, '{BLOCK_RESOURCE}') THEN line_item_resource_id END
            ])) AS commitment_id
            FROM {relation}
        )
        WHERE commitment_id <> '' GROUP BY commitment_id ORDER BY commitment_id
        """
    ).fetchall()
    return [Commitment(commitment_id=name, first_month=month, digest=digest) for name, month, digest in rows]


def _aws_carbon(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    payers = con.execute(f"SELECT DISTINCT payer_account_id FROM {relation} WHERE payer_account_id <> '' ORDER BY 1").fetchall()
    return Controls(payers=[payer for (payer,) in payers], model_version=partition.partition("@")[2] or None)


def _gcp_billing(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """A partition of the bill is a day and holds use of any month: its totals say which. Billed cost is cost and every credit."""
    total = f"coalesce(sum(coalesce({exact('cost')}, 0) + coalesce({exact('credit_amount')}, 0)), 0)"
    months = _bill_months(
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
        managed_jobs=_managed_jobs(
            con,
            relation,
            used="usage_start_time",
            jobs=", ".join(f"regexp_extract({name}, '{JOB_RESOURCE}')" for name in ("resource_global_name", "resource_name")),
        ),
    )


def _gcp_carbon(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """The accounts of a month and the highest model version of each: rows name theirs, the partition does not."""
    found: dict[str, list[str]] = {}
    query = f"SELECT DISTINCT billing_account_id, coalesce(model_version, '') FROM {relation}"
    for payer, version in con.execute(query).fetchall():
        found.setdefault(payer, []).append(version)
    versions = {payer: highest_version(names) for payer, names in sorted(found.items())}
    return Controls(payers=sorted(versions), payer_versions=versions, model_version=highest_version(versions.values()) or None)


def _fx_rates(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """A rate converts the month in whose last eight days it lies; one of the first days of a month converts none."""
    rows = con.execute(
        f"""
        SELECT strftime(rate_date, '%Y-%m') AS usage_month, {_digest(schema)}
        FROM {relation} WHERE rate_date >= last_day(rate_date) - 7 GROUP BY usage_month ORDER BY usage_month
        """
    ).fetchall()
    return Controls(rate_months=dict(rows))


def _user_inputs(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """From which month on the organisation's own figures count, and the runs they name."""
    rows = con.execute(
        f"""
        SELECT coalesce(strftime(valid_from, '%Y-%m'), '') AS first_month, kind = 'measured_energy' AS is_of_one_month,
            {_digest(schema)}
        FROM {relation} GROUP BY first_month, is_of_one_month ORDER BY first_month, is_of_one_month
        """
    ).fetchall()
    named = f"SELECT DISTINCT CASE WHEN kind = 'measured_energy' THEN key ELSE training_run_id END AS run FROM {relation}"
    runs = con.execute(f"SELECT run FROM ({named}) WHERE run <> '' ORDER BY run").fetchall()
    figures = [Figures(first_month=month, is_of_one_month=is_of_one, digest=digest) for month, is_of_one, digest in rows]
    return Controls(figures=figures, figure_runs=[run for (run,) in runs])


CONTROLS: dict[Kind, Callable[[Any, str, str, Any], Controls]] = {
    Kind.AWS_CUR: _aws_cur,
    Kind.AWS_CARBON: _aws_carbon,
    Kind.GCP_BILLING: _gcp_billing,
    Kind.GCP_CARBON: _gcp_carbon,
    Kind.TRAINING_RUNS: run_controls,
    Kind.NEURON_MONITOR: sample_controls,
    Kind.TPU_MONITORING: sample_controls,
    Kind.FX_RATES: _fx_rates,
    Kind.USER_INPUTS: _user_inputs,
}
