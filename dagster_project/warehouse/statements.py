"""The statements of a build by months as dbt laid them out, kept so that the next such build need not start dbt.

dbt turns the models into SQL. For one version of the code that is the same SQL in every build of months, save the months
themselves, and starting dbt to have it again costs more than the statements of a small build. So the first build of months that
passes is kept, statement by statement in the order in which dbt ran them, and later ones run those. Where any of them fails, or a
test finds rows, nothing is decided here: dbt builds the same months again and tells in its own words what is wrong. Full builds
and builds on Spark are always dbt's, and `--full` shows that both ways end in the same bytes (ADR 0039).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project import durable
from dagster_project.warehouse import gates, modelling

if TYPE_CHECKING:
    import duckdb

    from dagster_project.warehouse.builds import Build
    from dagster_project.warehouse.site import Site

LOG = logging.getLogger("trainledger")
BY_MONTH = "by_month"
MONTHS = re.compile(r"/\* months \*/.*?/\* end of months \*/")  # written by replace_months in dbt/macros/by_month.sql


@dataclass(frozen=True, slots=True)
class Statement:
    """What dbt ran for one model or test. `sql` of a test counts its failing rows; `kind` is a materialisation, or test."""

    unique_id: str
    name: str
    kind: str
    relation: str | None
    sql: str
    shows_status: bool = False  # also built again for months of which only the status is new
    warning: str | None = None  # of a test that blocks nothing: the query of its rows

    def of(self, build: Build) -> str | None:
        """The SQL for the months of a build; None where there is nothing to do."""
        if self.kind == BY_MONTH:
            months = sorted({*build.months, *(build.turned if self.shows_status else ())})
            dates = ", ".join(f"date '{month}'" for month in months)
            return MONTHS.sub(dates, self.sql) if months else None
        if self.kind == "test":
            return self.sql
        return f"drop {self.kind} if exists {self.relation}; {self.sql}"


def keep(site: Site, build: Build, run_results: dict[str, Any], connection: duckdb.DuckDBPyConnection) -> None:
    """Keep the statements of a build of months that dbt just ended, if everything was built and every test passed."""
    results = run_results["results"]
    if build.is_full or not build.months or any(result["status"] not in ("success", "pass", "warn") for result in results):
        return
    nodes = modelling.project(site.root)["nodes"]
    kept = [_statement(nodes[result["unique_id"]], site.target, result["compiled_code"]) for result in results]
    folder, measures = modelling.parsed_project(site.root), _measures(connection)
    for outdated in set(folder.glob("statements-*.json")) - set(folder.glob(_names(build))):
        outdated.unlink(missing_ok=True)
    kinds = hashlib.sha256(repr(measures).encode()).hexdigest()[:16]
    document = {"measures": measures, "statements": [asdict(statement) for statement in kept]}
    durable.write_json(folder / _names(build).replace("*", kinds), document)


def _statement(node: dict[str, Any], target: Path, compiled: str) -> Statement:
    folder = target / "run" / node["package_name"]
    config = node["config"]
    is_test = node["resource_type"] == "test"
    place = Path(node["original_file_path"])
    return Statement(
        node["unique_id"],
        node["name"],
        "test" if is_test else config["materialized"],
        node["relation_name"],
        (folder / place if place.suffix == ".sql" else folder / place / f"{node['alias']}.sql").read_text(),
        shows_status=(config.get("meta") or {}).get("rebuilt_for") == "status",
        warning=compiled if is_test and not gates.is_blocking(node) else None,
    )


def run(
    site: Site, build: Build, connection: duckdb.DuckDBPyConnection, on_node: Callable[[modelling.Finished], None] | None
) -> list[dict[str, Any]] | None:
    """Run the kept statements; what became of each in the shape of dbt's results. None: there are none, or dbt must tell more."""
    statements = None if build.is_full else _kept(site, build, connection)
    if statements is None:
        return None
    import duckdb

    if threads := os.environ.get("TRAINLEDGER_THREADS"):  # as in dbt/profiles.yml
        connection.execute(f"set threads = {int(threads)}")
    results = []
    for number, statement in enumerate(statements, 1):
        try:
            result = _run(statement, build, connection)
        except duckdb.Error as error:  # where it is not the statement's fault alone, dbt meets it too and ends with it
            LOG.warning("%s, kept from an earlier build, failed; dbt builds these months again: %s", statement.name, error)
            return None
        if result is None:
            return None
        results.append(result)
        if on_node:
            on_node(modelling.Finished(statement.name, number, len(statements)))
    return results


def _run(statement: Statement, build: Build, connection: duckdb.DuckDBPyConnection) -> dict[str, Any] | None:
    """Run one statement in a transaction of its own. None where a test that blocks found rows."""
    started, failures = time.monotonic(), 0
    if sql := statement.of(build):
        with connection.cursor() as cursor:
            cursor.begin()
            cursor.execute(sql)
            if statement.kind == "test":
                failures, *_ = cursor.fetchone() or (1,)
            cursor.commit()
    if failures and statement.warning is None:
        return None
    return {
        "unique_id": statement.unique_id,
        "status": "warn" if failures else "pass" if statement.kind == "test" else "success",
        "execution_time": time.monotonic() - started,
        "failures": failures,
        "compiled_code": statement.warning,
    }


def _kept(site: Site, build: Build, connection: duckdb.DuckDBPyConnection) -> list[Statement] | None:
    needed = {tuple(measure) for measure in _measures(connection)}
    for path in sorted(modelling.parsed_project(site.root).glob(_names(build))):
        document = json.loads(path.read_bytes())
        if needed <= {tuple(measure) for measure in document["measures"]}:
            return [Statement(**kept) for kept in document["statements"]]
    return None


def _names(build: Build) -> str:
    """The files of one version of the code."""
    return f"statements-{build.code_version[:16]}-*.json"


def _measures(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """The measures with control totals. One test is written out by them; one that no delivery of a build has adds nothing."""
    found = connection.execute("select distinct kind, measure, column_type, decimals from raw.measure_totals order by all")
    return [list(measure) for measure in found.fetchall()]
