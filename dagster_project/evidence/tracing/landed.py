"""Landed rows, read from the bytes that were kept and checked against what was published of them.

A group of bill rows is found again by the columns that made it. Count and billed cost of the rows that are found must be those of
the group; else the trace ends with an error, not with a guess. The SQL by which rows are read and grouped is what dbt laid out
for this version of the code: a build file cannot be asked while a refresh writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Any

import duckdb

from connectors.aws.grouped_bill import rows_of_group
from connectors.gcp.grouped_sql import rows_of_group_sql
from connectors.stores import ENGINES
from connectors.stores.google_locations import table_location
from connectors.stores.grouped import relation_of
from dagster_project.base.failures import GateError, SourceError
from dagster_project.base.kinds import KINDS, Descriptor, Kind, built_kinds
from dagster_project.base.sql import literal, rows_by_name
from dagster_project.election.winners import Elected
from dagster_project.evidence.tracing import origins
from dagster_project.evidence.tracing.kept_rows import group_of_kept, kept_sql
from dagster_project.evidence.tracing.published import GROUP
from dagster_project.evidence.tracing.rules import traced
from dagster_project.evidence.tracing.walk import divided_among
from dagster_project.landing.records import Generation
from dagster_project.warehouse import modelling
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.raw import show_rows

# of a bill the staging models, the model that groups its rows, the columns that a row's cost is made of, and the name of the sum
# of its costs. Of the model's text two parts are taken: the columns that make a group, and that sum
GROUPED = {
    "AWS": (
        ["stg_aws_cur__line_items", "stg_aws_cur__pods"],
        "int_aws_line_groups",
        "line_item_type, is_pod, unblended_cost, unblended_cost__text, line_count",
        "unblended_cost",
    ),
    "Google Cloud": (
        ["stg_gcp_billing__lines", "stg_gcp_billing__credits"],
        "int_gcp_line_groups",
        "is_net_of_credits, price_credit, promotion_credit, cost, cost__text, line_count",
        "stated_cost",
    ),
}
# of what a run holds whole, rows follow each other: the machine, the time, and which rows are alike
OF_MACHINE = (
    "resource_id, charge_period_start as begins, hash(charge_period_end - charge_period_start, lower(pricing_unit)) as kind"
)
OF_NO_MACHINE = "cast(null as varchar) as resource_id, charge_period_start as begins, 0 as kind"
SKUS = "int_gcp_skus"  # what the groups of Google's rows read of their texts
KEYS_BEGIN, KEYS_END = "line_groups as (\n    select\n", "-- the first row of a group gives it its name"
TOTAL_BEGIN = "as line_count,"
COVERED = "('SavingsPlanCoveredUsage', 'SavingsPlanNegation')"
OF_PODS = "starts_with(what, '|pod-')"  # a part that the pods of its machine made of a row
STUBS = """
create schema if not exists intermediate; create schema if not exists staging; create schema if not exists raw;
create or replace view raw.months as select cast(null as date) as usage_month where false;
create or replace view raw.build_months as from raw.months;
create or replace view intermediate.int_run_holdings as
    select cast(null as varchar) as resource_id, cast(null as timestamp) as started_at, cast(null as timestamp) as ended_at
    where false;
create or replace view intermediate.int_machine_segments as
    select cast(null as date) as usage_month, cast(null as varchar) as machine_name, cast(null as date) as segment_day,
        cast(null as timestamp) as segment_from, cast(null as timestamp) as segment_to, cast(null as varchar) as training_run_id
    where false;
create or replace view intermediate.int_aws_pods as
    select cast(null as date) as usage_month, cast(null as varchar) as source_name, cast(null as varchar) as machine_id,
        cast(null as timestamp) as charge_period_start, cast(null as timestamp) as charge_period_end
    where false;
create or replace view staging.stg_training_runs__aliases as
    select cast(null as varchar) as alias_id, cast(null as varchar) as alias_system where false;
create or replace view staging.stg_gcp_prices__prices as
    select cast(null as varchar) as service_code, cast(null as varchar) as service_description,
        cast(null as varchar) as sku_description
    where false;
"""


def facts_of(generation: Generation) -> Descriptor:
    """What is known of the kind of a delivery."""
    return KINDS[Kind(generation.kind)]


class Landed:
    """The landing of a configuration, read for a trace over a published file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, home: Home) -> None:
        self.connection, self._landing, self._rules, self._sources = connection, home.landing, home.rules, home.settings.by_name
        texts = modelling.compiled(home.root).items()  # the SELECT of each model, to be asked without the database's name
        self._statements = {unique_id.rpartition(".")[2]: text.replace('"build".', "") for unique_id, text in texts}
        connection.execute(STUBS)
        # rows that are groups of their own are found by their names; as if every run were recorded, a tag makes no other one
        named = """select distinct usage_month, training_run_id, true as names_machine from attributed
            where training_run_id is not null"""
        connection.execute(f"create or replace table intermediate.int_recorded_months as {named}")
        for kind in built_kinds():
            show_rows(connection, self._rules, self._landing, [], kind)
        origins.create(connection)
        connection.execute("create temp table groups as select *, billed_cost as amount_ from attributed limit 0")
        self._compared: set[str] = set()
        self._generations: dict[str, list[Generation]] = {}  # read once: a question may ask a thousand deliveries

    def add(self, kind: str, of_table: str, rows: str) -> None:
        """Report rows of a query as behind rows of a table."""
        origins.add(self.connection, kind, of_table, rows)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The answer to a query, columns by name."""
        return rows_by_name(self.connection.execute(sql))

    def generations(self, source: str) -> list[Generation]:
        """Every generation that is landed of a source."""
        if source not in self._generations:
            self._generations[source] = self._landing.read(source).generations if source in self._sources else []
        return self._generations[source]

    def delivery(self, source: str, content_hash: str) -> Generation:
        """A landed delivery by its hash, its bytes compared with their sha256."""
        found = next((one for one in self.generations(source) if one.content_hash == content_hash), None)
        if found is None:
            what = f"the landing has no delivery {content_hash[:16]} of {source}, from which this was published"
            raise SourceError(what, remedy="Was it pruned, or is this another landing? Refresh, then trace again.")
        if found.path not in self._compared:
            self._landing.require_same(found)
            rows = [(source, content_hash, one.key, one.sha256) for one in found.objects]
            self.connection.executemany("insert into objects values (?, ?, ?, ?)", rows)
            self._compared.add(found.path)
        return found

    def show(self, deliveries: Sequence[Generation], *models: str) -> Kind:
        """Let the raw view of a kind have the rows of these deliveries of a source, and staging models read it. Returns it."""
        source = self._sources[deliveries[0].source]
        members = [Elected(source, one, self._landing.contents(source, one)) for one in deliveries]
        kind = Kind(deliveries[0].kind)
        show_rows(self.connection, self._rules, self._landing, members, kind)
        for model in models:
            self.connection.execute(f"create or replace view staging.{model} as {self._statements[model]}")
        return kind

    def elected(self, source: str, month: date | None = None) -> list[Generation]:
        """The deliveries of a source that the publication elected; of a month, where their partitions are months or days."""
        sql = "select content_hash, partition from published.ops.dim_deliveries where source_name = ? and is_elected order by all"
        found = self.connection.execute(sql, [source]).fetchall()
        in_month = dict.fromkeys(
            content_hash
            for content_hash, partition in found
            if month is None or not partition[:4].isdigit() or partition[:7] == f"{month:%Y-%m}"
        )
        return [self.delivery(source, content_hash) for content_hash in in_month]

    def elected_by_month(self, table: str) -> Iterator[tuple[str, date, list[Generation]]]:
        """Each source and month of a table, with the deliveries that the publication elected of it where there are any."""
        places = self.connection.execute(f"select distinct source_name, usage_month from {table} order by all").fetchall()
        for source, month in places:
            if deliveries := self.elected(source, month):
                yield source, month, deliveries

    def add_bill_rows(self, kind: str, of_table: str, measure: str) -> None:
        """The bill rows of the groups in the temporary table `groups` (parts of groups, with an amount of a measure).

        A part of a group is divided among its rows in proportion to what each states as its cost, evenly where none states any.
        """
        listed = "list(distinct delivery_content_hash order by delivery_content_hash)"
        sql = f"select source_name, usage_month, {listed} from groups group by all order by all"
        for source, month, hashes in self.connection.execute(sql).fetchall():
            deliveries = [self.delivery(source, content_hash) for content_hash in hashes]
            provider = facts_of(deliveries[0]).provider_name or ""
            # Google's are a day or a part of one
            for some in [[one] for one in deliveries] if provider == "AWS" else [deliveries]:
                self._ask(source, month, [one.content_hash for one in some])
                self._key_rows(provider, some, month)
                self._show_rows(provider)
                self._add_asked(kind, of_table, measure, source, month)
                for one in some:
                    self._add_kept(of_table, one)

    def require(self, differences: str, what: str) -> None:
        """A query of what differs from what was published finds nothing. GateError: `what`, filled from its first row."""
        if wrong := self.connection.execute(differences).fetchone():
            remedy = "Was it published by other code, or of other deliveries? Refresh, then trace again."
            raise GateError(what.format(*wrong), remedy=remedy)

    def _ask(self, source: str, month: date, hashes: Iterable[str]) -> None:
        """Tables of some deliveries: `known`, all their groups in the month, and `asked`, those of `groups`, whole."""
        listed = ", ".join(literal(one) for one in hashes)
        of_month = f"source_name = {literal(source)} and usage_month = date '{month}'"
        self.connection.execute(f"""create or replace temp table known as
            select charge_group_id, regexp_extract(charge_group_id, '{GROUP}', 1) as object,
                cast(regexp_extract(charge_group_id, '{GROUP}', 2) as bigint) as row_number,
                regexp_extract(charge_group_id, '{GROUP}', 3) as what, delivery_content_hash, max(row_count) as row_count,
                sum(billed_cost) as billed_cost
            from attributed where {of_month} and delivery_content_hash in ({listed}) group by all""")
        self.connection.execute(f"""create or replace temp table asked as
            from known semi join (from groups where {of_month}) using (charge_group_id, delivery_content_hash)""")

    def _add_asked(self, kind: str, of_table: str, measure: str, source: str, month: date) -> None:
        """Check the rows that were found of the asked groups, and add them to what is reported."""
        differing = f"""select charge_group_id, {literal(source)}, asked.row_count, asked.billed_cost,
                coalesce(sum(rows.line_count), 0) as found, coalesce(sum(rows.billed), 0) as billed
            from asked left join rows using (charge_group_id) group by all
            having found <> asked.row_count or billed <> asked.billed_cost order by all limit 1"""
        self.require(differing, "group {} of {} was published with {} rows of {}, its delivery has {} of {}")
        in_parts = f"""with parts as (
                select object, row_number, sum(billed_cost) as billed from known where {OF_PODS} group by all
            )
            select distinct object, row_number, {literal(source)}, whole, parts.billed
            from rows inner join parts using (object, row_number)
            where {OF_PODS} and whole <> parts.billed order by all limit 1"""
        self.require(in_parts, "row {1} of {0} of {2} bills {3}, and was published in parts for pods of {4}")
        self._add_pods(of_table)
        parts = f"""select groups.*, rows.object, rows.row_number, rows.line_count, rows.billed, rows.what, rows.whole,
                rows.stated as part_
            from groups inner join rows using (charge_group_id)
            where source_name = {literal(source)} and usage_month = date '{month}'"""
        divided = divided_among(parts, ", ".join(traced()[of_table].key), "object, row_number")
        rows = f"""select source_name, object, row_number as first_row, delivery_content_hash, usage_month, training_run_id,
                reason, attribution_rule, share_numerator || '/' || share_denominator as share, charge_group_id, billed as amount,
                billing_currency as unit, contribution_ as contribution, {literal(measure)} as measure,
                {self._detail(source)} as detail
            from ({divided}) as part where contribution_ is distinct from 0"""
        self.add(kind, of_table, rows)

    def _add_pods(self, of_table: str) -> None:
        """The rows of pods and tasks by which asked rows of their machines were divided: they bill nothing, and give no part."""
        pods = f"""select distinct pods.source_name, pods.source_object as object, pods.row_number as first_row,
                lines.delivery_content_hash, pods.usage_month, pods.pod_arn || ' on ' || pods.machine_id as detail
            from rows inner join staging.stg_aws_cur__line_items as lines
                on rows.object = lines.source_object and rows.row_number = lines.row_number
            inner join staging.stg_aws_cur__pods as pods
                on lines.resource_id = pods.machine_id and lines.charge_period_start = pods.charge_period_start
                and lines.charge_period_end = pods.charge_period_end
            where {OF_PODS}"""
        if self.connection.execute(f"from rows where {OF_PODS} limit 1").fetchone():
            self.add("record", of_table, pods)

    def _add_kept(self, of_table: str, delivery: Generation) -> None:
        """The provider's rows of asked groups, where they are kept beside these: they give no part, as their group does."""
        if delivery.raw and (kept := kept_sql(delivery, self._landing.store.object_path)):
            self._landing.require_kept(delivery)
            self.add("kept", of_table, kept)

    def place_of_kept(self, delivery: Generation, name: str, row: int) -> tuple[str, int]:
        """Of a row that is kept beside groups the object and the row in which its group came."""
        self._landing.require_kept(delivery)
        return group_of_kept(self.connection, delivery, name, row, self._landing.store.object_path)

    def _detail(self, source: str) -> str:
        """SQL for what a row of a bill is of: a group of some rows, or a group that was landed, with what lists its rows."""
        of_group = f"""case when row_count > 1 then 'of a group of ' || row_count
                when {OF_PODS} then 'what pods had of a row of ' || whole end"""
        its = self._sources[source]
        if not its.engine or not any(generation.query for generation in self.generations(source)):
            return of_group
        if its.engine == "bigquery":
            staged, statement = "stg_gcp_billing__lines", rows_of_group_sql(table_location(its.location).name)
        else:
            staged, statement = (
                "stg_aws_cur__line_items",
                rows_of_group(its.engine, its.location, relation_of(its.engine_url, its.location)),
            )
        return f"""case when line_count > 1 then (
                select 'a group that {ENGINES[its.engine]} made of ' || part.line_count
                    || ' rows, not the provider''s rows; they are among: ' || {statement}
                from staging.{staged} as its
                where its.source_object = part.object and its.row_number = part.row_number and its.source_name = part.source_name
            ) else {of_group} end"""

    def _grouping(self, provider: str) -> tuple[str, str, str]:
        """How lines become groups: the CTEs before, the columns of a group, and its stated cost as an aggregate."""
        _, model, _, cost = GROUPED[provider]
        before, begin, rest = self._statements[model].partition(KEYS_BEGIN)
        keys, end, rest = rest.partition(KEYS_END)
        _, line_count, rest = rest.partition(TOTAL_BEGIN)
        total, named, _ = rest.partition(f" as {cost}")
        if not all((begin, end, line_count, named)):
            raise LookupError(f"{model} is not written as evidence/tracing/landed.py reads it")
        return before.rstrip().rstrip(","), keys.rstrip().rstrip(","), total.strip()

    def _show_rows(self, provider: str) -> None:
        """Table `rows`: of each asked group its rows, what each bills of it and as a whole, and what it states as its cost."""
        total = self._grouping(provider)[2]
        billed, alike = (
            f"case when line_item_type in {COVERED} and not is_pod and what <> '|rounding' then 0 else {total} end",
            "line_item_type, is_pod",
        )
        if provider != "AWS":  # a promotion is a charge of its own; FOCUS has all credits in the cost
            price, promotion = "coalesce(price_credit, 0)", "coalesce(promotion_credit, 0)"
            billed = f"""case when what = '|promotion' then {promotion} when is_net_of_credits then {total} - {promotion}
                    else {total} + {price} end"""
            alike = "is_net_of_credits, price_credit, promotion_credit"
        stated, count = total if provider == "AWS" else billed, "sum(coalesce(line_count, 1))"
        self.connection.execute(f"""create or replace temp table rows as
            select charge_group_id, keyed.object, keyed.row_number, what, {count} as line_count,
                {billed} as whole, {stated} as stated,
                case when {OF_PODS} then any_value(asked.billed_cost) else whole end as billed
            from keyed inner join asked on keyed.first_object = asked.object and keyed.first_row = asked.row_number
            group by charge_group_id, keyed.object, keyed.row_number, what, {alike}""")

    def _key_rows(self, provider: str, deliveries: Sequence[Generation], month: date) -> None:
        """Table `keyed`: the rows of a month that staging shows, each with the row that names its group.

        Of a machine that a run held each row is in a group of that machine. Its groups follow each other in time, each with as
        many rows as it was published with. Any other group is named by the first row with the same columns of a group. What is
        a group of its own is in no other.
        """
        staged, _, of_cost, _ = GROUPED[provider]
        self.show(deliveries, *staged)
        if provider != "AWS":
            self.connection.execute(f"create or replace view intermediate.{SKUS} as {self._statements[SKUS]}")
        before, keys, _ = self._grouping(provider)
        of_machine = OF_MACHINE if provider == "AWS" else OF_NO_MACHINE
        self.connection.execute(f"""create or replace temp table keyed as {before},
            of_month as (
                select hash({_expressions(keys)}) as key, position, source_object as object, row_number, {of_cost}, {of_machine}
                from lines where usage_month = date '{month}'
            ),
            naming as (select object, row_number, max(row_count) as named from known group by all),
            counted as (
                select *, sum(named) over (partition by key, resource_id, kind) is not distinct from
                        count(*) over (partition by key, resource_id, kind) and resource_id is not null as is_whole,
                    coalesce(named = 1, false) as is_alone
                from of_month left join naming using (object, row_number)
            ),
            judged as (
                select *, bool_and(is_whole) over (partition by key, resource_id) as is_held,
                    row_number() over (partition by key, resource_id, kind, is_alone order by begins, position) as place
                from counted
            ),
            segments as (
                select key, resource_id, kind, object as first_object, row_number as first_row, named,
                    sum(named) over (partition by key, resource_id, kind order by begins, position) as last_place
                from judged where is_held and named > 1
            )
            select judged.object, judged.row_number, {of_cost},
                coalesce(segments.first_object, first_value(judged.object) over same_group) as first_object,
                coalesce(segments.first_row, first_value(judged.row_number) over same_group) as first_row
            from judged left join segments
                on judged.is_held and not judged.is_alone and judged.key = segments.key and judged.kind = segments.kind
                and judged.resource_id = segments.resource_id
                and judged.place between segments.last_place - segments.named + 1 and segments.last_place
            window same_group as (
                partition by judged.key, judged.is_held, case when judged.is_alone then judged.position end
                order by judged.position
            )""")

    def groups_of(self, generation: Generation, name: str, row: int) -> list[str]:
        """The groups that a row of a bill is in: of a Google row also its promotion, of an AWS row also what a plan rounds."""
        provider = facts_of(generation).provider_name or ""
        staged = GROUPED[provider][0]
        self.show([generation], *staged)
        of_row = f"select usage_month from staging.{staged[0]} where source_object = ? and row_number = ?"
        (month,) = self.connection.execute(of_row, [name, row]).fetchone() or (None,)
        if month is None:
            return []
        self._ask(generation.source, month, [generation.content_hash])
        self._key_rows(provider, [generation], month)
        named_by = "select first_object, first_row from keyed where object = ? and row_number = ?"
        first = self.connection.execute(named_by, [name, row]).fetchone() or (name, row)
        sql = f"""select distinct charge_group_id from attributed where source_name = ? and delivery_content_hash = ?
                and regexp_extract(charge_group_id, '{GROUP}', 1) = ? and regexp_extract(charge_group_id, '{GROUP}', 2) = ?
            order by all"""
        found = self.connection.execute(sql, [generation.source, generation.content_hash, first[0], str(first[1])])
        return [group for (group,) in found.fetchall()]


def _expressions(keys: str) -> str:
    """The expressions of a SELECT list without their names."""
    import sqlglot

    return ", ".join(one.unalias().sql("duckdb") for one in sqlglot.parse_one(f"select {keys}", read="duckdb").expressions)
