"""Control totals and keys of generations, asked of the groups that their landed Parquet was read into.

Money is summed exactly. What election and fingerprints need later (payers, months, capacity blocks, run windows) is written
down here once, so that a refresh without news opens no Parquet. The accounting itself is dbt's; the billed total is the
independent sum it is held against.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from dagster_project.base.kinds import KINDS, Kind
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
from dagster_project.landing.deriving.one_reading import DIGEST, GROUPS, Asked, by_delivery

BLOCK_RESOURCE = r"capacity-reservation|(^|/)cr-[0-9a-z]+$"
JOB_RESOURCE = r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+"
USAGE_MONTH = "strftime(usage_month, '%Y-%m')"  # the key is a time: it is written as text once per group, not per row
Read = Callable[[duckdb.DuckDBPyConnection, Sequence[str]], list[Controls]]  # of GROUPS and the partition of each delivery


@dataclass(frozen=True, slots=True)
class KindControls:
    """What a kind's rows are grouped by, and what is then read off the groups."""

    asked: Asked
    read: Read


def _bill_months(
    con: duckdb.DuckDBPyConnection, costs: Sequence[str], more: Mapping[str, str]
) -> defaultdict[int, list[BillMonth]]:
    """By delivery: the groups by payer, month and currency; `costs` are what is billed, `more` further fields of a BillMonth."""
    billed = " + ".join(f"coalesce({exact_total(name, MONEY)}, 0)" for name in costs)
    found = by_delivery(
        con,
        f"""
        SELECT delivery, payer_account_id, {USAGE_MONTH} AS usage_month, currency, CAST(sum(line_count) AS BIGINT),
            CAST(CAST({billed} AS DECIMAL(38, {MONEY})) AS VARCHAR), {", ".join(more.values())}
        FROM {GROUPS} GROUP BY ALL ORDER BY ALL
        """,
    )
    names = ("payer_account_id", "usage_month", "currency", "line_count", "billed_cost", *more)
    months = {place: [BillMonth(**dict(zip(names, row, strict=True))) for row in rows] for place, rows in found.items()}
    return defaultdict(list, months)


def _managed_jobs(con: duckdb.DuckDBPyConnection, *jobs: str) -> defaultdict[int, list[tuple[Any, ...]]]:
    """By delivery: months and the managed jobs among these keys, null or '' where a row is of none."""
    return by_delivery(
        con,
        f"""
        SELECT delivery, {USAGE_MONTH} AS month, list_sort(list_distinct(list(job)))
        FROM (SELECT delivery, usage_month, unnest([{", ".join(jobs)}]) AS job FROM {GROUPS})
        WHERE job <> '' GROUP BY delivery, month ORDER BY month
        """,
    )


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


def _aws_cur(con: duckdb.DuckDBPyConnection, partitions: Sequence[str]) -> list[Controls]:
    months = _bill_months(con, ["billed"], {"uninvoiced_lines": "CAST(sum(uninvoiced_lines) AS BIGINT)"})
    blocks, jobs = _capacity_blocks(con), _managed_jobs(con, "job")
    return [
        Controls(
            payers=sorted({month.payer_account_id for month in months[place]}),
            months=months[place],
            commitments=[
                Commitment(commitment_id=name, first_month=month, digest=digest) for name, month, digest in blocks[place]
            ],
            managed_jobs=dict(jobs[place]),
        )
        for place in range(len(partitions))
    ]


def _capacity_blocks(con: duckdb.DuckDBPyConnection) -> defaultdict[int, list[tuple[Any, ...]]]:
    return by_delivery(
        con,
        f"""
        SELECT delivery, commitment_id, strftime(min(usage_month), '%Y-%m'), {DIGEST}
        FROM (SELECT *, unnest(list_distinct([fee_block, used_block, named_block])) AS commitment_id FROM {GROUPS})
        WHERE commitment_id <> '' GROUP BY delivery, commitment_id ORDER BY commitment_id
        """,
    )


AWS_CARBON = Asked(keys={"payer_account_id": "payer_account_id"})


def _aws_carbon(con: duckdb.DuckDBPyConnection, partitions: Sequence[str]) -> list[Controls]:
    query = f"SELECT DISTINCT delivery, payer_account_id FROM {GROUPS} WHERE payer_account_id <> '' ORDER BY ALL"
    payers = by_delivery(con, query)
    return [
        Controls(payers=[payer for (payer,) in payers[place]], model_version=partition.partition("@")[2] or None)
        for place, partition in enumerate(partitions)
    ]


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
        "pipeline": "labels['vertex-ai-pipelines-run-billing-id']",
        "workload": "labels['k8s-workload-name']",
        "jobset": "labels['k8s-label/jobset.sigs.k8s.io/jobset-name']",
    },
    sums={
        "line_count": "count(*) FILTER (part = 'line')",
        **exact_sums("billed", "cost", "cost__text", MONEY),
        **exact_sums("credited", "credit_amount", "credit_amount__text", MONEY),
    },
)


def _gcp_billing(con: duckdb.DuckDBPyConnection, partitions: Sequence[str]) -> list[Controls]:
    """A partition of the bill is a day and holds use of any month: its totals say which. Billed cost is cost and every credit."""
    invoice = """max(left(invoice, 4) || '-' || right(invoice, 2))
        FILTER (regexp_full_match(invoice, '[0-9]{4}(0[1-9]|1[0-2])'))"""
    months = _bill_months(con, ["billed", "credited"], {"invoice_month": invoice})
    jobs = _managed_jobs(con, "job", "named_job", "pipeline", "workload", "jobset")
    return [
        Controls(
            payers=sorted({month.payer_account_id for month in months[place]}),
            months=months[place],
            managed_jobs=dict(jobs[place]),
        )
        for place in range(len(partitions))
    ]


GCP_FOCUS = Asked(
    keys=GCP_BILLING.keys,
    sums={
        "line_count": GCP_BILLING.sums["line_count"],
        **exact_sums("billed", "billed_cost", "billed_cost__text", MONEY),
        **exact_sums("credited", "CAST(NULL AS DOUBLE)", "CAST(NULL AS VARCHAR)", MONEY),  # they are in billed_cost
    },
)
GCP_CARBON = Asked(keys={"payer_account_id": "billing_account_id", "model_version": "coalesce(model_version, '')"})


def _gcp_carbon(con: duckdb.DuckDBPyConnection, partitions: Sequence[str]) -> list[Controls]:
    """The accounts of a month and the highest model version of each: rows name theirs, the partition does not."""
    found = by_delivery(con, f"SELECT DISTINCT delivery, payer_account_id, model_version FROM {GROUPS}")
    return [_carbon_versions(found[place]) for place in range(len(partitions))]


def _carbon_versions(rows: list[tuple[Any, ...]]) -> Controls:
    found: dict[str, list[str]] = {}
    for payer, version in rows:
        found.setdefault(payer, []).append(version)
    versions = {payer: highest_version(names) for payer, names in sorted(found.items())}
    return Controls(payers=sorted(versions), payer_versions=versions, model_version=highest_version(versions.values()) or None)


FX_RATES = Asked(keys={"converted_month": "CASE WHEN rate_date >= last_day(rate_date) - 7 THEN strftime(rate_date, '%Y-%m') END"})


def _fx_rates(con: duckdb.DuckDBPyConnection, partitions: Sequence[str]) -> list[Controls]:
    """A rate converts the month in whose last eight days it lies; one of the first days of a month converts none."""
    query = f"SELECT delivery, converted_month, {DIGEST} FROM {GROUPS} WHERE converted_month IS NOT NULL GROUP BY 1, 2 ORDER BY 2"
    rates = by_delivery(con, query)
    return [Controls(rate_months=dict(rates[place])) for place in range(len(partitions))]


# records of runs and samples have one shape each, whatever their kind; bills, carbon and inputs are of their kind's own
BY_FACT = {"runs": KindControls(RUN_KEYS, run_controls), "telemetry": KindControls(SAMPLE_KEYS, sample_controls)}
BY_KIND = {
    "aws_cur": KindControls(AWS_CUR, _aws_cur),
    "aws_carbon": KindControls(AWS_CARBON, _aws_carbon),
    "gcp_billing": KindControls(GCP_BILLING, _gcp_billing),
    "gcp_focus": KindControls(GCP_FOCUS, _gcp_billing),
    "gcp_carbon": KindControls(GCP_CARBON, _gcp_carbon),
    "fx_rates": KindControls(FX_RATES, _fx_rates),
    "user_inputs": KindControls(USER_KEYS, user_controls),
}


def controls_of(kind: Kind) -> KindControls:
    """The controls of a kind's deliveries."""
    return BY_FACT.get(KINDS[kind].fact) or BY_KIND[kind]
