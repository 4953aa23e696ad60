"""The walk of a trace: from one row and column down, table by table, to landed rows, each with its contribution.

Which columns join a table to what it was made of are the rules of rules.py; what is divided is divided here, once for all
classes: rows that add up to an amount contribute what they state, and an amount that is a part of a sum is divided among the
rows in proportion, each part the difference of two running shares, so that the parts add up to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import duckdb

from dagster_project.base.failures import GateError
from dagster_project.base.sql import CELL, literal, quoted
from dagster_project.evidence.tracing.rules import OWN, Rule, Term, Traced, traced

ATTRIBUTIONS, COMMITTED = "fct_charge_attributions", "fct_commitment_attributions"
PARTS = {ATTRIBUTIONS: "attributed", COMMITTED: "committed"}  # published as Parquet alone: the view in which each is shown
WEIGHT = "carbon_weight"  # of attributions: with what a part weighs in the division of its carbon cell
QUARTER = "year({0}) || 'Q' || quarter({0})"
FISCAL_YEAR = """cast(year({0} + to_months(cast(
    (select 13 - fiscal_year_start from published.marts.dim_disclosure_settings) % 12 as integer))) as varchar)"""
MONTHS = {"month_1": 0, "month_2": 1, "month_3": 2}
MONEY = "decimal(38, 12)"


@dataclass(frozen=True)
class Step:
    """Rows of one table on the way: how many, and what they contribute together."""

    depth: int
    table: str
    column: str
    kind: str
    rows: int
    total: Any

    @property
    def record(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("depth", "table", "column", "kind", "rows", "total")}


@dataclass
class Walk:
    """One question to a published file, which is attached as `published`.

    `end`: adds what is behind rows of a table: what ends the walk, the table, the column and the name of the rows.
    """

    connection: duckdb.DuckDBPyConnection
    end: Callable[[str, str, str, str], None]
    columns: Mapping[str, set[str]]
    beyond: frozenset[str] = frozenset()  # tables that are not asked: the walk ends before them
    steps: list[Step] = field(default_factory=list)
    _numbers: Any = field(default_factory=count)

    def rows_of(self, name: str, condition: str, column: str) -> str:
        """Rows of a table to begin with, each with its own value of the column as the amount; of a text none is known."""
        amount = quoted(column) if column in _table_of(name).numbers else "null"
        return self._table(f"select *, cast({amount} as {MONEY}) as amount_ from {relation(name)} where {condition}")

    def follow(self, name: str, column: str, rows: str, depth: int = 0) -> None:
        """Add the steps below rows of a table that have an amount of a column."""
        is_number = column in (table := _table_of(name)).numbers
        for rule in table.of(column) if is_number else table.rules[:1]:
            some = rows
            if rule.when != "true":
                some = self._table(f"from {rows} as own where {rule.when}")
            found, total = self.connection.execute(f"select count(*), sum(amount_) from {some}").fetchone() or (0, None)
            if not found:
                continue
            self.steps.append(Step(depth, name, column, rule.kind if is_number else "decided", found, total))
            match rule.kind:
                case "sum" | "share" | "ratio" | "energy" if not is_number:
                    self._list(name, rule.terms, some, depth + 1)
                case "sum" | "share" | "energy" if any(term.of in self.beyond for term in rule.terms):
                    pass
                case "sum" | "share" | "energy":
                    self._divide(name, column, rule, some, depth)
                case "ratio":
                    for term in rule.terms:
                        part = self._table(f"select * replace (cast({quoted(term.column)} as {MONEY}) as amount_) from {some}")
                        self.follow(name, term.column, part, depth + 1)
                case "statistic":
                    self._list(name, rule.terms, some, depth + 1)
                case _:
                    self.end(rule.terms[0].of, name, column, some)
            self._list(name, rule.inputs, some, depth + 1)
            if rule.weighed and rule.weighed.of not in self.beyond:
                self._weigh(name, rule.weighed, some, depth + 1)

    def _list(self, name: str, terms: Sequence[Term], rows: str, depth: int) -> None:
        """Add the rows of tables that rows were reckoned with; what seeds and inputs state of them is followed."""
        for term in terms:
            if term.of == OWN or term.of in self.beyond:
                continue
            table = _table_of(term.of)
            listed = self._table(
                f"select distinct * exclude (part_), null::{MONEY} as amount_ from ({self._joined(name, '', term, rows)})"
            )
            (found,) = self.connection.execute(f"select count(*) from {listed}").fetchone() or (0,)
            self.steps.append(Step(depth, term.of, "", "input", found, None))
            for rule in table.rules:
                if rule.kind == "lookup" and found:
                    self.end(rule.terms[0].of, term.of, "", listed)
                    break

    def _weigh(self, name: str, term: Term, rows: str, depth: int) -> None:
        """Follow the rows by which rows were divided: of each its weight."""
        weights = self._table(f"""select * exclude (part_), part_ as amount_
            from (select distinct * from ({self._joined(name, term.column, term, rows, has_amounts=True)})) where part_ <> 0""")
        (found,) = self.connection.execute(f"select count(*) from {weights}").fetchone() or (0,)
        if found:
            self.follow(term.of, term.column, weights, depth)

    def _divide(self, name: str, column: str, rule: Rule, rows: str, depth: int) -> None:
        """Follow each term of a sum with the contributions of its rows."""
        is_energy = rule.kind == "energy"
        per = 1 if is_energy else max([term.per for term in rule.terms], default=1)
        own = self._table(
            f"select * replace (cast(amount_ * {per} as {MONEY}) as amount_), row_number() over () as own_ from {rows}"
        )
        parts = [
            (
                number,
                term,
                self._table(
                    "select *, row_number() over () as part_row_"
                    f" from ({self._joined(name, column, term, own, is_divided=is_energy)})"
                ),
            )
            for number, term in enumerate(rule.terms)
        ]
        nothing = f"select null::bigint as own_, 0 as term_, null::bigint as part_row_, null::{MONEY} as part_ where false"
        listed = " union all ".join(
            [nothing, *(f"select own_, {n} as term_, part_row_, part_ from {one}" for n, _, one in parts)]
        )
        if rule.kind == "sum":
            self._require_sum(name, column, own, listed, per)
        elif is_energy:
            self._require_division(name, column, own, [(term, one) for _, term, one in parts])
        divided = self._table(
            divided_among(f"select * from ({listed}) as parts inner join {own} as own using (own_)", "own_", "term_, part_row_")
        )
        for number, term, joined in parts:
            of = name if term.of == OWN else term.of
            made = self._table(f"""select joined.* exclude (own_, part_, part_row_), sum(divided.contribution_) as amount_
                from {joined} as joined
                inner join {divided} as divided on divided.term_ = {number} and joined.part_row_ = divided.part_row_
                where divided.contribution_ <> 0 or divided.contribution_ is null and divided.part_ is null
                group by all""")
            if term.distinct:
                counted = self.connection.execute(f"select count(*) from {made}").fetchone() or (0,)
                self.steps.append(Step(depth + 1, of, term.distinct, "counted", counted[0], counted[0]))
            else:
                self.follow(of, term.column or column, made, depth + 1)

    def _require_sum(self, name: str, column: str, own: str, parts: str, per: int) -> None:
        """GateError where rows do not add up to what they are the sum of; a sum of no rows is 0, or unknown."""
        value = f"cast({quoted(column)} as {MONEY}) * {per}"
        wrong = self.connection.execute(f"""select {value}, total_ from {own} as own
            left join (select own_, sum(part_) as total_ from ({parts}) group by own_) as sums using (own_)
            where {value} is not null and coalesce(total_, 0) <> {value} limit 1""").fetchone()
        if wrong:
            stated, found = wrong
            remedy = "Was it published by other code, or changed? Refresh, then trace again."
            raise GateError(f"{name}: the rows behind {column} add up to {found or 0}, it states {stated}", remedy=remedy)

    def _require_division(self, name: str, column: str, own: str, terms: Sequence[tuple[Term, str]]) -> None:
        """GateError where integrals, divided once for each region and pool, half up in whole numbers, are not what is stated."""
        divided = "select null::bigint as own_, null::hugeint as given_ where false"
        for term, joined in terms:
            unit, sum_ = f"cast({term.per}0000000000000 as hugeint)", f"sum({_whole(term.column)})"
            rest = f"(2 * (sum_ % {unit}) * factor_ + {unit}) // (2 * {unit})"
            sums = (
                f"select own_, region_id, pool_id, {_whole(_factor(term))} as factor_, {sum_} as sum_ from {joined} group by all"
            )
            sign = "-" if term.is_less else ""
            divided += f" union all select own_, {sign}(sum_ // {unit} * factor_ + {rest}) from ({sums})"
        wrong = self.connection.execute(f"""select {quoted(column)}, given_ from {own} as own
            left join (select own_, sum(given_) as given_ from ({divided}) group by own_) as divisions using (own_)
            where {quoted(column)} is not null and coalesce(given_, 0) <> {_whole(column)} limit 1""").fetchone()
        if wrong:
            stated, found = wrong
            remedy = "Was it published by other code, or changed? Refresh, then trace again."
            raise GateError(
                f"{name}: the integrals behind {column} give {found or 0} billionths, it states {stated}", remedy=remedy
            )

    def _joined(
        self, name: str, column: str, term: Term, rows: str, *, has_amounts: bool = False, is_divided: bool = False
    ) -> str:
        """The rows of a term that belong to some rows, each with `part_`, what it states, and `own_` where those are numbered."""
        own_columns = self._columns(rows)
        is_numbered = "own_" in own_columns
        number = "own.own_, " if is_numbered else ""
        sign = "-" if term.is_less else ""
        target = term.column or column
        if term.of == OWN:
            part = f"{sign}cast({quoted(target)} as {MONEY}) as part_"
            return f"select {number}own.* exclude (amount_, own_), {part} from {rows} as own"
        joined = self.joined(_table_of(name), term, rows, own_columns)
        if term.distinct and is_numbered:
            counted = f"{term.distinct} as counted_, cast(1 as {MONEY}) as part_"
            return f"select distinct {number}{counted} from {joined} and {term.distinct} is not null"
        if is_divided:
            energy = f"cast(p.{quoted(target)} as double) * cast(p.{quoted(_factor(term))} as double) / {term.per}"
            return f"select {number}p.*, {sign}cast({energy} as {MONEY}) as part_ from {joined}"
        part = f"{sign}cast(p.{quoted(target)} as {MONEY})" if is_numbered or has_amounts else f"cast(null as {MONEY})"
        return f"select {number}p.*, {part} as part_ from {joined}"

    def joined(self, table: Traced, term: Term, own: str, own_columns: Collection[str], rows: str = "") -> str:
        """Rows of a table (own) with those rows of a term (p) that belong to them; `rows`: of which of the term's."""
        source, columns = self._source(term, rows)
        return f"{own} as own, {source} as p where {condition(table, term, own_columns, columns)}"

    def _source(self, term: Term, rows: str = "") -> tuple[str, set[str]]:
        """Where rows of a term are read, with the columns of other tables beside them, and the names of all these."""
        self.require(term.of)
        text, columns = rows or relation(term.of), set(self.columns[term.of])
        for other in term.beside:
            key, others = _table_of(other).key, self.columns[other]
            exclude = ", ".join(map(quoted, sorted(columns & others)))
            same = ", ".join(map(quoted, key))
            text = f"(select p.*, d.* exclude ({exclude}) from {text} as p left join {relation(other)} as d using ({same}))"
            columns |= others
        return text, columns

    def require(self, name: str) -> None:
        """GateError where what was published has no such table."""
        if name not in self.columns:
            remedy = "Refresh, and trace again; a report that another version issued is traced by that version."
            raise GateError(f"what was published has no table {name}", remedy=remedy)

    def _columns(self, table: str) -> set[str]:
        return {name for name, *_ in self.connection.execute(f"describe {table}").fetchall()}

    def _table(self, query: str) -> str:
        name = f"walk_{next(self._numbers)}"
        self.connection.execute(f"create temp table {name} as {query}")
        return name


def relation(name: str) -> str:
    """Where rows of a table or page are read."""
    if name in PARTS:
        return PARTS[name]
    return f"published.{_table_of(name).schema}.{quoted(name)}"


def show_parts(connection: duckdb.DuckDBPyConnection, of: Mapping[str, str]) -> None:
    """Views `attributed` and `committed` of these relations: parts of groups of the bill, each with the cell in their name.

    An issued report may be older than a table of parts: what needs it is then refused by its name.
    """
    cells = "source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month"
    both = " union ".join(f"select {cells} from published.marts.{name}" for name in ("fct_run_cell_costs", "fct_residual_costs"))
    connection.execute(f"create or replace temp table cells_of_costs as select *, {CELL} as cell_ from ({both})")
    for name, parts in of.items():
        connection.execute(f"""create or replace temp view {PARTS[name]} as
            select parts.*, cells.* exclude (source_name, usage_month, cell_)
            from {parts} as parts
            left join cells_of_costs as cells
                on parts.source_name = cells.source_name and parts.usage_month = cells.usage_month
                and substr(parts.charge_group_id, 1, 12) = cells.cell_""")


def _whole(column: str) -> str:
    """A decimal column in units of its last digit."""
    return f"cast(replace(cast({quoted(column)} as varchar), '.', '') as hugeint)"


def _factor(term: Term) -> str:
    """The column of what an integral is multiplied by."""
    return term.column.replace("integral", "factor")


def _table_of(name: str) -> Traced:
    return traced()[name]


def divided_among(parts: str, of: str, order: str) -> str:
    """A query that divides `amount_` of what the columns `of` name among parts, in proportion to `part_`: `contribution_`.

    Parts that add up to the amount contribute what they are. Else each is the difference of two running shares, rounded to 1e-12,
    and the last share is the whole; what has no part at all is divided evenly. Of an unknown amount nothing is known.
    """
    return f"""
        with parts as (
            select *, sum(part_) over of_own as total_, row_number() over (of_own order by {order}) as position_,
                sum(part_) over (of_own order by {order} rows unbounded preceding) as running_, count(*) over of_own as count_
            from ({parts})
            window of_own as (partition by {of})
        ),
        shares as (
            select *,
                case
                    when position_ = count_ then amount_
                    else cast(round(cast(amount_ as double) * case
                        when coalesce(total_, 0) = 0 then cast(position_ as double) / count_
                        else cast(coalesce(running_, 0) as double) / cast(total_ as double)
                    end, 12) as {MONEY})
                end as until_
            from parts
        )
        select * exclude (total_, position_, running_, count_, until_),
            case
                when amount_ = total_ then coalesce(part_, 0)
                else until_ - coalesce(lag(until_) over (partition by {of} order by position_), 0)
            end as contribution_
        from shares"""


def condition(table: Traced, term: Term, own_columns: Collection[str], columns: Collection[str]) -> str:
    """How rows of a term (alias p) belong to a row of a table (alias own)."""
    found = [f"({term.where})"]
    for key in dict.fromkeys([*table.key, *term.by]):
        expression = term.by.get(key, key if key in columns else None)
        if expression is None or (key not in own_columns and key not in term.by):
            continue
        left = f"own.{quoted(key)}" if key in own_columns else f"({key})"
        right = f"p.{quoted(expression)}" if expression in columns else f"({expression})"
        same = f"{left} is not distinct from {right}"
        is_of_all = key in own_columns and "is_total" in own_columns and key not in ("quarter", "billing_currency")
        found.append(f"({same} or (own.is_total and {left} is null))" if is_of_all else same)
    is_of_month = "usage_month" in columns
    if is_of_month and "quarter" in own_columns and "quarter" not in columns and term.by.get("quarter", "") is not None:
        month = "p.usage_month + interval 3 month" if term.period == "before" else "p.usage_month"
        found.append(f"{QUARTER.format(month)} = own.quarter")
    is_of_year = "fiscal_year" in own_columns and term.by.get("fiscal_year", "") is not None
    if is_of_month and is_of_year and "fiscal_year" not in columns:
        found.append(f"{FISCAL_YEAR.format('p.usage_month')} = own.fiscal_year")
    if term.period in MONTHS:
        found.append(f"(month(p.usage_month) - 1) % 3 = {MONTHS[term.period]}")
    if (
        is_of_month
        and "window_start" in own_columns
        and "window_start" not in columns
        and term.by.get("window_start", "") is not None
    ):
        found.append("p.usage_month >= own.window_start and p.usage_month < own.window_end")
    return " and ".join(found)


def columns_of(connection: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Which columns each table has, also those that are no numbers."""
    found: dict[str, set[str]] = {}
    for name, column in connection.execute(
        "select table_name, column_name from duckdb_columns()"
        " where database_name = 'published' and schema_name in ('marts', 'ops', 'pages')"
    ).fetchall():
        found.setdefault(name, set()).add(column)
    shown = "select column_name from duckdb_columns() where table_name = ?"
    for name, view in PARTS.items():
        if columns := {column for (column,) in connection.execute(shown, [view]).fetchall()}:
            found[name] = columns
    return found


def condition_of_key(values: Mapping[str, str | None]) -> str:
    """Rows with these values of their key, written as text."""
    parts: Sequence[str] = [
        f"cast({quoted(name)} as varchar) = {literal(value)}" if value else f"coalesce(cast({quoted(name)} as varchar), '') = ''"
        for name, value in values.items()
    ]
    return " and ".join(parts) or "true"
