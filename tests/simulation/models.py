"""Six small tables in place of the dbt models: a build of them takes a tenth of a second and goes every way of the product's.

A build reads its models from the folder into which dbt lays them out (warehouse/modelling.py), so a folder of another content is
another set of models: runner, gates, publication and retention are the product's own, and none of them knows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagster_project.warehouse import modelling

PROVIDER = "'AWS' as provider_name"
LINES = """
    select
        cast(bill_billing_period_start_date as date) as usage_month,
        identity_line_item_id as line_id,
        bill_payer_account_id as payer_account_id,
        coalesce(_run_tag, '') as training_run_id,
        cast(line_item_unblended_cost as decimal(18, 2)) as cost
    from raw.aws_cur
    where _is_book
"""
# the table of which a build asks where the status of a month moves figures; here it moves none
HELD = """
    select usage_month, line_id, timestamp '2026-01-01' as slice_to, timestamp '2026-01-01' as billed_to
    from "build"."intermediate"."int_lines"
"""
COSTS = """
    select usage_month, payer_account_id, training_run_id, cast(sum(cost) as decimal(18, 2)) as cost, count(*) as lines
    from "build"."intermediate"."int_lines"
    group by all
"""
RUNS = """
    select recorded_id as training_run_id, arg_max(tokens, (_published_at, _delivery_content_hash)) as tokens
    from raw.training_runs
    where part = 'run' and _is_book
    group by recorded_id
"""
RECONCILED = f"""
    select
        usage_month, {PROVIDER}, 'billed_cost' as measure, 'USD' as unit_or_currency, '' as provider_model_version,
        'conservation' as method, payer_account_id,
        cast(coalesce(delivered, 0) as decimal(18, 2)) as provider_total,
        cast(coalesce(booked, 0) as decimal(18, 2)) as runs_total,
        cast(0 as decimal(18, 2)) as residual_total,
        cast(0 as decimal(18, 2)) as quarantined_total,
        cast(coalesce(delivered, 0) - coalesce(booked, 0) as decimal(18, 2)) as difference
    from (
        select usage_month, payer_account_id, sum(billed_cost) as delivered from raw.delivery_totals group by all
    ) as deliveries
    full outer join (
        select usage_month, payer_account_id, sum(cost) as booked from "build"."marts"."fct_costs" group by all
    ) as costs using (usage_month, payer_account_id)
"""
STATUS = """
    select costs.usage_month, costs.payer_account_id, sum(costs.cost) as cost, bool_or(months.is_bill_closed) as is_closed
    from "build"."marts"."fct_costs" as costs
    left join raw.months as months using (usage_month, payer_account_id)
    group by all
"""
SUMMARY = """
    select usage_month, sum(cost) as cost, count(*) as runs
    from "build"."marts"."fct_costs"
    group by usage_month
"""
CONSERVED = """select * from "build"."marts"."fct_reconciliation" where difference <> 0"""


def _model(schema: str, name: str, text: str, kind: str, *key: str, **meta: Any) -> tuple[dict[str, Any], str]:
    path = f"marts/reports/{name}.sql" if kind == "view" else f"{schema}/{name}.sql"
    published = {"published": True, "key": [*key]} if key else {}
    node = {
        "unique_id": f"model.small.{name}",
        "resource_type": "model",
        "name": name,
        "alias": name,
        "schema": schema,
        "path": path,
        "relation_name": f'"build"."{schema}"."{name}"',
        "description": f"The small table {name}.",
        "columns": {},
        "config": {"materialized": kind, "meta": published | meta},
        "depends_on": {"nodes": []},
    }
    return node, text


MODELS = (
    _model("intermediate", "int_lines", LINES, "by_month"),
    _model("intermediate", "int_held_slices", HELD, "by_month"),
    _model("marts", "fct_costs", COSTS, "by_month", "usage_month", "payer_account_id", "training_run_id"),
    _model("marts", "fct_month_status", STATUS, "by_month", "usage_month", "payer_account_id", rebuilt_for="status"),
    _model("marts", "dim_training_runs", RUNS, "table", "training_run_id"),
    _model("marts", "fct_reconciliation", RECONCILED, "by_month", "usage_month", "payer_account_id"),
    _model("marts", "cost_summary", SUMMARY, "view", "usage_month"),
)
TEST = {
    "unique_id": "test.small.costs_add_up_to_the_bill",
    "resource_type": "test",
    "name": "costs_add_up_to_the_bill",
    "alias": "costs_add_up_to_the_bill",
    "schema": "tests",
    "path": "costs_add_up_to_the_bill.sql",
    "columns": {},
    "config": {"materialized": "test", "severity": "error"},
    "depends_on": {"nodes": ["model.small.fct_reconciliation"]},
}


def build_small_tables(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let every build from now on be of the small tables, laid out in a folder."""
    folder.mkdir(exist_ok=True)
    nodes = {node["unique_id"]: node for node, _ in MODELS} | {TEST["unique_id"]: TEST}
    texts = {node["unique_id"]: text for node, text in MODELS} | {TEST["unique_id"]: CONSERVED}
    (folder / modelling.MANIFEST).write_text(json.dumps({"nodes": nodes}))
    (folder / modelling.COMPILED).write_text(json.dumps(texts))
    patch.setattr(modelling, "laid_out", lambda home: folder)
