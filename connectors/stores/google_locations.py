"""Locations at Google in their parts: bq://project.dataset.table and gs://bucket/prefix.

The names become part of SQL texts and requests, so what could be anything but a name is refused here, with what to write
instead. Nothing is asked of Google.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from connectors.errors import SourceUnreadableError

# an old project of an organisation's domain has it in front: example.com:billing. Names of datasets and tables:
# https://docs.cloud.google.com/bigquery/docs/tables#table_naming
_PROJECT = re.compile(r"(?:[a-z0-9][a-z0-9.-]*:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_DATASET = re.compile(r"\w{1,1024}", re.ASCII)
_TABLE = re.compile(r"[\w -]{1,1024}")
# https://docs.cloud.google.com/storage/docs/buckets#naming
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_OTHER_DAYS = re.compile(r"(?:.*/)?by-(\w+)\.parquet")
_TABLE_REMEDY = "Write bq://project.dataset.table, as the table's page in the console names it."


@dataclass(frozen=True, slots=True)
class TableLocation:
    """A table or view of BigQuery."""

    project: str
    dataset: str
    table: str

    @property
    def full_dataset(self) -> str:
        """project.dataset"""
        return f"{self.project}.{self.dataset}"

    @property
    def name(self) -> str:
        """project.dataset.table, as clients and SQL take it."""
        return f"{self.full_dataset}.{self.table}"

    @property
    def uri(self) -> str:
        """The location as it is configured."""
        return f"bq://{self.name}"


def table_location(location: str) -> TableLocation:
    """Take bq://project.dataset.table apart; only a project's domain may hold further dots."""
    parts = location.removeprefix("bq://").rsplit(".", 2)
    if len(parts) < 3:
        legacy = "; a colon belongs only behind a project's domain" if ":" in location.removeprefix("bq://") else ""
        raise bad_location(location, f"names no project, dataset and table{legacy}", _TABLE_REMEDY)
    project, dataset, table = parts
    if table.endswith("*"):
        raise bad_location(location, "is a pattern of tables", "Name the one table that Google still writes.")
    if "$" in table:
        raise bad_location(location, "names one partition", "Name the table; which partitions are read is found out.")
    for what, pattern, name in (("project", _PROJECT, project), ("dataset", _DATASET, dataset), ("table", _TABLE, table)):
        if not pattern.fullmatch(name):
            raise bad_location(location, f"has no {what} that could be one: '{name}'", _TABLE_REMEDY)
    return TableLocation(project, dataset, table)


def bucket_location(location: str) -> tuple[str, str]:
    """A bucket of Cloud Storage and what the keys of an export begin with there: '' or a text that ends in '/'."""
    bucket, _, prefix = location.removeprefix("gs://").partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise bad_location(location, f"has no bucket that could be one: '{bucket}'", "Write gs://bucket/prefix.")
    if re.search(r"[\r\n*?\[\]]", prefix):  # a pattern is what `gcloud storage` takes, and a line end no key may have
        raise bad_location(location, "is a pattern of objects", "Write gs://bucket/prefix: all that lies below it is looked at.")
    prefix = prefix.rstrip("/")
    return bucket, f"{prefix}/" if prefix else ""


def bad_location(location: str, what: str, remedy: str) -> SourceUnreadableError:
    """Name a location that cannot be read, and what to write instead."""
    return SourceUnreadableError(f"{location} {what}.", reason="bad_location", remedy=remedy)


def rows_file(column: str | None) -> str:
    """The file that a partition's rows come as; its name has the column whose days they are, and not those of loading."""
    return f"by-{column}.parquet" if column else "rows.parquet"


def other_days(location: str, source: str, listed: Iterable[str], landed: Iterable[str]) -> SourceUnreadableError | None:
    """Why what is listed may not join what was landed of a source: a row that came late would be in both."""
    days, kept = ({_column_of(key) for key in keys} for keys in (listed, landed))
    if not days or not kept or days == kept:
        return None
    now, before = (" and ".join(sorted(f"day of {column or 'loading'}" for column in columns)) for columns in (days, kept))
    return SourceUnreadableError(
        f"{location} is read by the {now}, and what was landed of {source} by the {before}: a row could count twice.",
        reason="other_days",
        remedy="Give the source another name: then its new location alone counts. Or name the table that Google itself writes.",
    )


def _column_of(key: str) -> str:
    """The column whose days a landed object is of; '' for the day of loading, of which an export's folders are too."""
    found = _OTHER_DAYS.fullmatch(key)
    return found[1] if found else ""
