"""Control totals and keys of generations, asked of the groups that their landed Parquet was read into.

Money is summed exactly. What election and fingerprints need later (payers, months, capacity blocks, run windows) is written
down here once, so that a refresh without news opens no Parquet. The accounting itself is dbt's; the billed total is the
independent sum it is held against.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from msgspec import structs

from dagster_project.base.kinds import KINDS, Kind
from dagster_project.base.months import months_touched
from dagster_project.landing.deriving.contents import PLANS, BillMonth, Commitment, Controls, Figures, highest_version
from dagster_project.landing.deriving.exact_sql import MONEY, exact_sums, exact_total
from dagster_project.landing.deriving.one_reading import DIGEST, GROUPS, Asked

Rows = list[tuple[Any, ...]]
BLOCK_RESOURCE = r"capacity-reservation|(^|/)cr-[0-9a-z]+$"
JOB_RESOURCE = r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+"
USAGE_MONTH = "strftime(usage_month, '%Y-%m')"  # the key is a time: it is written as text once per group, not per row
BILL_MONTH = ("payer_account_id", "usage_month", "currency", "line_count", "billed_cost")


def _months_sql(costs: Sequence[str], more: str) -> str:
    """The groups by payer, month and currency; `costs` are what is billed, `more` is a further figure of a BillMonth."""
    billed = " + ".join(f"coalesce({exact_total(name, MONEY)}, 0)" for name in costs)
    return f"""
        SELECT delivery, payer_account_id, {USAGE_MONTH} AS usage_month, currency, CAST(sum(line_count) AS BIGINT),
            CAST(CAST({billed} AS DECIMAL(38, {MONEY})) AS VARCHAR), {more}
        FROM {GROUPS} GROUP BY ALL ORDER BY ALL
    """


def _jobs_sql(*jobs: str) -> str:
    """Months and the managed jobs among these keys, null or '' where a row is of none."""
    return f"""
        SELECT delivery, {USAGE_MONTH} AS month, list_sort(list_distinct(list(job)))
        FROM (SELECT delivery, usage_month, unnest([{", ".join(jobs)}]) AS job FROM {GROUPS})
        WHERE job <> '' GROUP BY delivery, month ORDER BY month
    """


def _bill(field: str, months: Rows, jobs: Rows, blocks: Rows) -> Controls:
    """The controls of a bill, whose months have one further figure."""
    totals = [BillMonth(**dict(zip((*BILL_MONTH, field), row, strict=True))) for row in months]
    return Controls(
        payers=sorted({month.payer_account_id for month in totals}),
        months=totals,
        commitments=[Commitment(commitment_id=name, first_month=month, digest=digest) for name, month, digest in blocks],
        managed_jobs=dict(jobs),
    )


_NET = "line_item_net_unblended_cost", "line_item_net_unblended_cost__text"
_HAS_NET = " OR ".join(f"{name} IS NOT NULL" for name in _NET)


def _named_block(resource: str) -> str:
    # the engine asks `contains` once per distinct text of a column, and an expression once per row
    is_block = f"contains({resource}, 'capacity-reservation') OR contains({resource}, 'cr-')"
    return f"CASE WHEN {is_block} THEN CASE WHEN regexp_matches({resource}, '{BLOCK_RESOURCE}') THEN {resource} END END"


def _of_plan(service: str, cost: str, *names: str) -> str:
    # a plan of SageMaker may have paid for whatever SageMaker bills at 0: its fee and these rows are taken together
    is_named = " OR ".join(f"contains({name}, ':{PLANS}/')" for name in names)
    is_of_plan = f"{is_named} OR ({service} = 'AmazonSageMaker' AND coalesce(TRY_CAST({cost}__text AS DOUBLE), {cost}) = 0)"
    return f"CASE WHEN {is_of_plan} THEN '{PLANS}' END"


def _training_job(resource: str) -> str:
    return f"CASE WHEN contains({resource}, ':training-job/') THEN {resource} END"


def _job_of(column: str) -> str:
    return f"CASE WHEN contains({column}, '/customJobs/') THEN regexp_extract({column}, '{JOB_RESOURCE}') END"


AWS_BILL = Asked(
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
        "named_block": _named_block("line_item_resource_id"),
        "plans": _of_plan(
            "line_item_product_code",
            "line_item_unblended_cost",
            "reservation_reservation_a_r_n",
            "capacity_reservation_capacity_reservation_arn",
            "line_item_resource_id",
        ),
        "job": _training_job("line_item_resource_id"),
    },
    sums={
        "line_count": "sum(coalesce(line_count, 1))",
        **exact_sums("billed", "billed", "billed__text", MONEY),
        "uninvoiced_lines": "coalesce(sum(coalesce(line_count, 1)) FILTER (coalesce(bill_invoice_id, '') = ''), 0)",
    },
    queries={
        "months": _months_sql(["billed"], "CAST(sum(uninvoiced_lines) AS BIGINT)"),
        "jobs": _jobs_sql("job"),
        "blocks": f"""
            SELECT delivery, commitment_id, strftime(min(usage_month), '%Y-%m'), {DIGEST}
            FROM (SELECT *, unnest(list_distinct([fee_block, used_block, named_block, plans])) AS commitment_id FROM {GROUPS})
            WHERE commitment_id <> '' GROUP BY delivery, commitment_id ORDER BY commitment_id
        """,
    },
    controls=lambda _, months, jobs, blocks: _bill("uninvoiced_lines", months, jobs, blocks),
)
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
        "line_count": "sum(coalesce(line_count, 1)) FILTER (part = 'line')",
        **exact_sums("billed", "cost", "cost__text", MONEY),
        **exact_sums("credited", "credit_amount", "credit_amount__text", MONEY),
    },
    # a partition of the bill is a day and holds use of any month: its totals say which. Billed cost is cost and every credit
    queries={
        "months": _months_sql(
            ["billed", "credited"],
            """max(left(invoice, 4) || '-' || right(invoice, 2))
                FILTER (regexp_full_match(invoice, '[0-9]{4}(0[1-9]|1[0-2])'))""",
        ),
        "jobs": _jobs_sql("job", "named_job", "pipeline", "workload", "jobset"),
    },
    controls=lambda _, months, jobs: _bill("invoice_month", months, jobs, []),
)


def _carbon_versions(_: str, rows: Rows) -> Controls:
    """The accounts of a month and the highest model version of each: rows name theirs, the partition does not."""
    found: dict[str, list[str]] = {}
    for payer, version in rows:
        found.setdefault(payer, []).append(version)
    versions = {payer: highest_version(names) for payer, names in sorted(found.items())}
    return Controls(payers=sorted(versions), payer_versions=versions, model_version=highest_version(versions.values()) or None)


def _aws_carbon(partition: str, rows: Rows) -> Controls:
    """The payers of a month, whose partition names its model version; of an answer of the API its rows do."""
    version = partition.partition("@")[2].partition("~")[0]
    if version == "api":
        return _carbon_versions("", rows)
    return Controls(payers=sorted({payer for payer, _ in rows}), model_version=version or None)


# of what speaks for runs, months and names say what is built again: always a superset of what SQL will use
# SQL finds what a gauge's point covers from the points of two days around it; a day more leaves no edge to think about
POINT_REACH = timedelta(days=3)
# and whether half a second lies between two samples, also on both sides of a month's end
SAMPLE_REACH = timedelta(seconds=1)
# and the models by day what lies around a sample of at most a minute, also on both sides of midnight
DAY_REACH = "INTERVAL 5 MINUTE"
_RUN_KEYS = ("recorded_id", "alias_id", "started_at", "ended_at", "record_system", "alias_system")
_ENDED = "(sample_end - INTERVAL 1 MICROSECOND)"


def _runs(_: str, rows: Rows) -> Controls:
    """Ids, aliases and months of run records."""
    # how far a run got says what was lost in any of its months, so a log is read with each of them: it has none of its own
    is_log = any(log for *_, log in rows)
    windows = [(start, end) for _, _, start, end, *_ in rows if start is not None and not is_log]
    return Controls(
        run_ids=sorted({name for name, *_ in rows}),
        run_aliases=sorted({alias for _, alias, *_ in rows if alias}),
        run_months=sorted({month for start, end in windows for month in months_touched(start, end or start)}),
        open_run_month=min((f"{start:%Y-%m}" for start, end in windows if end is None), default=None),
        last_run_month=max((f"{end:%Y-%m}" for _, _, _, end, *_ in rows if end is not None and not is_log), default=None),
        run_clusters=_clusters(rows),
    )


def _clusters(rows: Rows) -> dict[str, str]:
    """Clusters, as `system cluster`, with the first month of their jobs; stg_training_runs__clusters is the same in SQL."""
    named: dict[tuple[str, str], str] = {}
    begun: dict[tuple[str, str], str] = {}
    for recorded_id, alias, start, _, system, alias_system, _ in rows:
        record = system, recorded_id
        by = (alias_system or "").lower()
        is_workload = by == "kubernetes" and system in ("kubernetes", "hyperpod") and alias.count("/") > 1
        if is_workload or (by == "slurm" and "/" in alias):
            name = f"{by} {alias.partition('/')[0] if is_workload else alias.rpartition('/')[0]}"
            named[record] = min(name, named.get(record, name))
        if start is not None:
            month = f"{start:%Y-%m}"
            begun[record] = min(month, begun.get(record, month))
    found: dict[str, str] = {}
    for record in named.keys() & begun.keys():
        found[named[record]] = min(begun[record], found.get(named[record], begun[record]))
    return found


RUNS = Asked(
    {**dict(zip(_RUN_KEYS, _RUN_KEYS, strict=True)), "is_log": "part = 'progress' AND record_system <> 'run_json'"},
    {"rows": f"SELECT DISTINCT delivery, {', '.join(_RUN_KEYS)}, is_log FROM {GROUPS}"},
    _runs,
)


def _samples(_: str, spans: Rows, named: Rows) -> Controls:
    """Months that samples lie in and reach, and the runs and hosts they name."""
    last = timedelta(days=1)  # days are whole
    reached = [(start, end, POINT_REACH if is_point else SAMPLE_REACH) for start, end, is_point in spans]
    return Controls(
        sample_months=sorted({month for start, end, _ in spans for month in months_touched(start, end + last)}),
        reached_months=sorted(
            {month for start, end, reach in reached for month in months_touched(start - reach, end + last + reach)}
        ),
        sample_runs=sorted({run for run, _ in named} - {""}),
        sample_hosts=sorted({host for _, host in named} - {""}),
    )


SAMPLES = Asked(
    {
        "first_day": f"CAST(CAST(least(coalesce(sample_start, {_ENDED}), {_ENDED}) AS DATE) AS TIMESTAMP)",
        "last_day": f"CAST(CAST({_ENDED} AS DATE) AS TIMESTAMP)",
        "is_point": "sample_start IS NULL",
        "run": "coalesce(run_key, '')",
        "host": "coalesce(host_id, '')",
    },
    {
        "spans": f"SELECT DISTINCT delivery, first_day, last_day, is_point FROM {GROUPS}",
        "named": f"SELECT DISTINCT delivery, run, host FROM {GROUPS}",
    },
    _samples,
)


def _samples_by_day(_: str, spans: Rows, named: Rows, days: Rows) -> Controls:
    """The same, and the days that samples reach: from a little before they begin to a little after they end."""
    one = timedelta(days=1)
    reached = {f"{first + number * one:%Y-%m-%d}" for first, last in days for number in range((last - first).days + 1)}
    # a month's first points cover the spacing since the last ones before it, which are read with its first day
    for end in [end for _, end, is_point in spans if is_point]:
        reached |= {f"{month}-01" for month in months_touched(end, end + one + POINT_REACH) if month > f"{end:%Y-%m}"}
    return structs.replace(_samples(_, spans, named), reached_days=sorted(reached))


SAMPLES_BY_DAY = replace(
    SAMPLES,
    keys={
        **SAMPLES.keys,
        "first_reached": f"CAST(least(coalesce(sample_start, {_ENDED}), {_ENDED}) - {DAY_REACH} AS DATE)",
        "last_reached": f"CAST(sample_end + {DAY_REACH} AS DATE)",
    },
    queries={
        **SAMPLES.queries,
        "days": f"SELECT DISTINCT delivery, first_reached, last_reached FROM {GROUPS} WHERE first_reached IS NOT NULL",
    },
    controls=_samples_by_day,
)


def _figures(_: str, figures: Rows, named: Rows) -> Controls:
    """From which month on the organisation's own figures count, and the runs they name."""
    return Controls(
        figures=[Figures(first_month=month, is_of_one_month=one, digest=digest) for month, one, digest in figures],
        figure_runs=[run for (run,) in named],
    )


# records of runs and samples have one shape each, whatever their kind; samples that are built by day have their days as well, and
# bills, carbon and inputs are of their kind's own
BY_FACT = {"runs": RUNS, "telemetry": SAMPLES}
BY_KIND = {
    "aws_cur": AWS_BILL,
    "aws_focus": replace(
        AWS_BILL,
        values={},
        keys={
            "payer_account_id": "BillingAccountId",
            "usage_month": "date_trunc('month', ChargePeriodStart)",
            "currency": "coalesce(BillingCurrency, '')",
            "fee_block": "CASE WHEN coalesce(x_UsageType, SkuMeter) LIKE '%CapacityBlockFee%' THEN CommitmentDiscountId END",
            "used_block": "CapacityReservationId",
            "named_block": _named_block("ResourceId"),
            "plans": _of_plan("x_ServiceCode", "BilledCost", "CommitmentDiscountId", "CapacityReservationId", "ResourceId"),
            "job": _training_job("ResourceId"),
        },
        sums={
            "line_count": "count(*)",
            **exact_sums("billed", "BilledCost", "BilledCost__text", MONEY),
            # FOCUS 1.0 has no numbers of invoices, and no type of account
            "uninvoiced_lines": "count(*) FILTER (BillingAccountType IS NOT NULL AND coalesce(InvoiceId, '') = '')",
        },
    ),
    "aws_carbon": Asked(
        {"payer_account_id": "payer_account_id", "model_version": "coalesce(model_version, '')"},
        {"rows": f"SELECT DISTINCT delivery, payer_account_id, model_version FROM {GROUPS} WHERE payer_account_id <> ''"},
        lambda name, rows: _aws_carbon(name, rows),
    ),
    # a year's water changes no month: a table that every build writes whole reads it
    "aws_water": Asked(),
    "gcp_billing": GCP_BILLING,
    "gcp_focus": replace(
        GCP_BILLING,
        sums={
            **GCP_BILLING.sums,
            **exact_sums("billed", "billed_cost", "billed_cost__text", MONEY),
            **exact_sums("credited", "CAST(NULL AS DOUBLE)", "CAST(NULL AS VARCHAR)", MONEY),  # they are in billed_cost
        },
    ),
    "gcp_carbon": Asked(
        {"payer_account_id": "billing_account_id", "model_version": "coalesce(model_version, '')"},
        {"rows": f"SELECT DISTINCT delivery, payer_account_id, model_version FROM {GROUPS}"},
        _carbon_versions,
    ),
    # a list is in force for at most 28 days (int_gcp_list_prices): in its month, and in the one after it
    "gcp_prices": Asked(
        {
            "first_month": "strftime(pricing_as_of_time, '%Y-%m')",
            "last_month": "strftime(pricing_as_of_time + INTERVAL 27 DAY, '%Y-%m')",
        },
        {
            "prices": f"""
                SELECT delivery, month, {DIGEST}
                FROM (SELECT *, unnest(list_distinct([first_month, last_month])) AS month FROM {GROUPS})
                GROUP BY 1, 2 ORDER BY 2
            """
        },
        lambda _, prices: Controls(
            figures=[Figures(first_month=month, is_of_one_month=True, digest=digest) for month, digest in prices]
        ),
    ),
    "neuron_monitor": SAMPLES_BY_DAY,
    "neuron_power": SAMPLES_BY_DAY,
    # a rate converts the month in whose last eight days it lies; one of the first days of a month converts none
    "fx_rates": Asked(
        {"month": "CASE WHEN rate_date >= last_day(rate_date) - 7 THEN strftime(rate_date, '%Y-%m') END"},
        {"rates": f"SELECT delivery, month, {DIGEST} FROM {GROUPS} WHERE month IS NOT NULL GROUP BY 1, 2 ORDER BY 2"},
        lambda _, rates: Controls(rate_months=dict(rates)),
    ),
    "provider_totals": Asked(
        {"month": "strftime(usage_month, '%Y-%m')"},
        {"totals": f"SELECT delivery, month, {DIGEST} FROM {GROUPS} GROUP BY 1, 2 ORDER BY 2"},
        lambda _, totals: Controls(total_months=dict(totals)),
    ),
    "user_inputs": Asked(
        {
            "first_month": "coalesce(strftime(valid_from, '%Y-%m'), '')",
            "is_of_one_month": "kind = 'measured_energy'",
            "is_plan": "kind = 'comparison_plan'",  # changes no month: the tables of reports alone read it
            "run": "CASE WHEN kind = 'measured_energy' THEN key ELSE training_run_id END",
        },
        {
            "figures": f"SELECT delivery, first_month, is_of_one_month, {DIGEST} FROM {GROUPS} WHERE NOT is_plan "
            "GROUP BY ALL ORDER BY ALL",
            "named": f"SELECT DISTINCT delivery, run FROM {GROUPS} WHERE run <> '' ORDER BY ALL",
        },
        _figures,
    ),
}


def asked_of(kind: Kind) -> Asked:
    """What a kind's deliveries are asked for their controls."""
    return BY_KIND.get(kind) or BY_FACT[KINDS[kind].fact]
