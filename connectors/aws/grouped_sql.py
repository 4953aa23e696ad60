"""The SELECT that makes the lines of an AWS bill into groups where the export lies, for a source with `engine`; no client.

Rows about which a later rule decides one by one travel as they are: of accelerators and of whatever else is billed of their
machines, of runs, of pods and tasks and of their machines, of SageMaker and HyperPod, of capacity blocks and training plans, and
the fees of Savings Plans. All others are added up by the columns that a rule reads, and by the day of their use. The answer has
the columns of the export, so that it is read as one, with `line_count`, the rows that a row of it stands for; its last row has
the number and the exact sums of the export's rows themselves, made in the same reading of it.

Exact means as dbt/macros/exact.sql has it: each amount is rounded by the same IEEE steps to 12 decimals, and then added up as a
decimal. The answer's amounts have one decimal more, for rules ask whether a cost is 0, and a tenth of a unit is not.

One reading: rows that travel get a name of their own, by which they are groups of one, and what only they have is any value of
such a group. Machines are found in a second reading of three columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from connectors.aws.cur_columns import SCHEMA
from connectors.aws.sql_dialects import Dialect
from connectors.errors import ExportSchemaError, Place
from connectors.formats.schema import Column, Number, Text, TextMap, Timestamp

VERSION = "1"  # of what is asked: with another one what was landed is asked again
LINE_COUNT, IS_TOTAL, FILES = "line_count", "is_total", "files"  # the last: which files the engine saw, beside the totals
DECIMALS = 12
ANSWERED = {name: (name, decimals) for name, decimals in SCHEMA.measures.items()}  # by each sum its column, and the decimals
READS = 2  # of the same bytes at most: of the rows, and of three columns of them
# what a group is made by, as the export has it; which cost is stated and which is negative comes to it
KEYS = (
    *("bill_payer_account_id", "bill_payer_account_name", "bill_invoice_id", "bill_invoicing_entity"),
    *("bill_billing_period_start_date", "line_item_usage_account_id", "line_item_usage_account_name"),
    *("line_item_line_item_type", "line_item_product_code", "line_item_usage_type", "line_item_currency_code"),
    *("product_region_code", "product_servicecode", "product_product_family"),
    *("reservation_reservation_a_r_n", "savings_plan_savings_plan_a_r_n", "capacity_reservation_capacity_reservation_status"),
)
# of the attributes of a product these are read, of rows and of groups
PRODUCT_ENTRIES = ("product_name", "product_family", "region", "region_code")
_START, _END = "line_item_usage_start_date", "line_item_usage_end_date"
_RESOURCE, _TYPE, _USAGE_TYPE = "line_item_resource_id", "line_item_line_item_type", "line_item_usage_type"
_PARENT, _COST, _NET = "split_line_item_parent_resource_id", "line_item_unblended_cost", "line_item_net_unblended_cost"
# a superset of what aws_is_accelerator of dbt/macros/ledger.sql takes for one: what is too many here travels as it is
_ACCELERATOR = ":(ml[.])?(trn|inf|p[0-9]|g[0-9]|gr[0-9]|dl|u-)"
# what is billed of a block, a plan or a job names it as its resource; so does what is billed of a commitment, which a group keeps
_OF_BLOCK = "capacity-reservation|(^|/)cr-[0-9a-z]+$|:training-plan/|^arn:[^:]*:sagemaker:|:cluster/"
_OF_COMMITMENT = "^arn:.*(:savingsplan/|:reserved-instances/|:ri:|:reserved-instance:)"
# of these amounts a rule asks for the sign: where one is below half a unit, which is 0 as a figure, its row travels
_SIGNED = {
    "": (_NET, _COST),
    "DiscountedUsage": ("reservation_net_effective_cost", "reservation_effective_cost"),
    "SavingsPlanCoveredUsage": (
        "savings_plan_net_savings_plan_effective_cost",
        "savings_plan_savings_plan_effective_cost",
    ),
}
# as stg_aws_cur__line_items names what it has as it is
_STAGED = {
    "bill_payer_account_id": "payer_account_id",
    "line_item_usage_account_id": "sub_account_id",
    "line_item_product_code": "service_code",
    "line_item_line_item_type": "line_item_type",
    "line_item_usage_type": "usage_type",
    "line_item_currency_code": "billing_currency",
}
_KINDS = {"double": "double", "decimal": "exact", "bigint": "exact", "int": "exact", "integer": "exact", "smallint": "exact"}
_KINDS |= {"varchar": "text", "string": "text", "char": "text", "timestamp": "time", "date": "time", "map": "map"}
_KINDS |= {"timestamp_ntz": "time"}
_FITTING = {Number: {"double", "exact"}, Timestamp: {"time"}, TextMap: {"map"}}


@dataclass(frozen=True)
class Table:
    """A table over the files of an export, by its columns and their types as the engine names them."""

    relation: str  # as a FROM has it
    types: Mapping[str, str]
    dialect: Dialect

    def __contains__(self, name: str) -> bool:
        return name in self.types

    def kind_of(self, name: str) -> str:
        """What a column is: `double`, `exact`, `text`, `time`, `map`, or the type itself where it is none of these."""
        word = re.split(r"[(<\s]", self.types[name].lower())[0]
        return _KINDS.get(word, word)

    def value(self, name: str) -> str:
        """The value of a column of a line, a text where it is declared as one; null where the table has no such column."""
        if name not in self:
            return f"CAST(NULL AS {self.dialect.text_type})"
        column = f"line.{self.dialect.quoted(name)}"
        is_text = name not in _DECLARED or _DECLARED[name].type == Text
        return f"CAST({column} AS {self.dialect.text_type})" if is_text and self.kind_of(name) != "text" else column

    @property
    def columns(self) -> list[Column]:
        """The declared columns that the table has, and those that hold an entry of a map."""
        return [*(column for column in SCHEMA if column.name in self), *SCHEMA.spread_columns(self.types)]

    @property
    def measures(self) -> list[str]:
        """The amounts that are added up."""
        return [name for name in SCHEMA.measures if name in self]

    def check(self, uri: str) -> tuple[str, ...]:
        """Return the unknown columns; ExportSchemaError where one is missing, or has a type that is not read exactly."""
        unknown = SCHEMA.check_names(tuple(self.types), uri)
        for column in self.columns:
            if self.kind_of(column.name) not in _FITTING.get(column.type, {"text", "exact", "time"}):
                found = self.types[column.name]
                raise ExportSchemaError(
                    f"{uri}: column {column.name} is {found}, which is no {column.type}.",
                    place=Place(column_name=column.name, value=found),
                    reason="wrong_type",
                    remedy=f"Give {column.name} the type that it has in the files. See {SCHEMA.remedy_page}.",
                )
        return unknown


_DECLARED = {column.name: column for column in SCHEMA}


def version_of(run_tag_keys: Iterable[str]) -> str:
    """Eight hex digits that change with what is asked: part of what identifies an answer, so that it is asked again."""
    return sha256("\n".join((VERSION, _ACCELERATOR, _OF_BLOCK, *sorted(run_tag_keys))).encode()).hexdigest()[:8]


def grouped_sql(table: Table, run_tag_keys: Iterable[str], files: Iterable[str] = ()) -> str:
    """The rows and groups of a delivery, and the sums of its rows; `files`: what of the relation is the delivery, else all."""
    rows, listed = _Rows(table, tuple(run_tag_keys)), tuple(files)
    quoted, named = table.dialect.quoted, rows.keys()
    read = ", ".join(quoted(column.name) for column in table.columns)
    keys = ", ".join(quoted(name) for name in (*named, "own_row"))
    among = f"\n  WHERE {table.dialect.among(listed)}" if listed else ""

    def listing(expressions: Mapping[str, str]) -> str:
        return ",\n".join(f"    {value} AS {quoted(name)}" for name, value in expressions.items())

    return "\n".join(
        (
            f"WITH source AS (\n  SELECT {read}\n  FROM {table.relation}{among}\n),",
            *rows.machines(),
            f"measured AS (\n  SELECT line.*,\n{listing({**rows.figures(), 'is_of_machine': rows.of_machine})}",
            f"  FROM source AS line{rows.joined}\n),",
            f"judged AS (\n  SELECT line.*,\n    ({rows.is_single()}) AS is_single\n  FROM measured AS line\n),",
            f"lines AS (\n  SELECT\n{listing({**named, **rows.carried()})},",
            f"    CASE WHEN line.is_single THEN CAST(uuid() AS {table.dialect.text_type}) END AS own_row",
            "  FROM judged AS line\n),",
            f"line_groups AS (\n  SELECT\n    {keys},\n{listing(rows.aggregates())},",
            f"    COUNT(*) AS {LINE_COUNT}, GROUPING(own_row) = 1 AS {IS_TOTAL}",
            f"  FROM lines AS line\n  GROUP BY GROUPING SETS (({keys}), ())\n)",
            f"SELECT\n{listing(rows.answer())},\n    {LINE_COUNT}, {IS_TOTAL},",
            f"    CASE WHEN {IS_TOTAL} THEN (\n  {table.dialect.files(table.relation, among)}\n) END AS {FILES}",
            f"FROM line_groups AS line\nORDER BY {', '.join((IS_TOTAL, *map(quoted, rows.order)))}",
        )
    )


def rows_of_group_sql(relation: str, dialect: Dialect) -> str:
    """SQL of DuckDB that makes, of a row `its` of staging, the statement that lists the rows of a group.

    `relation` is SQL of DuckDB too: what the statement is about. A group is named by its day of use and by the columns that a row
    of staging has of it. Rows that travelled by themselves may have the same.
    """

    def condition(column: str, name: str) -> str:
        begins = f"' AND {dialect.quoted(column)} = ' || chr(39) || {dialect.escaped(f'its.{name}')} || chr(39)"
        return f"case when nullif(its.{name}, '') is not null then {begins} else '' end"

    of_day = dialect.of_day(dialect.quoted(_START)).replace("'", "''")
    day = "chr(39) || strftime(its.charge_period_start, '%Y-%m-%d 00:00:00') || chr(39)"
    return f"'SELECT * FROM ' || {relation} || ' WHERE {of_day} = TIMESTAMP ' || {day} || " + " || ".join(
        condition(column, name) for column, name in _STAGED.items()
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of a table, and what the statement makes of their columns step by step."""

    table: Table
    run_tag_keys: tuple[str, ...]

    @property
    def order(self) -> list[str]:
        """By what the answer is ordered: the same rows are the same bytes, whatever machine worked on which."""
        first = (_START, "line_item_usage_account_id", "line_item_product_code", _USAGE_TYPE, _TYPE, _RESOURCE)
        names = [name for name in (*first, "identity_line_item_id", "identity_time_interval", *KEYS) if name in self.table]
        return [*dict.fromkeys(names), *self.table.measures]

    # --- machines ---------------------------------------------------------------------------------------------------

    def machines(self) -> list[str]:
        """The machines of the delivery of which accelerators are billed, or on which pods or tasks are."""
        if _RESOURCE not in self.table:
            return []
        named = f"WHEN {self._is_accelerator()} THEN {self.table.value(_RESOURCE)}"
        if _PARENT in self.table:  # a pod's row names a pod, and the machine that it is on
            parent = self.table.value(_PARENT)
            named = f"WHEN {parent} <> '' THEN regexp_replace({parent}, '^arn:.*:instance/', '') {named}"
        found = f"SELECT DISTINCT CASE {named} END AS machine FROM source AS line"
        return [f"machines AS (\n  SELECT machine FROM (\n    {found}\n  ) AS named\n  WHERE machine <> ''\n),"]

    @property
    def joined(self) -> str:
        """The join that finds the machine of a line."""
        if _RESOURCE not in self.table:
            return ""
        return f"\n  LEFT JOIN machines ON {self.table.value(_RESOURCE)} = machines.machine"

    @property
    def of_machine(self) -> str:
        """Whether a line is billed of such a machine."""
        return "machines.machine IS NOT NULL" if self.joined else "FALSE"

    # --- figures ----------------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, str]:
        """The exact figure of each amount of a line, by the short name that it has until the end."""
        return {f"m{place}": self._figure(name) for place, name in enumerate(self.table.measures)}

    def _figure(self, name: str) -> str:
        x = self.table.value(name)
        if self.table.kind_of(name) != "double":
            return f"CASE WHEN ABS({x}) < 1e12 THEN CAST({x} AS DECIMAL(38, {DECIMALS})) END"
        steps = range(10)
        by = " ".join(f"WHEN ABS({x}) < 1e{15 - DECIMALS + i} THEN 1e{DECIMALS - i}" for i in steps)
        times = " ".join(f"WHEN ABS({x}) < 1e{15 - DECIMALS + i} THEN {10**i}" for i in steps)
        digits = f"CAST(SIGN({x}) * FLOOR(ABS({x}) * CASE {by} END + 5e-1) AS BIGINT)"
        units = f"CAST(CAST({digits} AS DECIMAL(19, 0)) * CAST(CASE {times} END AS DECIMAL(10, 0)) AS DECIMAL(25, 0))"
        return f"CAST({units} * CAST(0.{'0' * (DECIMALS - 1)}1 AS DECIMAL({DECIMALS}, {DECIMALS})) AS DECIMAL(38, {DECIMALS}))"

    def _special(self, name: str, figure: str) -> str:
        """What a row shows where it has no figure: a tenth of a unit for less than half a one, and too much for too much."""
        x, below = self.table.value(name), _DECLARED[name].below
        # landing refuses a cost that is too large, as it would of the rows themselves; other amounts have no exact figure then
        large = "1000000000000" if below else "1000000000000000"
        tenth = f"0.{'0' * DECIMALS}1"
        return (
            f"CASE WHEN {self._is_too_large(name)} THEN CAST({large} AS DECIMAL(38, 13))"
            f" WHEN {x} > 0 AND {figure} = 0 THEN CAST({tenth} AS DECIMAL(38, 13))"
            f" WHEN {x} < 0 AND {figure} = 0 THEN CAST(-{tenth} AS DECIMAL(38, 13)) END"
        )

    def _is_too_large(self, name: str) -> str:
        x = self.table.value(name)
        is_nan = f"{self.table.dialect.is_nan}({x}) OR " if self.table.kind_of(name) == "double" else ""
        return f"({is_nan}ABS({x}) >= 1e12)"

    # --- which rows travel ------------------------------------------------------------------------------------------

    def is_single(self) -> str:
        """Whether a row travels as it is."""
        table, has_match = self.table, self.table.dialect.has_match
        found = ["line.is_of_machine", self._is_accelerator(), f"{table.value('line_item_product_code')} = 'AmazonSageMaker'"]
        found.append(f"{table.value(_TYPE)} = 'SavingsPlanRecurringFee'")
        if _USAGE_TYPE in table:
            found += [f"{table.value(_USAGE_TYPE)} LIKE '%CapacityBlock%'", f"{table.value(_USAGE_TYPE)} LIKE '%Cluster:ml.%'"]
        if "line_item_operation" in table:
            found.append(f"{table.value('line_item_operation')} IN ('EKSPod-EC2', 'ECSTask-EC2')")
        if _RESOURCE in table:
            found.append(has_match(table.value(_RESOURCE), _OF_BLOCK))
        if "capacity_reservation_capacity_reservation_arn" in table:
            found.append(f"{table.value('capacity_reservation_capacity_reservation_arn')} <> ''")
        if "reservation_reservation_a_r_n" in table:
            found.append(f"{table.value('reservation_reservation_a_r_n')} LIKE '%:training-plan/%'")
        found += self._of_runs()
        found += [self._is_too_large(name) for name in table.measures]
        signed = {name for pair in _SIGNED.values() for name in pair}
        found += [
            f"({table.value(name)} <> 0 AND line.m{place} = 0)" for place, name in enumerate(table.measures) if name in signed
        ]
        return "\n    OR ".join(f"COALESCE({one}, FALSE)" for one in found)

    def _is_accelerator(self) -> str:
        if _USAGE_TYPE not in self.table:
            return "FALSE"
        return self.table.dialect.has_match(self.table.value(_USAGE_TYPE), _ACCELERATOR)

    def _of_runs(self) -> Iterable[str]:
        """Whether a row has a tag or a category of a run, however it is spelled: a superset of dagster_project's run_tag."""
        wanted = [(key, re.sub(r"[^a-z0-9]", "", key.lower())) for key in self.run_tag_keys]
        literal = self.table.dialect.literal

        def holds(key: str) -> str:
            plain = f"regexp_replace(lower({key}), '[^a-z0-9]', '')"
            return " OR ".join(
                f"{plain} LIKE {literal(f'%{letters}%')}" if letters else f"position({literal(given)} IN {key}) > 0"
                for given, letters in wanted
            )

        for name in ("tags", "resource_tags", "cost_category"):
            if name in self.table and self.table.kind_of(name) == "map" and wanted:
                yield self.table.dialect.has_key(self.table.value(name), holds)
        for column in SCHEMA.spread_columns(self.table.types):
            plain = re.sub(r"[^a-z0-9]", "", column.name.lower())
            if any(letters and letters in plain for _, letters in wanted):
                yield f"{self.table.value(column.name)} <> ''"

    # --- groups -----------------------------------------------------------------------------------------------------

    def keys(self) -> dict[str, str]:
        """What groups are made by; what of it a rule reads of some rows alone is null of others."""
        table = self.table
        found = {name: table.value(name) for name in KEYS if name in table}
        found |= {column.name: table.value(column.name) for column in self._products()}
        found |= {f"product_{place}": value for place, value in enumerate(self._entries().values())}
        found[_START] = f"CASE WHEN line.is_single THEN {table.value(_START)} ELSE {self._day()} END"
        of_some = {
            _RESOURCE: self.table.dialect.has_match(table.value(_RESOURCE), _OF_COMMITMENT),
            "line_item_line_item_description": f"{table.value('line_item_line_item_description')} LIKE '%Savings Plan ID%'",
            "line_item_availability_zone": self._has_no_region(),
        }
        for name, condition in of_some.items():
            if name in table:
                found[name] = f"CASE WHEN line.is_single OR {condition} THEN {table.value(name)} END"
        found |= {f"has_{place}": f"line.m{place} IS NOT NULL" for place, _ in enumerate(table.measures)}
        return found | self._signs()

    def _day(self) -> str:
        kind = self.table.types[_START]
        return f"CAST({self.table.dialect.of_day(self.table.value(_START))} AS {kind})"

    def _products(self) -> list[Column]:
        """Columns that hold an attribute of a product."""
        return [column for column in SCHEMA.spread_columns(self.table.types) if column.name.startswith("product_")]

    def _entries(self) -> dict[str, str]:
        """The attributes of a product that are read of its map."""
        if "product" not in self.table:
            return {}
        return {name: self.table.dialect.entry(self.table.value("product"), name) for name in PRODUCT_ENTRIES}

    def _has_no_region(self) -> str:
        named = [self.table.value("product_region_code")] if "product_region_code" in self.table else []
        named += [value for name, value in self._entries().items() if name in ("region", "region_code")]
        named += [self.table.value(column.name) for column in self._products() if column.name == "product_region"]
        return " AND ".join(f"COALESCE({value}, '') = ''" for value in named) or "TRUE"

    def _signs(self) -> dict[str, str]:
        """Whether what a row costs is negative, and what it costs over its term."""
        values = {}
        for kind, pair in _SIGNED.items():
            present = [self.table.value(name) for name in pair if name in self.table]
            values[kind] = f"COALESCE({', '.join(present)})" if len(present) > 1 else "".join(present)
        cost = values.pop("")
        covered = " ".join(f"WHEN {self.table.value(_TYPE)} = '{kind}' THEN {value}" for kind, value in values.items() if value)
        own = f"COALESCE(CASE {covered} END, {cost})" if covered else cost
        return {"is_negative": f"COALESCE({cost} < 0, FALSE)", "is_effective_negative": f"COALESCE({own} < 0, FALSE)"}

    # --- the answer -------------------------------------------------------------------------------------------------

    def carried(self) -> dict[str, str]:
        """What of a row comes to its keys: when it ends, its amounts, and what only a row that travels has."""
        found = {_END: self.table.value(_END)}
        for place, name in enumerate(self.table.measures):
            found[f"m{place}"] = f"line.m{place}"
            found[f"s{place}"] = f"CASE WHEN line.is_single THEN {self._special(name, f'line.m{place}')} END"
        return found | {name: f"CASE WHEN line.is_single THEN {self.table.value(name)} END" for name in self._others()}

    def _others(self) -> list[str]:
        taken = {*self.keys(), _END, "product", *self.table.measures}
        return [column.name for column in self.table.columns if column.name not in taken]

    def aggregates(self) -> dict[str, str]:
        """What a group has beside its keys."""
        of, any_value = self.table.dialect.quoted, self.table.dialect.any_value
        found = {_END: f"MAX(line.{of(_END)})"}
        for place, _ in enumerate(self.table.measures):
            found[f"m{place}"] = f"SUM(line.m{place})"
            found[f"s{place}"] = f"{any_value}(line.s{place})"
        return found | {name: f"{any_value}(line.{of(name)})" for name in self._others()}

    def answer(self) -> dict[str, str]:
        """The columns of the answer: those of the export, in its order."""
        of, as_answer, found = self.table.dialect.quoted, self.table.dialect.as_answer, dict[str, str]()
        for column in self.table.columns:
            name = column.name
            if name in self.table.measures:
                place = self.table.measures.index(name)
                found[name] = (
                    f"CASE WHEN NOT {IS_TOTAL} AND line.s{place} IS NOT NULL THEN line.s{place}"
                    f" ELSE CAST(line.m{place} AS DECIMAL(38, {DECIMALS + 1})) END"
                )
            elif name == "product":
                entries = {entry: f"line.product_{place}" for place, entry in enumerate(PRODUCT_ENTRIES)}
                found[name] = as_answer(self.table.dialect.map_of(entries))
            else:
                value = f"line.{of(name)}"
                found[name] = as_answer(value) if column.type == TextMap else value
        return found
