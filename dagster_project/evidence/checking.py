"""`trainledger verify PATH`: an issued report against its own evidence, offline, without configuration or home.

A pack may come from anybody. Its zip is unpacked only if we could have written it, its SQL is asked through the door
(reports/door.py), and no name in it leads anywhere. Each difference names its file or figure; what cannot be compared here is
reported, and is none. It stays light: `trainledger-verify` carries it to where no warehouse and no renderer is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.failures import UsageError
from dagster_project.evidence import chained, derived, documents, layout, signatures, stamps
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.layout import ISSUE, REPORT
from dagster_project.evidence.manifest import files_below, manifest_differences, opened_pack, read_json
from dagster_project.evidence.signatures import NO_TRUST, Trust
from reports.arranged import BOARD_PAGES, Arranged
from reports.door import Door, Row, TooLongError, require_select
from reports.errors import ReportError
from reports.page.numbers import plain
from reports.publication import Publication, opened_door
from reports.statements import report_statements
from reports.tracing.figures import IN_SQL

CHANGES = ("change", "change_by_activity", "change_by_method", "change_ratio")
NUMBERS = ("value", "low", "high", "prior_low", "prior_high", *CHANGES, "whole", "prior")  # of a headline figure
GROUPED = "grouped_deliveries"  # the table of a report that names such sources
DEPENDS = ("typst", *layout.FONTS)  # what the bytes of a PDF depend on
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
        with opened_door(folder / "data") as (connection, door):
            _check_figures(folder, found, connection, door)
            again = documents.compare(folder, found, Publication(connection, Door(connection)))
            found.groups += groups_of(read_json(folder / "report" / REPORT))
        if again:
            _render_again(folder, found, again)
    except TooLongError as error:
        found.remarks.append(str(error))
        found.is_partial = True
    except (KeyError, TypeError, ValueError, AttributeError, UsageError, ReportError) as error:  # another program wrote it
        found.differences.append(f"{ISSUE}: the pack is not as trainledger writes one ({type(error).__name__}: {error})")


def _check_figures(folder: Path, found: Findings, connection: duckdb.DuckDBPyConnection, door: Door) -> None:
    """Ask every table and headline figure again, of the pack's Parquet and by the pack's own SQL."""
    record, before = read_json(folder / "report" / REPORT), len(found.differences)
    answers: dict[str, list[Row]] = {}
    if (folder / "load.sql").read_text() != layout.load_sql(folder):
        found.differences.append("load.sql: it is not what loads the pack's tables")
    with opened_door(folder / "data", is_empty=True) as (_, door_of_nothing):
        for item in layout.asked_items(record):
            written = (folder / "sql" / f"{layout.query_name(item)}.sql").read_text()
            if written.rstrip("\n;") != item["sql"].rstrip("\n;"):
                what = f"it is not the SQL that report.json gives for {item['id']}"
                found.differences.append(f"sql/{layout.query_name(item)}.sql: {what}")
            with _asking(item["id"], found):
                found.differences += other_values(door, door_of_nothing, item, answers)
            figures = sum(len(row["values"]) for row in item["rows"]) if "rows" in item else 1
            found.counts["figures"] = found.counts.get("figures", 0) + figures
        for model, statement in report_statements(Publication(connection, door)).items():
            with _asking(f"model {layout.file_name(model)}", found):
                found.differences += _other_model(door, layout.file_name(model), statement)
        stated = found.issued["build"].get("absent")
        if found.issued.get("form") == layout.FORM and stated != dict(connection.execute(layout.ABSENT).fetchall()):
            found.differences.append(f"{ISSUE}: the report tables that it calls absent are not those whose gate did not pass")
        if len(found.differences) == before:  # of queries that give other figures the rows would differ too
            derived.compare(folder, found, connection, door, answers)


def groups_of(record: dict[str, Any]) -> Iterator[str]:
    """What a report states of the sources of which it rests on groups; it was compared with the pack's deliveries before."""
    tables = (table for section in record["sections"] for table in section["tables"])
    for row in (row["values"] for table in tables if table["id"] == GROUPED for row in table["rows"]):
        kept = f"; beside {row['kept_count']} of them these rows are kept in the landing" if int(row["kept_count"]) else ""
        yield (
            f"{row['source_name']}: {row['delivery_count']} deliveries are groups, not the provider's rows: {row['rows']} that"
            f" {row['grouped_by']} made of {row['grouped_rows']} rows{kept}."
        )


@contextmanager
def _asking(what: str, found: Findings) -> Iterator[None]:
    """Ask SQL of the pack. That it cannot be run differs; after a query that does not end no more is asked."""
    try:
        yield
    except TooLongError as error:
        raise TooLongError(f"{what}: {error} It cannot be compared, and no more of the pack's SQL is asked.") from None
    except (duckdb.Error, ReportError) as error:
        found.differences.append(f"{what}: its SQL cannot be run on the pack's tables ({str(error).splitlines()[0]})")


def _other_model(door: Door, model: str, statement: str) -> Iterator[str]:
    """Whether a report table has other rows than its SELECT gives of the pack's other tables: figures are read from it."""
    if f"marts.{model}" in require_select(statement):  # whole by itself, so it closes no bracket of ours
        yield f"model {model}: its SQL reads the table that it is to give"
        return
    # one grouping of the rows of both: to except them from each other, either way, numbers them in four windows
    [differing] = door.rows(
        f"with again as (\n{statement}\n),"
        f' both_of as (select *, 1 as side_of_it from again union all select *, -1 from marts."{model}"),'
        " uneven as (select * exclude (side_of_it), sum(side_of_it) as side_of_it from both_of group by all)"
        " select count(*) as n from uneven where side_of_it <> 0"
    )
    if differing["n"]:
        yield f"data/marts/{model}.parquet: its SQL gives other rows of the pack's tables"


def other_values(
    door: Door, door_of_nothing: Door | None, item: dict[str, Any], answers: dict[str, list[Row]] | None = None
) -> Iterator[str]:
    """What a table or headline figure of the report has, and its SQL does not give; of no row at all it is to give nothing.

    The answer is kept in `answers`, by its SQL, where there is such a place.
    """
    is_table, place = "rows" in item, item["id"]
    rows = door.rows(item["sql"], numbers=() if is_table else [IN_SQL.get(name, name) for name in NUMBERS])
    if answers is not None:
        answers[item["sql"]] = rows
    of_nothing = door_of_nothing.rows(item["sql"]) if door_of_nothing else None
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


def _render_again(folder: Path, found: Findings, again: Arranged) -> None:
    """Set each PDF again, byte for byte, where the libraries that did it are here: what its drawings show is in no text.

    An extra: every text of it was read back and compared without them.
    """
    installed, then = layout.renderers(), found.issued["renderers"]
    if missing := [name for name in layout.RENDERERS if name not in installed]:
        what = f"Rendering: not asked for, as {', '.join(missing)} are not installed (trainledger-verify[rendering] has them)"
        found.remarks.append(f"{what}: texts were read back, drawings are not compared.")
        return
    if others := [name for name in DEPENDS if installed[name] != then.get(name)]:
        what = f"The PDFs are not rendered again: {', '.join(others)} is not the version that wrote them"
        found.remarks.append(f"{what}: their texts were read back, their drawings are not compared.")
        return
    from reports.page import pdf

    for name, page, pages in (("report.pdf", again.page, 0), (layout.BOARD, again.sheets, BOARD_PAGES)):
        if not (folder / "report" / name).is_file():
            continue  # which was found with the documents
        if pdf.document(page, again.record, pages=pages) == (folder / "report" / name).read_bytes():
            found.counts["rendered"] = found.counts.get("rendered", 0) + 1
        elif not found.differences:
            found.differences.append(f"report/{name}: its texts are as stated, and rendering it again gives other bytes")
