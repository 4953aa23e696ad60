"""`trainledger verify PATH`: an issued report against its own evidence, offline, without configuration or home.

A pack may come from anybody. Its zip is unpacked only if we could have written it, its SQL is asked through the door
(reports/door.py), and no name in it leads anywhere. Each difference names its file or figure; what cannot be compared here is
reported, and is none.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.durable import sha256_of
from dagster_project.base.failures import UsageError
from dagster_project.evidence import chain, pack, signing
from dagster_project.evidence.issuing import ISSUE
from dagster_project.evidence.manifest import (
    MANIFEST,
    SIGNATURE,
    extract,
    files_below,
    manifest_differences,
    read_json,
    zip_differences,
)
from dagster_project.publishing.reporting import render_quarter
from reports.door import Door, DoorError, TooLongError, require_select
from reports.issue import Issue, Policy
from reports.page.numbers import plain
from reports.publication import Publication, opened_door
from reports.quarterly import code_digest
from reports.statements import report_statements

COMPARED = {  # numbers of a headline figure -> columns of its SQL
    **{name: name for name in ("value", "low", "high", "prior_low", "prior_high", "change", "change_ratio")},
    **{"whole": "whole_value", "prior": "prior_value"},
}
DEPENDS = {".pdf": ("typst", "jinja2", "markupsafe", *pack.FONTS), ".xlsx": ("xlsxwriter",), ".html": ("jinja2", "markupsafe")}


@dataclass(slots=True)
class Findings:
    """What verification came to: differences, what could not be compared here, and what was compared."""

    differences: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    issued: dict[str, Any] = field(default_factory=dict)  # issue.json
    is_partial: bool = False  # a table could not be built again, so it was not compared

    @property
    def exit_code(self) -> int:
        """1 where something differs, 3 where not every table, or no figure and no table, could be compared."""
        compared = self.counts.get("figures", 0) + self.counts.get("rebuilt", 0)
        return 1 if self.differences else 0 if compared and not self.is_partial else 3


@dataclass(frozen=True, slots=True)
class Demands:
    """What is asked of the signature: that there is one, or that it is by the owner of a public key (PEM)."""

    is_signature_required: bool = False
    trusted_key: bytes | None = None


@contextmanager
def opened_pack(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """The folder of a pack, unpacked where it is a zip, and what of the zip itself differs."""
    if path.is_dir() and not path.is_symlink():
        yield path.absolute(), []
        return
    if not path.is_file():
        raise UsageError("there is no such report", where=str(path), remedy="Give the folder or the zip of an issued report.")
    with tempfile.TemporaryDirectory(prefix="trainledger-verify-") as scratch:
        folder = extract(path, Path(scratch) / "pack")
        yield folder, list(zip_differences(path, folder, Path(scratch)))


def verify_pack(path: Path, folder: Path, zip_differences: list[str], demands: Demands = Demands()) -> Findings:
    """Compare files, signature, chain, figures and rendering. Figures are asked only of files that match the manifest."""
    found = Findings(list(zip_differences))
    found.differences += manifest_differences(folder)
    found.counts["files"] = len(files_below(folder))
    issued = read_json(folder / ISSUE) if (folder / ISSUE).is_file() else None
    found.issued = issued if isinstance(issued, dict) else {}
    _check_signature(folder, found, demands)
    _check_chain(path, folder, found)
    if found.differences:
        return found  # damaged Parquet or SQL would only repeat it in other words
    try:
        _check_figures(folder, found)
        _check_rendering(folder, found)
    except TooLongError as error:
        found.differences.append(str(error))
    except (KeyError, TypeError, ValueError, AttributeError, UsageError, DoorError) as error:  # a pack that another program wrote
        found.differences.append(f"{ISSUE}: the pack is not as trainledger writes one ({type(error).__name__}: {error})")
    return found


def _check_signature(folder: Path, found: Findings, demands: Demands) -> None:
    key, signature = folder / signing.PUBLIC_KEY, folder / SIGNATURE
    if not key.is_file() and not signature.is_file() and not found.issued.get("is_signed"):
        if demands.is_signature_required or demands.trusted_key:
            found.differences.append(f"{SIGNATURE}: a signature is asked for, and the report has none")
        found.remarks.append("Not signed: integrity only. Who issued it is not shown by the pack.")
        return
    if not (key.is_file() and signature.is_file()):
        found.differences.append(
            f"{SIGNATURE if key.is_file() else signing.PUBLIC_KEY}: a signed report has it, and it is not there"
        )
    elif not signing.is_signed_by(key.read_bytes(), signature.read_bytes(), (folder / MANIFEST).read_bytes()):
        found.differences.append(f"{SIGNATURE}: it is no signature of {MANIFEST} by {signing.PUBLIC_KEY}")
    else:
        trusted, data = demands.trusted_key, (folder / MANIFEST).read_bytes()
        fingerprint = signing.fingerprint(key.read_bytes())
        if trusted is None:
            found.remarks.append(f"Signed by the key with sha256 {fingerprint}: compare it with the one its owner gives you.")
        elif signing.is_signed_by(trusted, signature.read_bytes(), data):
            found.remarks.append("Signed by the trusted key.")
        else:
            found.differences.append(f"{SIGNATURE}: it is not by the trusted key, but by the one with sha256 {fingerprint}")


def _check_chain(path: Path, folder: Path, found: Findings) -> None:
    """The chain beside `issued/`, where the report lies in a home."""
    reports = path.absolute().parent.parent
    if path.absolute().parent.name != chain.FOLDER or not (reports / chain.CHAIN).is_file():
        found.remarks.append(f"No {chain.CHAIN} beside it: whether a later report takes its place is not known here.")
        return
    if differences := list(chain.chain_differences(reports / chain.CHAIN)):
        found.differences += differences
        return
    line = chain.line_of(reports / chain.CHAIN, folder.name)
    if line is None:
        found.differences.append(f"{chain.CHAIN}: it has no line of {folder.name}")
        return
    if line["manifest_sha256"] != sha256_of(folder / MANIFEST):
        found.differences.append(f"{MANIFEST}: it is not the one that {chain.CHAIN} names")
    if path.is_file() and line["zip_sha256"] != sha256_of(path):
        found.differences.append(f"{path.name}: it is not the zip that {chain.CHAIN} names")
    own = path.absolute().parent / f"{folder.name}.line.json"
    if own.is_file() and read_json(own) != line:
        found.differences.append(f"{own.name}: it is not the line of {chain.CHAIN}")
    last = chain.last_of(chain.lines_of(reports), line["quarter"])
    if last and last["report_id"] != line["report_id"]:
        found.remarks.append(f"{last['report_id']} takes the place of this report.")


def _check_figures(folder: Path, found: Findings) -> None:
    """Ask every table and headline figure again, of the pack's Parquet and by the pack's own SQL."""
    record = read_json(folder / "report" / "report.json")
    if (folder / "load.sql").read_text() != pack.load_sql(folder):
        found.differences.append("load.sql: it is not what loads the pack's tables")
    data = folder / "data"
    with opened_door(data) as (connection, door), opened_door(data, is_empty=True) as (_, door_of_nothing):
        for item in pack.asked_items(record):
            written = (folder / "sql" / f"{pack.query_name(item)}.sql").read_text()
            if written.rstrip("\n;") != item["sql"].rstrip("\n;"):
                found.differences.append(
                    f"sql/{pack.query_name(item)}.sql: it is not the SQL that report.json gives for {item['id']}"
                )
            try:
                found.differences += _other_values(door, door_of_nothing, item)
            except TooLongError as error:
                raise TooLongError(f"{item['id']}: {error} No more of the pack's SQL is asked.") from None
            found.counts["figures"] = found.counts.get("figures", 0) + _figures_in(item)
        for model, statement in report_statements(Publication(connection, door)).items():
            found.differences += _other_model(connection, door, pack.file_name(model), statement)


def _other_model(connection: duckdb.DuckDBPyConnection, door: Door, model: str, statement: str) -> Iterator[str]:
    """Whether a report table has other rows than its SELECT gives of the pack's other tables: figures are read from it."""
    table = f'(select * from marts."{model}")'
    try:
        if f"marts.{model}" in require_select(connection, statement):  # whole by itself, so it closes no bracket of ours
            yield f"model {model}: its SQL reads the table that it is to give"
            return
        rows = door.rows(
            f"with again as (\n{statement}\n), was as {table} select count(*) as n from"
            " ((from again except all from was) union all (from was except all from again))"
        )
    except TooLongError as error:
        raise TooLongError(f"model {model}: {error} No more of the pack's SQL is asked.") from None
    except (duckdb.Error, DoorError) as error:
        yield f"model {model}: its SQL cannot be run on the pack's tables ({str(error).splitlines()[0]})"
        return
    if rows[0]["n"]:
        yield f"data/marts/{model}.parquet: its SQL gives other rows of the pack's tables"


def _claims(row: dict[str, Any]) -> bool:
    """Whether an answer has an amount that is not 0."""
    return any(isinstance(value, Decimal | float | int) and value for value in row.values())


def _figures_in(item: dict[str, Any]) -> int:
    return sum(len(row["values"]) for row in item["rows"]) if "rows" in item else 1


def _other_values(door: Door, door_of_nothing: Door, item: dict[str, Any]) -> Iterator[str]:
    try:
        rows = door.rows(item["sql"], numbers=COMPARED.values() if "rows" not in item else ())
        of_nothing = door_of_nothing.rows(item["sql"])
    except TooLongError:
        raise
    except (duckdb.Error, DoorError) as error:
        yield f"{item['id']}: its SQL cannot be run on the pack's tables ({str(error).splitlines()[0]})"
        return
    if of_nothing == rows and any(_claims(row) for row in rows):
        yield f"{item['id']}: its SQL gives this of no row at all, so it proves nothing"
    if "rows" not in item:
        yield from _other_figure(rows, item)
        return
    if len(rows) != len(item["rows"]):
        yield f"{item['id']}: the report has {len(item['rows'])} rows, its SQL gives {len(rows)}"
        return
    for row, written in zip(rows, item["rows"], strict=True):
        for name, value in written["values"].items():
            if plain(row.get(name)) != value:
                yield f"{written['id']}, {name}: the report has {value}, its SQL gives {plain(row.get(name))}"


def _other_figure(rows: list[dict[str, Any]], item: dict[str, Any]) -> Iterator[str]:
    if len(rows) != 1:
        yield f"{item['id']}: its SQL gives {len(rows)} answers"
        return
    for name, column in COMPARED.items():
        if plain(rows[0].get(column)) != item.get(name):
            yield f"{item['id']}, {name}: the report has {item.get(name)}, its SQL gives {plain(rows[0].get(column))}"


def _check_rendering(folder: Path, found: Findings) -> None:
    """Render the report again from the pack's tables, byte for byte, where the code and libraries that did it are here."""
    issued, record = found.issued, read_json(folder / "report" / "report.json")
    if record["report_code_sha256"] != code_digest():
        found.remarks.append(
            "The report was rendered by another version of the code than is installed: figures are compared, its bytes are not."
        )
        return
    installed = pack.renderers()
    others = {name for name, version in issued["renderers"].items() if installed.get(name) != version}
    with tempfile.TemporaryDirectory(prefix="trainledger-render-") as scratch:
        render_quarter(
            folder / "data",
            Path(scratch),
            issued["quarter"],
            issued["organisation"],
            issued["status_note"],
            policy=Policy.of(issued["policy"]),
            issue=Issue.of(issued),
        )
        again, was = Path(scratch) / issued["quarter"], folder / "report"
        for name in sorted({*files_below(again), *files_below(was)}):
            if found_others := others & set(DEPENDS.get(Path(name).suffix, ())):
                found.remarks.append(
                    f"report/{name} is not compared: {', '.join(sorted(found_others))} is not the version that wrote it."
                )
            elif not ((again / name).is_file() and (was / name).is_file()):
                found.differences.append(f"report/{name}: rendering the report again gives other files")
            elif (again / name).read_bytes() != (was / name).read_bytes():
                found.differences.append(f"report/{name}: rendering the report again gives other bytes")
            else:
                found.counts["rendered"] = found.counts.get("rendered", 0) + 1


def json_of(found: Findings) -> str:
    """The findings for machines."""
    document = {
        "exit_code": found.exit_code,
        "report_id": found.issued.get("report_id"),
        **found.counts,
        "differences": found.differences,
        "remarks": found.remarks,
    }
    return json.dumps(document, indent=2, default=lambda value: str(value) if isinstance(value, Decimal) else repr(value))
