"""The statements of a build as dbt lays them out: once for each version of the dbt project, kept beside the parsed project.

dbt turns models, seeds and tests into SQL, and for one version of the project that is the same SQL in every home and every build,
save the months that a build is of. So dbt compiles it once, in a folder without any data, and runner.py runs it in every build
on DuckDB. What a statement is lives here; when it is run, and what of a build need not be run, does not.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from dagster_project.base.dbt_project import project_folder
from dagster_project.publishing.digest import literal, quoted
from dagster_project.warehouse import gates, modelling

BY_MONTH = "by_month"
SEED = "seed"
TEST = "test"
# below dbt/models: the ledger is whole without what is there
REPORTS = ("marts/reports/", "intermediate/reporting/", "intermediate/comparison/")
PAGES = "pages/"  # likewise: what reports print, which no build runs
VIEW, TABLE = "view", "table"
RUN = (BY_MONTH, TABLE, VIEW, SEED, TEST)
BUILT_DAYS = re.compile(r"/\* days (\S+) \*/")  # likewise: where only some days of a table by day are built
WHOLE = re.compile(r"/\* whole \*/.*?/\* end of whole \*/", re.S)  # in dbt/macros/by_month.sql: only where a table is built whole
# each begins with letters of its own, by which megabytes are searched in no time
RELATION, RAW_RELATION = re.compile(r'"build"\."(\w+)"\."(\w+)"'), re.compile(r"raw(?<!\wraw)\.(\w+)")
ONE_CONSTRAINT = {"not_null": "not null"}


@dataclass(frozen=True, slots=True)
class Statement:
    """What is run for one model, seed or test. `sql` selects its rows; those of a test are the ones that must not be."""

    unique_id: str
    name: str
    kind: str  # a materialisation, seed or test
    schema: str
    sql: str
    reads: tuple[str, ...]  # 'schema.table'
    columns: tuple[tuple[str, str, str], ...] = ()  # of a contract, or of a seed: name, type, constraint
    also_replaced: str | None = None  # by month: rows of several months, replaced by every build that has a month
    by_day: str | None = None  # by month: the column of the day, where days of a month are replaced (days.py)
    landed_days_of: str | None = None  # by day: the kind of landed samples whose days it has (days.py)
    days: str | None = None  # by month: the column of the day, where its months are replaced whole and others read it by day
    reaches: tuple[
        str, ...
    ] = ()  # by month: columns with the first and last microsecond of a row that others read by days it reaches
    shows_status: bool = False  # by month: also built again for months of which only the status is new
    empty_without: tuple[tuple[str, str], ...] = ()  # relations and conditions: one must have such a row, or it has none
    blocks: bool = True  # a test: whether its rows stop the build
    is_report: bool = False  # a report model, or a table that report models have in common

    @property
    def relation(self) -> str:
        """The name by which others read it."""
        return f"{self.schema}.{self.name}"

    @property
    def is_test(self) -> bool:
        """Whether it is a data test."""
        return self.kind == TEST

    @property
    def definition(self) -> str:
        """sha256 over all that is run."""
        return hashlib.sha256(repr({name: getattr(self, name) for name in self.__slots__}).encode()).hexdigest()

    def whole(self) -> str:
        """The SQL that makes the view or table, which is not there."""
        if self.kind == VIEW:
            return f"create view {self.relation} as (\n{self.sql}\n)"
        if not self.columns:
            return f"create table {self.relation} as (\n{self.sql}\n)"
        declared = ", ".join(f"{quoted(name)} {kind} {constraint}" for name, kind, constraint in self.columns)
        names = ", ".join(quoted(name) for name, *_ in self.columns)
        rows = f"select {names} from (\n{self.sql}\n) as rows_of_all_months"
        return f"create table {self.relation} ({declared}); insert into {self.relation} ({names}) {rows}"

    def replaced(self, months: Iterable[str], days: Collection[str] | None = None) -> str:
        """The condition of the rows that a build of some months replaces, or of a table by day, of some of their days."""
        of_months = f"usage_month in ({_dates(months)})"
        if days is not None:
            return f"{of_months} and {self.by_day} in ({_dates(days)})"
        return f"({of_months} or {self.also_replaced})" if self.also_replaced else of_months

    def of_months(self, months: Collection[str], days: Collection[str] | None = None) -> str:
        """The SQL that takes some months, or days of them, out of a table and puts in the rows that the query has for them."""
        condition, sql = self.replaced(months, days), WHOLE.sub("", self.sql)
        if days is not None:
            sql = BUILT_DAYS.sub(rf"and \1 in ({_dates(days)})", sql)
        rows = f"select * from (\n{sql}\n) as rows_of_all_months where {condition}"
        return f"delete from {self.relation} where {condition}; insert into {self.relation} by name {rows}"


def _dates(days: Iterable[str]) -> str:
    return ", ".join(f"date '{day}'" for day in sorted(days))


def needed(every: Iterable[Statement], relations: Collection[str]) -> list[Statement]:
    """The models and seeds of some relations and of all that these read, in their order."""
    wanted, found = set(relations), list[Statement]()
    for one in reversed([one for one in every if not one.is_test]):  # who reads comes behind what is read
        if one.relation in wanted:
            wanted.update(one.reads)
            found.append(one)
    return found[::-1]


def digests(home: Path) -> dict[str, str]:
    """By name of each model, sha256 over what is run for it and for all that it reads."""
    found: dict[str, str] = {}
    for one in (one for one in statements(home) if not one.is_test):  # who reads comes behind what is read
        behind = "\n".join(f"{read} {found.get(read, '')}" for read in one.reads)
        found[one.relation] = hashlib.sha256(f"{one.definition}\n{behind}".encode()).hexdigest()
    return {relation.partition(".")[2]: digest for relation, digest in found.items()}


def statements(home: Path) -> list[Statement]:
    """Every statement of a build, in an order in which each has what it reads; a test as soon as all it reads is there."""
    texts, nodes = modelling.compiled(home), modelling.project(home)["nodes"]
    relations = {node["name"]: f"{node['schema']}.{node['alias']}" for node in nodes.values()}
    found = {key: _statement(node, texts.get(key, ""), relations) for key, node in nodes.items() if _is_run(node)}
    return _in_order(found)


def is_built(node: Mapping[str, Any]) -> bool:
    """Whether it is a model or a seed that a build makes: not a page of reports."""
    return node["resource_type"] == SEED or (node["resource_type"] == "model" and not node["path"].startswith(PAGES))


def _is_run(node: Mapping[str, Any]) -> bool:
    return node["resource_type"] == TEST or (is_built(node) and node["config"]["materialized"] in RUN)


def _in_order(statements: Mapping[str, Statement]) -> list[Statement]:
    makers = {one.relation: one for one in statements.values() if not one.is_test}
    graph = {relation: [read for read in one.reads if read in makers] for relation, one in sorted(makers.items())}
    waiting = {one: {read for read in one.reads if read in makers} for one in statements.values() if one.is_test}
    order = [test for test, reads in waiting.items() if not reads]
    for relation in TopologicalSorter(graph).static_order():
        order.append(makers[relation])
        for test in [test for test, reads in waiting.items() if relation in reads]:
            waiting[test].remove(relation)
            if not waiting[test]:
                order.append(test)
    return order


def _statement(node: Mapping[str, Any], text: str, relations: Mapping[str, str]) -> Statement:
    config, kind = node["config"], node["resource_type"]
    meta = config.get("meta") or {}
    if kind == SEED:
        columns, text = _seed(node)
    else:
        columns = _contract(node) if (config.get("contract") or {}).get("enforced") and config["materialized"] != VIEW else ()
    read = {*RELATION.findall(text), *(("raw", table) for table in RAW_RELATION.findall(text))}
    without = (one.partition(" where ") for one in meta.get("empty_without", ()))
    return Statement(
        node["unique_id"],
        node["name"] if kind == TEST else node["alias"],
        kind if kind in (TEST, SEED) else config["materialized"],
        node["schema"],
        text,
        tuple(sorted(f"{schema}.{table}" for schema, table in read)),
        columns,
        meta.get("also_replaced"),
        meta.get("by_day"),
        meta.get("of_landed_days"),
        meta.get("days"),
        tuple(meta.get("reaches", ())),
        meta.get("rebuilt_for") == "status",
        tuple((relations[name], condition or "true") for name, _, condition in without),
        kind != TEST or gates.is_blocking(node),
        kind == "model" and node["path"].startswith(REPORTS),
    )


def _contract(node: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """The columns as the contract declares them, in its order."""
    return tuple(
        (name, column["data_type"], " ".join(ONE_CONSTRAINT[rule["type"]] for rule in column.get("constraints", [])))
        for name, column in node["columns"].items()
    )


def _seed(node: Mapping[str, Any]) -> tuple[tuple[tuple[str, str, str], ...], str]:
    """Columns in the order of the file, and the SELECT of its rows; an empty cell is null."""
    place, types = node["original_file_path"], node["config"]["column_types"]
    with (project_folder() / place).open(newline="") as file:
        columns = tuple((name, types[name], "") for name in next(csv.reader(file)))
    declared = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind, _ in columns)
    file = literal(str(project_folder() / place))
    rows = f"select * from read_csv({file}, header = true, delim = ',', quote = '\"', columns = {{{declared}}})"
    return columns, f"{rows} -- {node['checksum']['checksum']}"
