"""Landed rows, read from the bytes that were kept and checked against what was published of them.

A group of bill rows is found again by the columns that made it. Count and billed cost of the rows that are found must be those of
the group; else the trace ends with an error, not with a guess.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import duckdb

from dagster_project.base.failures import GateError, SourceError
from dagster_project.base.kinds import KINDS, Kind, built_kinds
from dagster_project.election.winners import Elected
from dagster_project.evidence.tracing import origins
from dagster_project.evidence.tracing.statements import GROUPS, grouping
from dagster_project.landing.records import Generation
from dagster_project.publishing.digest import literal
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.raw import show_rows

ID = r"^[0-9a-f]{12}\|(.*)\|([0-9]+)(\|promotion|\|rounding)?$"
AWS_LINES = "stg_aws_cur__line_items"
COVERED = "('SavingsPlanCoveredUsage', 'SavingsPlanNegation')"
STUBS = """
create schema if not exists intermediate; create schema if not exists staging; create schema if not exists raw;
create or replace view raw.months as select cast(null as date) as usage_month where false;
create or replace view raw.build_months as from raw.months;
create or replace view intermediate.int_run_holdings as
    select cast(null as varchar) as resource_id, cast(null as timestamp) as started_at, cast(null as timestamp) as ended_at
    where false;
create or replace view staging.stg_training_runs__aliases as
    select cast(null as varchar) as alias_id, cast(null as varchar) as alias_system where false;
"""


class Landed:
    """The landing of a configuration, read for a trace over a published file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, home: Home, statements: dict[str, str]) -> None:
        self.connection, self._landing, self._rules, self._statements = connection, home.landing, home.rules, statements
        self._sources = home.settings.by_name
        connection.execute(STUBS)
        # rows that are groups of their own are found by their names; as if every run were recorded, a tag makes no other one
        connection.execute(
            "create or replace table intermediate.int_recorded_months as"
            " select distinct usage_month, training_run_id from attributions where training_run_id is not null"
        )
        for kind in built_kinds():
            show_rows(connection, self._rules, self._landing, [], kind)
        origins.create(connection)
        connection.execute("create temp table groups as from attributions limit 0")
        self._compared: set[str] = set()

    def generations(self, source: str) -> list[Generation]:
        """Every generation that is landed of a source."""
        return self._landing.read(source).generations if source in self._sources else []

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

    def show(self, kind: Kind, deliveries: Iterable[Generation], *models: str) -> None:
        """Let the raw view of a kind have the rows of these deliveries, and staging models read it."""
        members = []
        for one in deliveries:
            source = self._sources[one.source]
            members.append(Elected(source, one, self._landing.contents(source, one)))
        show_rows(self.connection, self._rules, self._landing, members, kind)
        for model in models:
            self.connection.execute(f"create or replace view staging.{model} as {self._statements[model]}")

    def elected(self, source: str, month: date | None = None) -> list[Generation]:
        """The deliveries of a source that the publication elected; of a month, where their partitions are months or days."""
        found = self.connection.execute(
            "select content_hash, partition from published.ops.dim_deliveries where source_name = ? and is_elected order by all",
            [source],
        ).fetchall()
        in_month = [
            content_hash
            for content_hash, partition in found
            if month is None or not partition[:4].isdigit() or partition[:7] == f"{month:%Y-%m}"
        ]
        return [self.delivery(source, content_hash) for content_hash in dict.fromkeys(in_month)]

    def add_bill_rows(self, of_table: str) -> None:
        """The bill rows of the groups in the temporary table `groups` (rows of fct_charge_attributions)."""
        places = self.connection.execute(
            "select source_name, usage_month, list(distinct delivery_content_hash order by delivery_content_hash)"
            " from groups group by all order by all"
        ).fetchall()
        for source, month, hashes in places:
            deliveries = [self.delivery(source, content_hash) for content_hash in hashes]
            kind = Kind(deliveries[0].kind)
            is_aws = KINDS[kind].provider_name == "AWS"
            for some in [[one] for one in deliveries] if is_aws else [deliveries]:  # Google's are a day or a part of one
                self._ask(source, month, [one.content_hash for one in some])
                if is_aws:
                    self._show_aws_rows(kind, some, month)
                else:
                    self._show_google_rows(kind, some)
                self._add_asked(of_table, source, month)

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
            select charge_group_id, regexp_extract(charge_group_id, '{ID}', 1) as object,
                cast(regexp_extract(charge_group_id, '{ID}', 2) as bigint) as row_number,
                regexp_extract(charge_group_id, '{ID}', 3) as what, delivery_content_hash, max(row_count) as row_count,
                sum(billed_cost) as billed_cost
            from attributions where {of_month} and delivery_content_hash in ({listed}) group by all""")
        self.connection.execute(f"""create or replace temp table asked as
            from known semi join (from groups where {of_month}) using (charge_group_id, delivery_content_hash)""")

    def _add_asked(self, of_table: str, source: str, month: date) -> None:
        """Check the rows that were found of the asked groups, and add them to what is reported."""
        self.require(
            f"""select charge_group_id, {literal(source)}, asked.row_count, asked.billed_cost, count(rows.object) as found,
                coalesce(sum(rows.billed), 0) as billed
            from asked left join rows using (charge_group_id) group by all
            having found <> asked.row_count or billed <> asked.billed_cost order by all limit 1""",
            "group {} of {} was published with {} rows of {}, its delivery has {} of {}",
        )
        origins.add(
            self.connection,
            "bill",
            of_table,
            f"""select source_name, object, row_number as first_row, delivery_content_hash, usage_month, training_run_id, reason,
                attribution_rule, share_numerator || '/' || share_denominator as share, charge_group_id, billed as amount,
                billing_currency as unit, 'of a group of ' || row_count || ': ' || billed_cost || ' billed and ' || effective_cost
                    || ' effective' as detail
            from rows inner join groups using (charge_group_id)
            where source_name = {literal(source)} and usage_month = date '{month}'""",
        )

    def _show_aws_rows(self, kind: Kind, deliveries: Iterable[Generation], month: date) -> None:
        """Table `rows`: of each asked group its rows. What is a group of its own is in no other."""
        self._key_aws_rows(kind, deliveries, month)
        total = grouping(self._statements[GROUPS]).total
        self.connection.execute(f"""create or replace temp table rows as
            with pool as (from keyed anti join (from known where row_count = 1) using (object, row_number)),
            firsts as (
                select pool.key, asked.charge_group_id, asked.what from pool inner join asked using (object, row_number)
                where asked.row_count > 1
            ),
            chosen as (
                select charge_group_id, what, pool.* from pool inner join firsts using (key)
                union all by name
                select charge_group_id, what, keyed.* from keyed inner join asked using (object, row_number)
                where asked.row_count = 1
            )
            select charge_group_id, object, row_number,
                case when line_item_type in {COVERED} and not is_pod and what <> '|rounding' then 0 else {total} end as billed
            from chosen group by charge_group_id, object, row_number, line_item_type, is_pod, what""")

    def _key_aws_rows(self, kind: Kind, deliveries: Iterable[Generation], month: date) -> None:
        """Table `keyed`: the rows of a month that staging shows, with one number for all columns that make a group."""
        self.show(kind, deliveries, AWS_LINES)
        parts = grouping(self._statements[GROUPS])
        self.connection.execute(f"""create or replace temp table keyed as {parts.before}
            select hash({_expressions(parts.keys)}) as key, position, source_object as object, row_number, line_item_type, is_pod,
                unblended_cost, unblended_cost__text
            from lines where usage_month = date '{month}'""")

    def groups_of(self, generation: Generation, name: str, row: int) -> list[str]:
        """The groups that a row of a bill is in: of a Google row also its promotion, of an AWS row also what a plan rounds."""
        kind = Kind(generation.kind)
        first = name, row
        if KINDS[kind].provider_name == "AWS":
            self.show(kind, [generation], AWS_LINES)
            (month,) = self.connection.execute(
                f"select usage_month from staging.{AWS_LINES} where source_object = ? and row_number = ?", [name, row]
            ).fetchone() or (None,)
            if month is None:
                return []
            self._ask(generation.source, month, [generation.content_hash])
            self._key_aws_rows(kind, [generation], month)
            first = (
                self.connection.execute(
                    """with singles as (from known where row_count = 1), own as (from keyed where object = ? and row_number = ?)
                    select keyed.object, keyed.row_number from keyed inner join own using (key)
                    anti join singles on keyed.object = singles.object and keyed.row_number = singles.row_number
                    anti join (from own semi join singles using (object, row_number)) as alone on true
                    order by keyed.position limit 1""",
                    first,
                ).fetchone()
                or first
            )
        found = self.connection.execute(
            f"""select distinct charge_group_id from attributions where source_name = ? and delivery_content_hash = ?
                and regexp_extract(charge_group_id, '{ID}', 1) = ? and regexp_extract(charge_group_id, '{ID}', 2) = ?
            order by all""",
            [generation.source, generation.content_hash, first[0], str(first[1])],
        )
        return [group for (group,) in found.fetchall()]

    def _show_google_rows(self, kind: Kind, deliveries: Iterable[Generation]) -> None:
        """Table `rows`: a group is one row of the bill with its credits."""
        self.show(kind, deliveries, "stg_gcp_billing__lines", "stg_gcp_billing__credits")
        self.connection.execute("""create or replace temp table rows as
            with credits as (
                select source_object, row_number, sum(case when is_price then credit_amount else 0 end) as price,
                    sum(case when is_price then 0 else credit_amount end) as promotion
                from staging.stg_gcp_billing__credits group by all
            )
            select asked.charge_group_id, asked.object, asked.row_number,
                case when asked.what = '|promotion' then coalesce(credits.promotion, 0)
                    else lines.cost + coalesce(credits.price, 0) end as billed
            from staging.stg_gcp_billing__lines as lines
            inner join asked
                on asked.object = lines.source_object and asked.row_number = lines.row_number
                and asked.delivery_content_hash = lines.delivery_content_hash
            left join credits on asked.object = credits.source_object and asked.row_number = credits.row_number""")


def _expressions(keys: str) -> str:
    """The expressions of a SELECT list without their names."""
    import sqlglot

    return ", ".join(one.unalias().sql("duckdb") for one in sqlglot.parse_one(f"select {keys}", read="duckdb").expressions)
