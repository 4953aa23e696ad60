"""The tables of schema ops that the published file carries: their keys, and what each column is.

The warehouse makes them (deliveries, gates, builds) and publication adds the contract. Their words are here; those of the marts
are in the YAML beside the models.
"""

from __future__ import annotations

from dagster_project.publishing.tables import PublishedTable

BUILD_ID = "The build: its start in UTC, the first digits of its fingerprint, and a random end."
DELIVERIES = PublishedTable(
    name="dim_deliveries",
    schema="ops",
    key=("source_name", "partition", "published_at", "content_hash"),
    description="One row per generation that the landing holds: a complete hand-over by a provider, with its hashes.",
    columns={
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
GATES = PublishedTable(
    name="gate_results",
    schema="ops",
    key=("build_id", "gate"),
    description="One row per gate of the published build: a test that it passed, or a warning.",
    columns={
        "build_id": BUILD_ID,
        "gate": "dbt.<test>, gx.<suite>.<rule>, or dbt.models: all models were built.",
        "passed": "Whether it passed; a publication has passed all that block.",
        "failing_rows": "Rows that broke it.",
        "detail": "The first of them as JSON, or the error; null when it passed.",
    },
)
BUILDS = PublishedTable(
    name="builds",
    schema="ops",
    key=("build_id",),
    description="The build that this file was published from: one row.",
    columns={
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
CONTRACT = PublishedTable(
    name="contract",
    schema="ops",
    key=("contract_version", "section"),
    description="Which sections of the public contract this file holds to.",
    columns={
        "contract_version": "Version of the contract.",
        "section": "A section of it.",
        "since_version": "The first version of trainledger that publishes it.",
    },
)
COPIED = (DELIVERIES, GATES, BUILDS)
