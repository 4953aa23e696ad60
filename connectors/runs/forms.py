"""What a form of record is: how it is recognised, which documents of a file are one record, and how a record becomes rows.

A file holds one document, a list of them, JSON lines, or text that is no JSON. Which forms there are is in training_runs.py;
this module knows none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from connectors.formats.costs import spend
from connectors.runs.run_records import Document, RecordError, Row, within

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
_RUN_FOLDER = re.compile(r"(?:^|/)run=([^/]+)/")
_CLUSTER_FOLDER = re.compile(r"(?:^|/)cluster=([^/]+)/")


def has(*words: str) -> Callable[[Container[str]], bool]:
    """Recognises a document by its fields, or a text by words in it: all of them."""
    return lambda found: all(word in found for word in words)


def of_one(rows: Callable[[Document], list[Row]]) -> Callable[[list[Document], str], list[Row]]:
    """The reader of a record that is one document."""
    return lambda record, _: rows(record[0])


def run_in_key(key: str) -> str | None:
    """The run that a folder run=<id> in an object's key names."""
    match = _RUN_FOLDER.search(key)
    return match[1] if match else None


def cluster_in_key(key: str) -> str | None:
    """The cluster that a folder cluster=<name> in an object's key names."""
    match = _CLUSTER_FOLDER.search(key)
    return match[1] if match else None


def each_in(found_in: Callable[[Document], list[Document]]) -> Callable[[list[Document]], Iterator[list[Document]]]:
    """Each object that a document holds is a record of its own: a search answers several."""
    return lambda documents: ([one] for document in documents for one in found_in(document))


one_each = each_in(lambda document: [document])  # a document is a record of its own


def grouped(things: Iterable[T], name_of: Callable[[T], K]) -> dict[K, list[T]]:
    """What has one name together, in the order in which it came: the documents of one record, the attempts of one job."""
    found: dict[K, list[T]] = {}
    for thing in things:
        found.setdefault(name_of(thing), []).append(thing)
    return found


@dataclass(frozen=True, slots=True)
class Form:
    """A form whose records are JSON. `records` puts together the documents of one record: a JobSet and its pods are."""

    name: str
    is_one: Callable[[Document], bool]
    rows: Callable[[list[Document], str], list[Row]]  # of a record; the object's key may name its run: run=<id>
    records: Callable[[list[Document]], Iterable[list[Document]]] = one_each


@dataclass(frozen=True, slots=True)
class TextForm:
    """A form that is no JSON: a log of steps, a table. `is_one` sees the first 64 KiB."""

    name: str
    is_one: Callable[[str], bool]
    rows: Callable[[list[str], str], list[Row]]  # lines, and the object's key


def rows_of_documents(forms: Sequence[Form], documents: list[Document], key: str) -> tuple[list[Row], list[RecordError]]:
    """Return the rows of all records, and what was refused. A record is taken whole or refused whole."""
    spend(len(documents))
    by_form = grouped(documents, lambda document: next((form for form in forms if form.is_one(document)), None))
    refused = [RecordError("is of no known form", reason="unknown_record") for _ in by_form.get(None, [])]
    rows: list[Row] = []
    for form, found in by_form.items():
        if form is None:
            continue
        try:
            records = list(form.records(found))
        except RecordError as error:  # which of them belong together is unknown
            refused.append(error)
            continue
        for record in records:
            try:
                found_rows = within(form.rows(record, key))
                spend(len(found_rows))
                rows += found_rows
            except RecordError as error:
                refused.append(error)
    return rows, refused
