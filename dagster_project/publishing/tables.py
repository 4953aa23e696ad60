"""Which tables readers get, with their keys and words: the dbt models marked for publication, and tables of schema ops.

The warehouse makes those of ops (deliveries, gates, builds), and publication adds the contract. Words of the marts are in the
YAML beside the models.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table that readers get: its place in the build, its unique key and its words."""

    name: str
    schema: str
    key: tuple[str, ...]
    description: str
    columns: dict[str, str]
    is_view: bool = False  # asked when it is read: a few rows that other tables have already
    is_parquet_only: bool = False  # too many rows for the DuckDB file: month_files.py


def published_tables(manifest: dict[str, Any]) -> list[PublishedTable]:
    """The models marked `meta: {published: true, key: [...]}`, or `published: parquet`, by name."""
    tables = []
    for node in manifest["nodes"].values():
        meta = node.get("config", {}).get("meta") or {}
        if node["resource_type"] not in ("model", "seed") or not meta.get("published"):
            continue
        words = {name: column.get("description", "") for name, column in node["columns"].items()}
        relation = node.get("alias") or node["name"]
        key, is_parquet_only = tuple(meta.get("key", ())), meta["published"] == "parquet"
        is_view = node["config"].get("materialized") == "view" and not is_parquet_only
        description = node.get("description", "")
        tables.append(PublishedTable(relation, node["schema"], key, description, words, is_view, is_parquet_only))
    return sorted(tables, key=lambda table: table.name)


BUILD_ID = "The build: its start in UTC, the first digits of its fingerprint, and a random end."
DELIVERIES = PublishedTable(
    "dim_deliveries",
    "ops",
    ("source_name", "partition", "published_at", "content_hash"),
    "One row per generation that the landing holds: a complete hand-over by a provider, with its hashes.",
    {
        "source_name": "Name of the source in trainledger.yaml.",
        "kind": "Kind of the source, as in trainledger.yaml.",
        "provider_name": "AWS or Google Cloud; null for kinds of both or neither, such as run records.",
        "partition": "What was handed over: a month, a month and model version, a day, or a file.",
        "delivery_id": "The provider's name of the hand-over: an execution, an ETag, or the file's key.",
        "published_at": "When the provider published it, in UTC.",
        "landed_at": "When it was landed here, in UTC.",
        "content_hash": "sha256 over the hashes of its data objects: equal bytes, equal hash.",
        "row_digest": "Equal for equal rows in any order and any files; null where the present code has not read it.",
        "rows": "Rows that its connector made of it; null where the present code has not read it.",
        "object_count": "Its data objects.",
        "bytes": "Bytes of its data objects.",
        "connector_version": "Version of the code that read it: a hash of the modules the connector is made of.",
        "is_elected": "Whether it is the delivery of its partition that counts.",
        "is_book": "Whether its rows count for some payer and month; others are only compared.",
    },
)
LISTED = PublishedTable(
    "listed_objects",
    "ops",
    ("source_name",),
    "One row per source: what became of the objects that its location held at the last look before this build.",
    {
        "source_name": "Name of the source in trainledger.yaml.",
        "kind": "Kind of the source, as in trainledger.yaml.",
        "listed": "Objects that its location holds; the other counts add up to it.",
        "delivered": "Objects of deliveries: data, and the manifests that name them.",
        "refused": "Objects of deliveries that were refused before they were read; fct_quarantine has the reasons.",
        "bystanders": "Objects known to be no data by their names (docs/operations.md), or left out by a newer manifest.",
        "awaited": "Data files whose manifest may still come: nothing a day newer lies there.",
        "not_understood": "Everything else; if it looks like data, fct_quarantine has a row with reason not_understood.",
    },
)
GATES = PublishedTable(
    "gate_results",
    "ops",
    ("build_id", "gate"),
    "One row per gate of the published build: a test that it passed, or a warning.",
    {
        "build_id": BUILD_ID,
        "gate": "dbt.<test>, gx.deliveries.<rule>, or dbt.models: all models were built.",
        "passed": "Whether it passed; a publication has passed all that block.",
        "failing_rows": "Rows that broke it.",
        "detail": "The first of them as JSON, or the error; null when it passed.",
    },
)
BUILDS = PublishedTable(
    "builds",
    "ops",
    ("build_id",),
    "The build that this file was published from: one row.",
    {
        "build_id": BUILD_ID,
        "started_at": "When it began, in UTC.",
        "finished_at": "When its gates had passed, in UTC.",
        "fingerprint": "sha256 over everything its figures depend on: rows, configuration, code.",
        "code_version": "sha256 over the code and the dbt project that made it.",
        "is_full": "Whether every month was built, or only months that changed.",
        "months": "The months that were built, as 2026-04, with commas.",
        "outcome": "published.",
    },
)
STATEMENTS = PublishedTable(
    "report_statements",
    "ops",
    ("model",),
    "The SELECT of every table and view that is made of other tables of this file alone: run it here, and it gives their rows.",
    {"model": "Name of the table or view in schema marts.", "statement": "Its SELECT, over tables of schema marts."},
)
COPIED = (DELIVERIES, LISTED, GATES, BUILDS)
