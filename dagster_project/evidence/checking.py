"""`trainledger verify PATH`: an issued report against its own evidence, offline, without configuration or home.

A pack may come from anybody. Its zip is unpacked only if we could have written it, its SQL is asked through the door
(reports/door.py), and no name in it leads anywhere. Each difference names its file or figure; what cannot be compared here is
reported, and is none. It stays light: `trainledger-verify` carries it to where no warehouse and no renderer is installed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.failures import UsageError
from dagster_project.evidence import chained, derived, layout, signatures, stamps
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.layout import ISSUE, REPORT
from dagster_project.evidence.manifest import files_below, manifest_differences, opened_pack, read_json
from dagster_project.evidence.signatures import NO_TRUST, Trust
from reports.code import code_digest
from reports.door import Door, TooLongError, require_select
from reports.errors import ReportError
from reports.issue import Issue, Policy
from reports.page.numbers import plain
from reports.publication import Publication, opened_door
from reports.statements import report_statements
from reports.tracing.figures import IN_SQL

CHANGES = ("change", "change_by_activity", "change_by_method", "change_ratio")
NUMBERS = ("value", "low", "high", "prior_low", "prior_high", *CHANGES, "whole", "prior")  # of a headline figure
DEPENDS = {".pdf": ("typst", "jinja2", "markupsafe", *layout.FONTS), ".xlsx": ("xlsxwriter",), ".html": ("jinja2", "markupsafe")}
# of a pack's folder and its issue.json: tables that differ, tables that cannot be built again, how many were compared
Rebuild = Callable[[Path, dict[str, Any]], tuple[list[str], list[str], int]]


def verify_pack(path: Path, trust: Trust = NO_TRUST, rebuild: Rebuild | None = None) -> Findings:
    """Compare zip, files, signatures, chain, figures and rendering; where `rebuild` is given, also the tables that it gives.

    Who must have signed is the reader's to state (`trust`). Figures are asked only of files that match the manifest: damaged
    Parquet or SQL would only repeat it in other words.
    """
    with opened_pack(path) as (folder, zip_differences):
        found = Findings([*zip_differences, *manifest_differences(folder)], counts={"files": len(files_below(folder))})
        issued = read_json(folder / ISSUE) if (folder / ISSUE).is_file() else None
        found.issued = issued if isinstance(issued, dict) else {}
        is_whole = not found.differences
        signatures.check(folder, found, trust)
        stamps.check(folder, found, trust.authorities)
        chained.check(path, folder, found)
        if is_whole:
            _ask_again(folder, found)
        if rebuild and not found.differences:
            differing, left_out, found.counts["rebuilt"] = rebuild(folder, found.issued)
            found.differences += differing
            found.remarks += left_out
            found.is_partial |= bool(left_out)
    return found


def _ask_again(folder: Path, found: Findings) -> None:
    """Figures and rendering, of a pack whose files are those of its manifest."""
    try:
        _check_figures(folder, found)
        _check_rendering(folder, found)
    except TooLongError as error:
        found.differences.append(str(error))
    except (KeyError, TypeError, ValueError, AttributeError, UsageError, ReportError) as error:  # another program wrote it
        found.differences.append(f"{ISSUE}: the pack is not as trainledger writes one ({type(error).__name__}: {error})")


def _check_figures(folder: Path, found: Findings) -> None:
    """Ask every table and headline figure again, of the pack's Parquet and by the pack's own SQL."""
    record, before = read_json(folder / "report" / REPORT), len(found.differences)
    if (folder / "load.sql").read_text() != layout.load_sql(folder):
        found.differences.append("load.sql: it is not what loads the pack's tables")
    data = folder / "data"
    with opened_door(data) as (connection, door), opened_door(data, is_empty=True) as (_, door_of_nothing):
        for item in layout.asked_items(record):
            written = (folder / "sql" / f"{layout.query_name(item)}.sql").read_text()
            if written.rstrip("\n;") != item["sql"].rstrip("\n;"):
                what = f"it is not the SQL that report.json gives for {item['id']}"
                found.differences.append(f"sql/{layout.query_name(item)}.sql: {what}")
            with _asking(item["id"], found):
                found.differences += _other_values(door, door_of_nothing, item)
            figures = sum(len(row["values"]) for row in item["rows"]) if "rows" in item else 1
            found.counts["figures"] = found.counts.get("figures", 0) + figures
        for model, statement in report_statements(Publication(connection, door)).items():
            with _asking(f"model {layout.file_name(model)}", found):
                found.differences += _other_model(connection, door, layout.file_name(model), statement)
        stated = found.issued["build"].get("absent")
        if found.issued.get("form") == layout.FORM and stated != dict(connection.execute(layout.ABSENT).fetchall()):
            found.differences.append(f"{ISSUE}: the report tables that it calls absent are not those whose gate did not pass")
        if len(found.differences) == before:  # of queries that give other figures the rows would differ too
            derived.compare(folder, found, connection, door)


@contextmanager
def _asking(what: str, found: Findings) -> Iterator[None]:
    """Ask SQL of the pack. That it cannot be run differs; after a query that does not end no more is asked."""
    try:
        yield
    except TooLongError as error:
        raise TooLongError(f"{what}: {error} No more of the pack's SQL is asked.") from None
    except (duckdb.Error, ReportError) as error:
        found.differences.append(f"{what}: its SQL cannot be run on the pack's tables ({str(error).splitlines()[0]})")


def _other_model(connection: duckdb.DuckDBPyConnection, door: Door, model: str, statement: str) -> Iterator[str]:
    """Whether a report table has other rows than its SELECT gives of the pack's other tables: figures are read from it."""
    if f"marts.{model}" in require_select(connection, statement):  # whole by itself, so it closes no bracket of ours
        yield f"model {model}: its SQL reads the table that it is to give"
        return
    [differing] = door.rows(
        f'with again as (\n{statement}\n), was as (select * from marts."{model}") select count(*) as n from'
        " ((from again except all from was) union all (from was except all from again))"
    )
    if differing["n"]:
        yield f"data/marts/{model}.parquet: its SQL gives other rows of the pack's tables"


def _other_values(door: Door, door_of_nothing: Door, item: dict[str, Any]) -> Iterator[str]:
    """What a table or headline figure of the report has, and its SQL does not give."""
    is_table, place = "rows" in item, item["id"]
    rows = door.rows(item["sql"], numbers=() if is_table else [IN_SQL.get(name, name) for name in NUMBERS])
    of_nothing = door_of_nothing.rows(item["sql"])
    is_claimed = any(isinstance(value, Decimal | float | int) and value for row in rows for value in row.values())
    if of_nothing == rows and is_claimed:
        yield f"{place}: its SQL gives this of no row at all, so it proves nothing"
    written = item["rows"] if is_table else [{"id": place, "values": {name: item.get(name) for name in NUMBERS}}]
    if len(rows) != len(written):
        of_table = f"the report has {len(written)} rows, its SQL gives {len(rows)}"
        yield f"{place}: {of_table if is_table else f'its SQL gives {len(rows)} answers'}"
        return
    for row, stated in zip(rows, written, strict=True):
        for name, value in stated["values"].items():
            found = plain(row.get(name if is_table else IN_SQL.get(name, name)))
            if found != value:
                yield f"{stated['id']}, {name}: the report has {value}, its SQL gives {found}"


def _check_rendering(folder: Path, found: Findings) -> None:
    """Render the report again from the pack's tables, byte for byte, where the code and libraries that did it are here."""
    issued, record = found.issued, read_json(folder / "report" / REPORT)
    if record["report_code_sha256"] != code_digest():
        what = "The report was rendered by another version of the code than is installed"
        found.remarks.append(f"{what}: figures are compared, its bytes are not.")
        return
    installed = layout.renderers()
    if missing := [name for name in layout.RENDERERS if name not in installed]:
        what = f"Rendering: not asked for, as {', '.join(missing)} are not installed (trainledger-verify[rendering] has them)"
        found.remarks.append(f"{what}: that the pages show these figures is not compared.")
        return
    from reports.quarterly import render

    others = {name for name, version in issued["renderers"].items() if installed.get(name) != version}
    with tempfile.TemporaryDirectory(prefix="trainledger-render-") as scratch:
        policy, issue = Policy.of(issued["policy"]), Issue.of(issued)
        quarter, organisation, note = issued["quarter"], issued["organisation"], issued["status_note"]
        render(folder / "data", quarter, Path(scratch), organisation=organisation, status_note=note, policy=policy, issue=issue)
        again, was = Path(scratch) / issued["quarter"], folder / "report"
        for name in sorted({*files_below(again), *files_below(was)}):
            if found_others := ", ".join(sorted(others.intersection(DEPENDS.get(Path(name).suffix, ())))):
                found.remarks.append(f"report/{name} is not compared: {found_others} is not the version that wrote it.")
            elif not ((again / name).is_file() and (was / name).is_file()):
                found.differences.append(f"report/{name}: rendering the report again gives other files")
            elif (again / name).read_bytes() != (was / name).read_bytes():
                found.differences.append(f"report/{name}: rendering the report again gives other bytes")
            else:
                found.counts["rendered"] = found.counts.get("rendered", 0) + 1
