"""The SELECT that makes bill lines into groups where the export lies, for a source with `engine: bigquery`. A text, no client.

Rows about which a later rule decides one by one travel as they are: of accelerators and of whatever else is billed of their
machines, of runs, jobs, pods, clusters, reservations and commitments, and corrections of a machine. All others are added up by
the columns that a rule reads, and by the day of their use. The answer has the columns of the export, so that it is read as one,
with `line_count`, the rows that a row of it stands for; one more row of each day has exact sums of that day's rows themselves.

Exact means as dbt/macros/exact.sql has it: each amount is rounded by the same IEEE steps, to 12 decimals or to 9, and then added
up as BIGNUMERIC. A double's product and sum are the same bits in BigQuery as in DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256
from typing import Any

from connectors.gcp.bigquery_sql import Axis, quoted
from connectors.gcp.billing_columns import LINE_COLUMNS, MAPS, MONEY, QUANTITY
from connectors.gcp.exact_sql import figure_of, figure_of_row, in_units, is_refused
from connectors.gcp.prices import ACCELERATORS

VERSION = "1"  # of what is asked: with another one what was landed is asked again, as far as a look reaches
LINE_COUNT, DAY, TOTALS = "line_count", "partition_day", "totals"
MEASURES = {  # decimals of the figure that each becomes, and what landing takes it below
    **dict.fromkeys(("cost", "cost_at_list", "cost_at_effective_price_default"), (12, MONEY)),
    **dict.fromkeys(("usage.amount", "usage.amount_in_pricing_units"), (9, QUANTITY)),
}
CREDIT, CREDIT_DECIMALS = "credits.amount", 12
# what an answer is held against, by the name that the sum has in its record: the column in the file, and decimals. Of usage rules
# ask whether there is any
ANSWERED = {
    **{path.replace(".", "_"): (path, decimals) for path, (decimals, _) in MEASURES.items() if path != "usage.amount"},
    CREDIT.replace(".", "_"): ("credits.list.element.amount", CREDIT_DECIMALS),
}
# credits that are the price of the use: as in stg_gcp_billing__credits, which a test compares. By them a row is negative or not
PRICE_CREDITS = (
    *("COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", "SUSTAINED_USAGE_DISCOUNT", "DISCOUNT"),
    *("SPENDING_BASED_DISCOUNT", "SUBSCRIPTION_BENEFIT", "FEE_UTILIZATION_OFFSET"),
)
_COMMITTED = ("COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", "FEE_UTILIZATION_OFFSET")
# a superset of what int_gcp_skus takes for an accelerator: what is too many here travels as it is
_WORDS = rf"{ACCELERATORS}|tpu[ _-]?v?5[ _-]?lite"
# labels by which a run, a job, a pod, a cluster or a commitment is known
_LABELS = (
    *("vertex-ai-pipelines-run-billing-id", "k8s-namespace", "k8s-workload-name", "k8s-label/jobset.sigs.k8s.io/jobset-name"),
    *("goog-k8s-cluster-name", "goog-k8s-node-pool-name", "goog-originating-sku-id"),
)
_SYSTEM_LABELS = tuple(
    f"compute.googleapis.com/{name}" for name in ("reservation_name", "reservation_project_id", "is_unused_reservation")
)
# what a group is made by; a multi-region location states no region, and then its zone may
KEYS = [
    "billing_account_id",
    "service.id",
    "service.description",
    "sku.id",
    "sku.description",
    "project.id",
    "project.number",
    "project.name",
    "location.region",
    "currency",
    "cost_type",
    "adjustment_info.type",
    "invoice.month",
    "usage.unit",
    "usage.pricing_unit",
]
# the same as stg_gcp_billing__lines names them, where it has them as they are
_STAGED = {
    "billing_account_id": "payer_account_id",
    **{path: path.replace(".", "_") for path in ("project.id", "project.number", "sku.id")},
    "service.id": "service_code",
    "currency": "billing_currency",
    "invoice.month": "invoice_month",
}
_TYPES = {"FLOAT": "FLOAT64", "INTEGER": "INT64", "BOOLEAN": "BOOL", "DECIMAL": "NUMERIC", "BIGDECIMAL": "BIGNUMERIC"}


@dataclass(frozen=True)
class Table:
    """A table of the export, by its description: which of the declared columns it has, and of which types."""

    name: str
    fields: Sequence[Mapping[str, Any]]
    paths: Mapping[str, Mapping[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", dict(_paths(self.fields)))

    def __contains__(self, path: str) -> bool:
        return path in self.paths

    def value(self, path: str, source: str = "line") -> str:
        """The value at a path, null where the table has no such column."""
        return f"{source}.{'.'.join(map(quoted, path.split('.')))}" if path in self else "CAST(NULL AS STRING)"

    def type_of(self, path: str) -> str:
        """The type of the column at a path."""
        return _type_of(self.paths[path])

    def credit(self, name: str) -> str:
        """A field of an element of `credits`; of 2019 a credit has no type."""
        known = {one["name"] for one in self.paths["credits"]["fields"]} if "credits" in self else set()
        return f"credit.{quoted(name)}" if name in known else "CAST(NULL AS STRING)"

    @property
    def amount_type(self) -> str:
        """The type of a credit's amount."""
        [amount] = [one for one in self.paths["credits"]["fields"] if one["name"] == "amount"]
        return _type_of(amount)


def version_of(run_labels: Iterable[str]) -> str:
    """Eight hex digits that change with what is asked: part of what identifies a partition, so that it is asked again."""
    return sha256("\n".join((VERSION, _WORDS, *sorted(run_labels))).encode()).hexdigest()[:8]


def grouped_sql(table: Table, axis: Axis, run_labels: Iterable[str], days: Iterable[date]) -> str:
    """The rows and groups of some partitions, and the sums of each partition's rows."""
    keys = _group_keys(table)
    named = [f"{expression} AS {name}" for name, expression in keys.items()]
    names = ", ".join(keys)
    figures = {f"m{place}": path for place, path in enumerate(MEASURES) if path in table}
    sums = [f"SUM(IF(part.is_line, {name}, NULL)) AS {name}" for name in figures]
    outer = [f"SUM({name}) AS {name}" for name in figures]
    credits = "ARRAY_AGG(IF(is_line, NULL, STRUCT(part_type AS type, credited AS amount)) IGNORE NULLS ORDER BY part_type)"
    newest = "MAX(line.export_time)" if "export_time" in table else "CAST(NULL AS TIMESTAMP)"
    no_credits = "ARRAY<STRUCT<is_line BOOL, type STRING, units BIGNUMERIC>>[]"
    of_credit = (
        f"SELECT AS STRUCT FALSE AS is_line, {table.credit('type')} AS type, "
        f"{in_units('credit.amount', table.amount_type, CREDIT_DECIMALS)} AS units FROM UNNEST(credits) AS credit"
        if "credits" in table
        else ""
    )
    parts = f"ARRAY({of_credit})" if of_credit else no_credits
    return "\n".join(
        (
            f"WITH source AS (\n  SELECT *, {axis.day} AS {DAY}\n  FROM {quoted(table.name)}\n  WHERE {axis.among(days)}\n),",
            *_machines(table),
            f"lines AS (\n  SELECT line.*,\n    {_is_single(table, run_labels)} AS is_single,",
            *(
                f"    {in_units(table.value(path), table.type_of(path), MEASURES[path][0])} AS {name},"
                for name, path in figures.items()
            ),
            f"    {_credited(table)} AS all_credits\n  FROM source AS line{_joins(table)}\n),",
            "parts AS (",
            f"  SELECT {', '.join(named)}, part.is_line, part.type AS part_type, COUNTIF(part.is_line) AS line_count,",
            *(f"    {one}," for one in sums),
            f"    {newest} AS newest_export, SUM(part.units) AS credited",
            "  FROM lines AS line, UNNEST(ARRAY_CONCAT(",
            f"    [STRUCT(TRUE AS is_line, CAST(NULL AS STRING) AS type, CAST(NULL AS BIGNUMERIC) AS units)], {parts}",
            "  )) AS part\n  WHERE NOT line.is_single",
            f"  GROUP BY {names}, is_line, part_type\n),",
            f"line_groups AS (\n  SELECT {names}, SUM(line_count) AS line_count, MAX(newest_export) AS newest_export,",
            *(f"    {one}," for one in outer),
            f"    {credits} AS credits\n  FROM parts\n  GROUP BY {names}\n)",
            f"SELECT {_columns(table, _SingleRow(table))},\n  1 AS {LINE_COUNT}, line.{DAY}, CAST(NULL AS STRING) AS {TOTALS}",
            "FROM lines AS line\nWHERE line.is_single\nUNION ALL",
            f"SELECT {_columns(table, _Group(table))},\n  line.line_count, line.{DAY}, CAST(NULL AS STRING)",
            "FROM line_groups AS line\nUNION ALL",
            f"SELECT {_columns(table, _Nothing(table))},\n  NULL, line.{DAY},\n  {_totals(figures)}",
            f"FROM lines AS line\nGROUP BY line.{DAY}",
        )
    )


def rows_of_group_sql(table: str) -> str:
    """SQL of DuckDB that makes, of a row `its` of staging, the statement that lists the rows of a group in the table.

    A group is named by its day of use and by the columns that a row of staging has of it. Rows that travelled by themselves, or
    have other credits, may have the same.
    """

    def condition(path: str, name: str) -> str:
        dotted = ".".join(map(quoted, path.split(".")))
        value = f"replace(replace(its.{name}, chr(92), chr(92) || chr(92)), chr(39), chr(92) || chr(39))"
        return (
            f"case when nullif(its.{name}, '') is not null then ' AND {dotted} = ' || chr(39) || {value} || chr(39) else '' end"
        )

    conditions = " || ".join(condition(path, name) for path, name in _STAGED.items())
    begins = f'SELECT * FROM {quoted(table)} WHERE DATE(`usage_start_time`, "UTC") = DATE "'
    return f"'{begins}' || strftime(its.charge_period_start, '%Y-%m-%d') || chr(34) || {conditions}"


def _paths(fields: Iterable[Mapping[str, Any]], before: str = "") -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The columns of a table by their dotted paths; below a repeated one nothing has a path."""
    for one in fields:
        path = f"{before}{one['name']}"
        yield path, one
        if _is_record(one) and not _is_repeated(one):
            yield from _paths(one["fields"], f"{path}.")


def _is_record(one: Mapping[str, Any]) -> bool:
    return str(one["type"]).upper() in {"RECORD", "STRUCT"}


def _is_repeated(one: Mapping[str, Any]) -> bool:
    return str(one.get("mode") or "").upper() == "REPEATED"


def _type_of(one: Mapping[str, Any]) -> str:
    kind = str(one["type"]).upper()
    if _is_record(one):
        parts = ", ".join(f"{quoted(str(part['name']))} {_type_of(part)}" for part in one["fields"])
        found = f"STRUCT<{parts}>"
    else:
        found = _TYPES.get(kind, kind)
    return f"ARRAY<{found}>" if _is_repeated(one) else found


def _ends(table: Table, source: str) -> list[str]:
    """By what a machine is known: the last parts of its name and of its path."""
    paths = [path for path in ("resource.name", "resource.global_name") if path in table]
    return [f"REGEXP_EXTRACT({table.value(path, source)}, r'[^/]+$')" for path in paths]


def _is_accelerator(table: Table, source: str) -> str:
    return f"REGEXP_CONTAINS(LOWER(IFNULL({table.value('sku.description', source)}, '')), r'{_WORDS}')"


def _machines(table: Table) -> list[str]:
    """The machines of each partition of which accelerators are billed in it."""
    if not (ends := _ends(table, "line")):
        return []
    return [
        f"machines AS (\n  SELECT DISTINCT line.{DAY}, machine\n  FROM source AS line, UNNEST([{', '.join(ends)}]) AS machine",
        f"  WHERE machine IS NOT NULL AND {_is_accelerator(table, 'line')}\n),",
    ]


def _joins(table: Table) -> str:
    return "".join(
        f"\n  LEFT JOIN machines AS machine_{place} ON line.{DAY} = machine_{place}.{DAY} AND {end} = machine_{place}.machine"
        for place, end in enumerate(_ends(table, "line"))
    )


def _has_label(table: Table, column: str, keys: Iterable[str]) -> list[str]:
    if column not in table:
        return []
    listed = ", ".join(_literal(key) for key in dict.fromkeys(keys))
    return [f"EXISTS(SELECT 1 FROM UNNEST(line.{column}) AS label WHERE label.key IN ({listed}) AND label.value <> '')"]


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _is_single(table: Table, run_labels: Iterable[str]) -> str:
    """Whether a row travels as it is."""
    found = [_is_accelerator(table, "line")]
    found += [f"machine_{place}.machine IS NOT NULL" for place, _ in enumerate(_ends(table, "line"))]
    found += _has_label(table, "labels", (*run_labels, *_LABELS)) + _has_label(table, "system_labels", _SYSTEM_LABELS)
    found.append(f"STARTS_WITH(LOWER(IFNULL({table.value('sku.description')}, '')), 'commitment')")
    if "subscription.instance_id" in table:
        found.append(f"IFNULL({table.value('subscription.instance_id')}, '') <> ''")
    for path in ("resource.name", "resource.global_name"):
        if path in table:
            found.append(f"IFNULL(REGEXP_CONTAINS({table.value(path)}, r'/(customJobs|reservations)/'), FALSE)")
    if "resource.name" in table:
        is_correction = [f"LOWER(IFNULL({table.value('cost_type')}, '')) = 'adjustment'"] if "cost_type" in table else []
        if "adjustment_info.type" in table:
            is_correction.append(f"IFNULL({table.value('adjustment_info.type')}, '') <> ''")
        if is_correction:
            names = " OR ".join(
                f"IFNULL({table.value(f'resource.{x}')}, '') <> ''" for x in ("name", "global_name") if f"resource.{x}" in table
            )
            found.append(f"(({' OR '.join(is_correction)}) AND ({names}))")
    bad = [f"{table.value('cost')} IS NULL"]
    bad += [is_refused(table.value(path), table.type_of(path), most) for path, (_, most) in MEASURES.items() if path in table]
    if "credits" in table:
        kinds = ", ".join(map(_literal, _COMMITTED))
        is_bad = f"credit.amount IS NULL OR {is_refused('credit.amount', table.amount_type, MONEY)}"
        is_committed = f"UPPER(IFNULL({table.credit('type')}, '')) IN ({kinds})"
        found.append(f"EXISTS(SELECT 1 FROM UNNEST(line.credits) AS credit WHERE {is_committed} OR {is_bad})")
    return "\n    OR ".join((*found, *bad))


def _credited(table: Table) -> str:
    """All credits of a row, in units."""
    if "credits" not in table:
        return "CAST(NULL AS BIGNUMERIC)"
    return f"(SELECT SUM({in_units('credit.amount', table.amount_type, CREDIT_DECIMALS)}) FROM UNNEST(line.credits) AS credit)"


def _group_keys(table: Table) -> dict[str, str]:
    """Name and expression of what groups are made by."""
    keys = {DAY: f"line.{DAY}", "usage_day": "TIMESTAMP_TRUNC(line.usage_start_time, DAY, 'UTC')"}
    keys |= {_name(path): table.value(path) for path in KEYS if path in table}
    if "location.zone" in table:
        is_region = f"IFNULL(STRPOS({table.value('location.region')}, '-') > 0, FALSE)"
        keys["location_zone"] = f"IF({is_region}, NULL, {table.value('location.zone')})"
    for place, path in enumerate(MEASURES):
        if path in table:
            keys[f"has_{place}"] = (
                f"IFNULL({table.value(path)} <> 0, FALSE)" if path == "usage.amount" else f"line.m{place} IS NOT NULL"
            )
    price = "0"
    if "credits" in table:
        kinds = ", ".join(map(_literal, PRICE_CREDITS))
        kind = f"UPPER(IFNULL({table.credit('type')}, ''))"
        keys["credit_types"] = (
            f"ARRAY_TO_STRING(ARRAY(SELECT DISTINCT {kind} AS type FROM UNNEST(line.credits) AS credit ORDER BY type), ',')"
        )
        units = in_units("credit.amount", table.amount_type, CREDIT_DECIMALS)
        price = f"(SELECT SUM(IF({kind} IN ({kinds}), {units}, 0)) FROM UNNEST(line.credits) AS credit)"
        price = f"IFNULL(CAST({figure_of(price, CREDIT_DECIMALS)} AS FLOAT64), 0)"
    keys["is_negative"] = f"CAST({table.value('cost')} AS FLOAT64) + {price} < 0"
    return keys


def _name(path: str) -> str:
    return path.replace(".", "_")


@dataclass(frozen=True)
class _Nothing:
    """A row of the answer without a value in any column of the export."""

    table: Table

    def at(self, path: str) -> str:
        """The value at a path."""
        return f"CAST(NULL AS {'BIGNUMERIC' if path in MEASURES else self.table.type_of(path)})"

    def credits(self) -> str:
        """The array of credits."""
        return "CAST(NULL AS ARRAY<STRUCT<type STRING, amount BIGNUMERIC>>)"


@dataclass(frozen=True)
class _SingleRow(_Nothing):
    """A row of the export as it is, with its exact figures."""

    def at(self, path: str) -> str:
        """The value at a path."""
        if path not in MEASURES:
            return self.table.value(path)
        decimals, most = MEASURES[path]
        value = self.table.value(path)
        figure = figure_of_row(value, self.table.type_of(path), decimals, most)
        if path == "usage.amount":  # a rule asks whether there is use, however much
            return f"IFNULL({figure}, IF({value} IS NULL, NULL, BIGNUMERIC '1e15'))"
        return figure

    def credits(self) -> str:
        """The array of credits."""
        figure = figure_of_row("credit.amount", self.table.amount_type, CREDIT_DECIMALS, MONEY)
        element = f"SELECT AS STRUCT {self.table.credit('type')} AS type, {figure} AS amount"
        return f"ARRAY({element} FROM UNNEST(line.credits) AS credit WITH OFFSET AS place ORDER BY place)"


@dataclass(frozen=True)
class _Group(_Nothing):
    """A group, in the columns of the export."""

    def at(self, path: str) -> str:
        """The value at a path."""
        if path == "usage_start_time":
            return "line.usage_day"
        if path == "usage_end_time":
            return "TIMESTAMP_ADD(line.usage_day, INTERVAL 1 DAY)"
        if path == "export_time":
            return "line.newest_export"
        if path in MEASURES:
            place = list(MEASURES).index(path)
            figure = figure_of(f"line.m{place}", MEASURES[path][0])
            if path == "usage.amount":  # a rule asks whether there is use; its sum may be 0
                return f"IF(line.has_{place} AND IFNULL(line.m{place}, 0) = 0, BIGNUMERIC '1e-10', {figure})"
            return figure
        return f"line.{_name(path)}" if path in KEYS or path == "location.zone" else super().at(path)

    def credits(self) -> str:
        """The array of credits."""
        amount = figure_of("credit.amount", CREDIT_DECIMALS)
        element = f"SELECT AS STRUCT credit.type, {amount} AS amount"
        return f"ARRAY({element} FROM UNNEST(line.credits) AS credit WITH OFFSET AS place ORDER BY place)"


def _columns(table: Table, row: _Nothing) -> str:
    """The columns of the answer: the declared ones that the table has, in its order, nested as they are there."""
    declared = {*LINE_COLUMNS, *MAPS}
    found = []
    for one in table.fields:
        name = str(one["name"])
        if name == "credits":
            found.append(f"{row.credits()} AS credits")
        elif name in declared:
            found.append(f"{row.at(name)} AS {quoted(name)}")
        elif _is_record(one) and not _is_repeated(one):
            parts = [str(part["name"]) for part in one["fields"] if f"{name}.{part['name']}" in declared]
            if parts:
                values = ", ".join(f"{row.at(f'{name}.{part}')} AS {quoted(part)}" for part in parts)
                found.append(f"STRUCT({values}) AS {quoted(name)}")
    return ",\n  ".join(found)


def _totals(figures: Mapping[str, str]) -> str:
    """Number and exact sums of the rows themselves, as one text."""
    sums = {path: f"CAST({figure_of(f'SUM(line.{name})', MEASURES[path][0])} AS STRING)" for name, path in figures.items()}
    sums[CREDIT] = f"CAST({figure_of('SUM(line.all_credits)', CREDIT_DECIMALS)} AS STRING)"
    listed = ", ".join(f"{value} AS {quoted(_name(path))}" for path, value in sums.items())
    return f"TO_JSON_STRING(STRUCT(COUNT(*) AS row_count, {listed}))"
