"""Control totals and keys of a generation, asked of the groups that its landed Parquet was read into.

Money is summed exactly. What election and fingerprints need later (payers, months, capacity blocks, run windows) is written
down here once, so that a refresh without news opens no Parquet. The accounting itself is dbt's; the billed total is the
independent sum it is held against.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb

from dagster_project.kinds import Kind
from dagster_project.landing.deriving.contents import BillMonth, Commitment, Controls, highest_version
from dagster_project.landing.deriving.controls_runs import (
    RUN_KEYS,
    SAMPLE_KEYS,
    USER_KEYS,
    run_controls,
    sample_controls,
    user_controls,
)
from dagster_project.landing.deriving.exact_sql import MONEY, exact_sums, exact_total
from dagster_project.landing.deriving.one_reading import DIGEST, GROUPS, Asked

BLOCK_RESOURCE = r"capacity-reservation|(^|/)cr-[0-9a-z]+$"
JOB_RESOURCE = r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+"
USAGE_MONTH = "strftime(usage_month, '%Y-%m')"  # the key is a time: it is written as text once per group, not per row
Read = Callable[[duckdb.DuckDBPyConnection, str], Controls]  # of GROUPS and a partition


@dataclass(frozen=True, slots=True)
class KindControls:
    """What a kind's rows are grouped by, and what is then read off the groups."""

    asked: Asked
    read: Read


def _bill_months(con: duckdb.DuckDBPyConnection, costs: Sequence[str], more: str) -> list[BillMonth]:
    """The groups by payer, month and currency; `costs` are what is billed, `more` further columns, as BillMonth names them."""
    billed = " + ".join(f"coalesce({exact_total(name, MONEY)}, 0)" for name in costs)
    found = con.execute(
        f"""
        SELECT payer_account_id, {USAGE_MONTH} AS usage_month, currency, CAST(sum(line_count) AS BIGINT) AS line_count,
            CAST(CAST({billed} AS DECIMAL(38, {MONEY})) AS VARCHAR) AS billed_cost, {more}
        FROM {GROUPS} GROUP BY ALL ORDER BY ALL
        """
    )
    names = [name for name, *_ in found.description]
    return [BillMonth(**dict(zip(names, row, strict=True))) for row in found.fetchall()]


def _managed_jobs(con: duckdb.DuckDBPyConnection, *jobs: str) -> dict[str, list[str]]:
    """By month: managed jobs among these keys, null or '' where a row is of none."""
    rows = con.execute(
        f"""
        SELECT {USAGE_MONTH} AS month, list_sort(list_distinct(list(job)))
        FROM (SELECT usage_month, unnest([{", ".join(jobs)}]) AS job FROM {GROUPS})
        WHERE job <> '' GROUP BY month ORDER BY month
        """
    ).fetchall()
    return dict(rows)


# the engine asks `contains` once per distinct text of a column, and an expression once per row
_IS_BLOCK = "contains(line_item_resource_id, 'capacity-reservation') OR contains(line_item_resource_id, 'cr-')"
_NET = "line_item_net_unblended_cost", "line_item_net_unblended_cost__text"
_HAS_NET = " OR ".join(f"{name} IS NOT NULL" for name in _NET)
AWS_CUR = Asked(
    values={
        "billed": f"CASE WHEN {_HAS_NET} THEN {_NET[0]} ELSE line_item_unblended_cost END",
        "billed__text": f"CASE WHEN {_HAS_NET} THEN {_NET[1]} ELSE line_item_unblended_cost__text END",
    },
    keys={
        "payer_account_id": "bill_payer_account_id",
        "usage_month": "date_trunc('month', line_item_usage_start_date)",
        "currency": "coalesce(line_item_currency_code, '')",
        "fee_block": "CASE WHEN line_item_usage_type LIKE '%CapacityBlockFee%' THEN reservation_reservation_a_r_n END",
        "used_block": "capacity_reservation_capacity_reservation_arn",
        "named_block": f"CASE WHEN {_IS_BLOCK} THEN "
        f"CASE WHEN regexp_matches(line_item_resource_id, '{BLOCK_RESOURCE}') THEN line_item_resource_id END END",
        "job": "CASE WHEN contains(line_item_resource_id, ':training-job/') THEN line_item_resource_id END",
    },
    sums={
        "line_count": "count(*)",
        **exact_sums("billed", "billed", "billed__text", MONEY),
        "uninvoiced_lines": "count(*) FILTER (coalesce(bill_invoice_id, '') = '')",
    },
)


def _aws_cur(con: duckdb.DuckDBPyConnection, partition: str) -> Controls:
    months = _bill_months(con, ["billed"], "CAST(sum(uninvoiced_lines) AS BIGINT) AS uninvoiced_lines")
    return Controls(
        payers=sorted({month.payer_account_id for month in months}),
        months=months,
        commitments=_capacity_blocks(con),
        managed_jobs=_managed_jobs(con, "job"),
    )


def _capacity_blocks(con: duckdb.DuckDBPyConnection) -> list[Commitment]:
    rows = con.execute(
        f"""
        SELECT commitment_id, strftime(min(usage_month), '%Y-%m'), {DIGEST}
        FROM (SELECT *, unnest(list_distinct([fee_block, used_block, named_block])) AS commitment_id FROM {GROUPS})
        WHERE commitment_id <> '' GROUP BY commitment_id ORDER BY commitment_id
        """
    ).fetchall()
    return [Commitment(commitment_id=name, first_month=month, digest=digest) for name, month, digest in rows]


AWS_CARBON = Asked(keys={"payer_account_id": "payer_account_id"})


def _aws_carbon(con: duckdb.DuckDBPyConnection, partition: str) -> Controls:
    query = f"SELECT DISTINCT payer_account_id FROM {GROUPS} WHERE payer_account_id <> '' ORDER BY 1"
    payers = con.execute(query).fetchall()
    return Controls(payers=[payer for (payer,) in payers], model_version=partition.partition("@")[2] or None)


def _job_of(column: str) -> str:
    return f"CASE WHEN contains({column}, '/customJobs/') THEN regexp_extract({column}, '{JOB_RESOURCE}') END"


GCP_BILLING = Asked(
    keys={
        "payer_account_id": "billing_account_id",
        "usage_month": "date_trunc('month', usage_start_time)",
        "currency": "coalesce(currency, '')",
        "invoice": "invoice_month",
        "job": _job_of("resource_global_name"),
        "named_job": _job_of("resource_name"),
    },
    sums={
        "line_count": "count(*) FILTER (part = 'line')",
        **exact_sums("billed", "cost", "cost__text", MONEY),
        **exact_sums("credited", "credit_amount", "credit_amount__text", MONEY),
    },
)


def _gcp_billing(con: duckdb.DuckDBPyConnection, partition: str) -> Controls:
    """A partition of the bill is a day and holds use of any month: its totals say which. Billed cost is cost and every credit."""
    months = _bill_months(
        con,
        ["billed", "credited"],
        """max(left(invoice, 4) || '-' || right(invoice, 2))
        FILTER (regexp_full_match(invoice, '[0-9]{4}(0[1-9]|1[0-2])')) AS invoice_month""",
    )
    return Controls(
        payers=sorted({month.payer_account_id for month in months}),
        months=months,
        managed_jobs=_managed_jobs(con, "job", "named_job"),
    )


GCP_CARBON = Asked(keys={"payer_account_id": "billing_account_id", "model_version": "coalesce(model_version, '')"})


def _gcp_carbon(con: duckdb.DuckDBPyConnection, partition: str) -> Controls:
    """The accounts of a month and the highest model version of each: rows name theirs, the partition does not."""
    found: dict[str, list[str]] = {}
    query = f"SELECT DISTINCT payer_account_id, model_version FROM {GROUPS}"
    for payer, version in con.execute(query).fetchall():
        found.setdefault(payer, []).append(version)
    versions = {payer: highest_version(names) for payer, names in sorted(found.items())}
    return Controls(payers=sorted(versions), payer_versions=versions, model_version=highest_version(versions.values()) or None)


FX_RATES = Asked(keys={"converted_month": "CASE WHEN rate_date >= last_day(rate_date) - 7 THEN strftime(rate_date, '%Y-%m') END"})


def _fx_rates(con: duckdb.DuckDBPyConnection, partition: str) -> Controls:
    """A rate converts the month in whose last eight days it lies; one of the first days of a month converts none."""
    query = f"SELECT converted_month, {DIGEST} FROM {GROUPS} WHERE converted_month IS NOT NULL GROUP BY 1 ORDER BY 1"
    return Controls(rate_months=dict(con.execute(query).fetchall()))


CONTROLS: dict[Kind, KindControls] = {
    Kind.AWS_CUR: KindControls(AWS_CUR, _aws_cur),
    Kind.AWS_CARBON: KindControls(AWS_CARBON, _aws_carbon),
    Kind.GCP_BILLING: KindControls(GCP_BILLING, _gcp_billing),
    Kind.GCP_CARBON: KindControls(GCP_CARBON, _gcp_carbon),
    Kind.TRAINING_RUNS: KindControls(RUN_KEYS, run_controls),
    Kind.NEURON_MONITOR: KindControls(SAMPLE_KEYS, sample_controls),
    Kind.TPU_MONITORING: KindControls(SAMPLE_KEYS, sample_controls),
    Kind.FX_RATES: KindControls(FX_RATES, _fx_rates),
    Kind.USER_INPUTS: KindControls(USER_KEYS, user_controls),
}
