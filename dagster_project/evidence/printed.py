"""Every number and text that a quarterly report prints, by the ids of report.json: what restatements compare.

An issued report has them in its report.json. Of a publication, or of a build that is published nowhere, pages are asked again.
What a report prints of its own build (gates, digests, deliveries: pages that read `ops`) is no figure, and is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Self

import duckdb

from dagster_project.base.sql import literal, quoted
from reports import periods
from reports.model import TEXT_KINDS
from reports.page import records
from reports.publication import Page, Publication

if TYPE_CHECKING:
    from pathlib import Path

    from dagster_project.publishing.tables import PublishedTable
    from reports.quarter import FiscalYear, Quarter

OF_THE_BUILD = re.compile(r"\bops\.")
OWN_SECTIONS = ("evidence", "restatements")
PLACES = 12  # that fct_restatements has
PRIOR = ("prior", "prior_low", "prior_high", "change", "change_by_activity", "change_by_method", "change_ratio")
OTHERS = ("low", "high", "whole", *PRIOR)  # numbers of a headline figure beside its value
SENTENCE = "sentence"
REASONS = ("change_reason", "absent")  # texts of a headline figure


@dataclass(slots=True)
class State:
    """What a report prints at one state of knowledge."""

    numbers: dict[str, Decimal | None] = field(default_factory=dict)
    texts: dict[str, str | None] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)  # what is printed at all, as `column_of` names it

    def as_json(self) -> str:
        """For a cache."""
        numbers = {name: None if value is None else f"{value:f}" for name, value in self.numbers.items()}
        return json.dumps({"numbers": numbers, "texts": self.texts, "columns": sorted(self.columns)})

    @classmethod
    def of_json(cls, text: str) -> Self:
        """What `as_json` wrote."""
        kept = json.loads(text)
        return cls({name: _number(value) for name, value in kept["numbers"].items()}, kept["texts"], {*kept["columns"]})


def column_of(id: str) -> str:
    """What prints a number or text: the column of its table, the headline figures, the sentences."""
    parts = id.split("/")
    return parts[1] if parts[1] in ("glance", SENTENCE) else f"{parts[1]}/{parts[-1]}"


def is_headline(figure: str) -> bool:
    """Whether a number is the value of a headline figure or of a disclosure datapoint: these are followed also unmoved."""
    parts = figure.split("/")
    return (parts[1:2] == ["glance"] and len(parts) == 3) or (parts[1:2] == ["datapoints"] and parts[-1] == "value")


def in_record(record: Mapping[str, Any], absent: Collection[str] = ()) -> State:
    """The numbers and texts of a report.json, without those of absent report tables."""
    found = State()
    reads_absent = re.compile(rf"\bmarts\.\"?({'|'.join(map(re.escape, absent))})\b") if absent else None
    for figure in record["figures"]:
        if not (reads_absent and reads_absent.search(figure["sql"])):
            _add_figure(found, figure)
    for section in record["sections"]:
        if section["id"] in OWN_SECTIONS:
            continue
        for sentence in section["sentences"] if not absent else ():  # of which figures it is made is not asked
            found.columns.add(SENTENCE)
            found.texts[f"{record['quarter']}/{SENTENCE}/{sentence['id']}"] = sentence["text"]
        for table in section["tables"]:
            if not OF_THE_BUILD.search(table["sql"]) and not (reads_absent and reads_absent.search(table["sql"])):
                _add_table(found, table)
    return found


def of_publication(publication: Publication, span: Quarter | FiscalYear, absent: Collection[str] = ()) -> State:
    """What a report of the span would print of a publication, by its pages."""
    figures, sections = periods.contents_of(publication, span)
    record = {
        "quarter": span.name,
        "figures": [records.figure_record(figure) for figure in figures],
        "sections": [records.section_record(section) for section in sections],
    }
    return in_record(record, absent)


@contextmanager
def opened_build(
    build_file: Path, tables: Collection[PublishedTable], pages: Mapping[str, Page], memory_limit: str
) -> Iterator[Publication]:
    """A build as its pages see a publication: the tables that would be published of it, each as a view."""
    with duckdb.connect(config={"memory_limit": memory_limit}) as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"attach {literal(str(build_file))} as {quoted(build_file.stem)} (read_only)")
        connection.execute("create schema marts")
        for table in tables:
            place = f"{quoted(build_file.stem)}.{quoted(table.schema)}.{quoted(table.name)}"
            connection.execute(f"create view marts.{quoted(table.name)} as from {place}")
        publication = Publication(connection)
        publication.pages = dict(pages)
        yield publication


def _add_figure(found: State, figure: Mapping[str, Any]) -> None:
    found.columns.add(column_of(figure["id"]))
    found.numbers[figure["id"]] = _number(figure["value"])
    for name in OTHERS:
        found.numbers[f"{figure['id']}/{name}"] = _number(figure.get(name))
    for name in REASONS:
        found.texts[f"{figure['id']}/{name}"] = figure.get(name)


def _add_table(found: State, table: Mapping[str, Any]) -> None:
    for column in table.get("columns", ()):
        if column["id"] in table["key"] or column["kind"] == "digest":
            continue
        found.columns.add(f"{table['id']}/{column['id']}")
        values = {f"{row['id']}/{column['id']}": row["values"][column["id"]] for row in table["rows"]}
        if column["kind"] in TEXT_KINDS:
            found.texts |= values
        else:
            found.numbers |= {name: _number(value) for name, value in values.items()}


def _number(text: str | None) -> Decimal | None:
    """To the places that are published; a number that is none (nan) is unknown."""
    try:
        value = None if text is None else Decimal(text)
    except InvalidOperation:
        return None
    if value is None or not value.is_finite():
        return None
    return round(value, PLACES) if isinstance(places := value.as_tuple().exponent, int) and -places > PLACES else value
