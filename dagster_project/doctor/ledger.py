"""What the models of the ledger make of the files that were read: built in a folder that goes, by the statements of a build.

Only models that the answers need are built, and no test is asked: what a row costs, whose it is and which samples meet a run is
decided where a refresh decides it. A delivery that was read in part gives shares of that part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dagster_project.base import clock
from dagster_project.base.kinds import KINDS, Fact, Kind, built_kinds
from dagster_project.base.months import first_day
from dagster_project.doctor.reading import Reading
from dagster_project.election.election import elect
from dagster_project.election.months import payer_months
from dagster_project.warehouse import builds, runner, statements
from dagster_project.warehouse.building import opened
from dagster_project.warehouse.modelling import ModelsError
from dagster_project.warehouse.raw import create_raw

if TYPE_CHECKING:
    import duckdb

    from dagster_project.warehouse.home import Home
    from dagster_project.warehouse.statements import Statement

ASKED = {
    "intermediate.int_aws_lines",
    "intermediate.int_charges",
    "intermediate.int_line_attributions",
    "intermediate.int_month_holdings",
    "intermediate.int_named_charges",
    "intermediate.int_run_records",
    "intermediate.int_split_charges",
    "intermediate.int_telemetry_matches",
    "marts.fct_telemetry_matches",
    "seeds.accelerator_types",
    "staging.stg_aws_cur__line_items",
}

# Rows of use in the newest month of their bill, at list price: what is covered by a commitment costs nothing by itself. The
# models add up rows of AWS that no record can meet; of these the rows themselves are taken, with the rule that their line met.
_EXACT = ", ".join(
    f"try_cast({name}{text} as decimal(38, 12))"
    for name in ("public_on_demand_cost", "unblended_cost")
    for text in ("__text", "")
)
_LINES = f"""
create temp table lines as
with held as (
    select line_id, sum(coalesce(list_cost, billed_cost)) as cost
    from intermediate.int_split_charges where part_id <> '~residual' group by all
),
charges as (
    select charges.*, attributions.attribution_rule as rule, coalesce(list_cost, billed_cost) as cost, held.cost as held_cost
    from intermediate.int_charges as charges
    left join intermediate.int_line_attributions as attributions
        on charges.attribution_line_id = attributions.line_id and charges.usage_month = attributions.usage_month
    left join held on charges.line_id = held.line_id
    where is_usage
),
groups as (
    select distinct
        aws.source_name, aws.usage_month, aws.service_code, line_item_type, usage_type, is_pod,
        coalesce(aws.run_tag, '') as tag, charges.is_accelerator_type, rule
    from intermediate.int_aws_lines as aws inner join charges using (line_id)
    where not is_single
),
every_line as (
    select
        source_name, provider_name, usage_month, billing_currency, charge_period_start, charge_period_end, run_tag,
        is_accelerator_type, coalesce(resource_id, other_resource_id, job_id) as machine, rule, cost,
        case when rule in ('resource_time', 'cluster_key') then held_cost when rule is not null then cost end as met_cost
    from charges where charge_period_start is not null
    union all
    select
        source_name, provider_name, usage_month, billing_currency, charge_period_start, charge_period_end, run_tag,
        is_accelerator_type, resource_id, rule, coalesce({_EXACT}) as cost, case when rule is not null then cost end
    from staging.stg_aws_cur__line_items as of_aws
    inner join groups using (source_name, usage_month, service_code, line_item_type, usage_type, is_pod)
    where coalesce(run_tag, '') = tag and is_book
        and concat_ws('|', source_name, source_object, row_number)
        not in (select line_id from intermediate.int_aws_lines where is_single)
)
select * replace (coalesce(met_cost, 0) as met_cost)
from every_line
qualify usage_month = max(usage_month) over (partition by source_name)
"""

# the machines of runs; a record that names no provider may be of any
_HELD = """
create temp table held as
select distinct
    holdings.usage_month, training_run_id, resource_id, accelerator_type, provider_name, held_from,
    coalesce(held_to, last_day(holdings.usage_month) + interval 1 day) as held_to
from intermediate.int_month_holdings as holdings
left join (
    select training_run_id, min(provider_name) as provider_name from intermediate.int_run_records group by all
) using (training_run_id)
"""


def kind_of(fact: Fact, provider: str) -> Kind:
    """The kind of source that has a fact of a provider."""
    return next(kind for kind in built_kinds() if KINDS[kind].fact == fact and KINDS[kind].provider_name == provider)


@contextmanager
def built(elsewhere: Home, every: Iterable[Statement]) -> Iterator[Ledger]:
    """What the answers need of what was landed elsewhere, as tables; `every` statement of a build is given."""
    election = elect(elsewhere.sources, elsewhere.landing, contents_of=elsewhere.landing.contents)  # nothing is judged
    elsewhere.landing.end_engine()
    billed = {one.usage_month for one in payer_months(election) if one.is_bill_landed}
    sampled = {month for one in election.of_fact("telemetry") for month in one.contents.controls.sample_months}
    months = [first_day(month) for month in sorted(billed | sampled)]
    texts = [month.isoformat() for month in months]
    build = builds.Build("doctor", clock.now().isoformat(), "", "", {}, texts, is_full=True)
    with opened(elsewhere.site) as connection:
        create_raw(connection, elsewhere.rules, elsewhere.landing, election, months)
        for node in runner.run(statements.needed(every, ASKED), build, connection):
            if not node.is_sound:
                raise ModelsError(f"{node.name}: {node.detail}", remedy="The answers need it; report it with this message.")
        connection.execute(_LINES)
        connection.execute(_HELD)
        yield Ledger(connection)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The tables of the models, with `lines` and `held` above."""

    connection: duckdb.DuckDBPyConnection

    def rows(self, sql: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; `$name` in it is a given value."""
        return self.connection.execute(sql, given or None).fetchall()

    def row(self, sql: str, **given: Any) -> tuple[Any, ...]:
        """The only row of a query."""
        (row,) = self.rows(sql, **given)
        return row

    def month(self, bill: Reading) -> str:
        """The newest month of a bill in which something was used; that of its partition where nothing was read."""
        (month,) = self.row("select max(usage_month) from lines where source_name = $source", source=bill.source.name)
        return f"{month:%Y-%m}" if month else bill.newest
