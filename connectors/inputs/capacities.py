"""Capacity that was paid ahead, as its owner or AWS states it: instances, start and end of a capacity block or a training plan.

A form of user_inputs, told by its column `capacity_id`; its rows are landed as figures of kind `capacity`. AWS's own answers are
read as such tables: DescribeCapacityReservations, DescribeCapacityBlockExtensionHistory, DescribeTrainingPlan. What they take the
place of is decided in SQL.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from connectors.errors import ExportContentError, Place
from connectors.formats.lazy import pa
from connectors.formats.schema import Number, Schema, Text, Timestamp, optional, required
from connectors.inputs.small_tables import Row, Table

MOST_INSTANCES = 1_000_000
COLUMNS = ("capacity_id", "instances", "started_at", "ended_at", "source")
_SCHEMA = Schema(
    columns=(
        required("capacity_id", Text, filled=True),  # an ARN, or the id of a capacity reservation: cr-...
        required("instances", Number, filled=True, below=1e12),
        required("source", Text, filled=True),
        *optional("started_at ended_at", Timestamp),  # UTC
    ),
    remedy_page="docs/sources/user_inputs.md",
)
_FIGURE = {"capacity_id": "key", "instances": "value"}  # as a figure's columns
# of each answer: the list in it, and the names of id, instances, start and end
_ANSWERS = (
    ("CapacityReservations", ("CapacityReservationId", "TotalInstanceCount", "StartDate", "EndDate")),
    (
        "CapacityBlockExtensions",
        ("CapacityReservationId", "InstanceCount", "CapacityBlockExtensionStartDate", "CapacityBlockExtensionEndDate"),
    ),
)


def _mistakes(row: Row) -> Iterator[tuple[str, str]]:
    instances, start, end = float(row["instances"]), row.get("started_at"), row.get("ended_at")
    if not (instances == int(instances) and 1 <= instances <= MOST_INSTANCES):
        yield "instances", f"where there are 1 to {MOST_INSTANCES} of them"
    if (start is None) is not (end is None):
        yield ("started_at" if start is None else "ended_at"), "where the other end is stated"
    if start and end and end <= start:
        yield "ended_at", "where it is after started_at"


def _as_figures(capacities: pa.Table) -> pa.Table:
    named = capacities.rename_columns([_FIGURE.get(name, name) for name in capacities.column_names])
    for name, value in (("kind", "capacity"), ("unit", "instances")):
        named = named.append_column(name, pa.repeat(pa.scalar(value), capacities.num_rows))
    return named


CAPACITIES = Table(
    "capacity paid ahead", _SCHEMA, ("capacity_id", "started_at"), _mistakes, mark="capacity_id", landed=_as_figures
)


def write_answer_as_table(answer: Path, key: str, uri: str, table: Path) -> None:
    """Write one of AWS's answers as the CSV of this form; refuse what is none of them."""
    try:
        document = msgspec.json.decode(answer.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ExportContentError(f"{uri} is no JSON: {error}.", place=Place(key), reason="bad_json") from error
    rows = list(_rows_of(document)) if isinstance(document, dict) else []
    if not rows:
        raise ExportContentError(
            f"{uri} is no answer of AWS that states instances of bought capacity.",
            place=Place(key),
            reason="unknown_record",
            remedy="Save what DescribeCapacityReservations, DescribeCapacityBlockExtensionHistory or DescribeTrainingPlan "
            f"answers. See {_SCHEMA.remedy_page}.",
        )
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def _rows_of(document: dict[str, Any]) -> Iterator[list[str]]:
    for name, columns in _ANSWERS:
        for one in _listed(document, name):
            # a reservation that may be ended at any time has no end and was paid by the hour
            is_bought = one.get(columns[3]) and one.get("CapacityBlockExtensionStatus", "") in ("", "payment-succeeded")
            if is_bought:
                yield [*_texts(one, columns), f"AWS, {name}"]
    # a plan is one or two blocks
    plan = document.get("TrainingPlanArn")
    for block in _listed(document, "ReservedCapacitySummaries") if isinstance(plan, str) else ():
        yield [*_texts({**block, "Plan": plan}, ("Plan", "TotalInstanceCount", "StartTime", "EndTime")), "AWS, TrainingPlan"]


def _listed(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = document.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _texts(one: dict[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """Values as a table has them; SDKs answer times as seconds since 1970, the command line as text."""
    for name in names:
        value = one.get(name)
        if name.endswith(("Date", "Time")) and isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC).isoformat()
        yield "" if value is None else str(value)
