"""Which store a location means, and which bucket a landing. The client of a store is imported only when a location asks for
it: boto3 takes 0.15 s, that of BigQuery 0.8 s.
"""

from __future__ import annotations

import os
from pathlib import Path

from connectors.errors import SourceUnreadableError
from connectors.stores import Bucket, ObjectStore, StoreOptions

API = "api"  # a location that is no place: the provider's own API, which the kind of a source names


def open_store(location: str, *, base: Path, options: StoreOptions | None = None) -> ObjectStore:
    """Return the store of a location; a relative folder is meant from `base`. Nothing is read yet."""
    options = options or StoreOptions()
    if location == API:
        from connectors.stores.aws_apis import AnswerStore

        return AnswerStore(options)
    scheme, separator, _ = location.partition("://")
    if not separator:
        from connectors.stores.local import LocalStore

        return LocalStore(location, base)
    if scheme == "s3":
        from connectors.stores.s3 import S3Store

        files = S3Store(location, options)
        return _asked(files, options) if options.groups else files
    if scheme == "iceberg" and options.groups:
        from connectors.stores.grouped import GroupedStore
        from connectors.stores.iceberg import SparkTable, TableFiles

        table = SparkTable(location, options)
        return GroupedStore(TableFiles(table), table, options)
    if scheme == "gs":
        from connectors.stores.gcs import BucketStore

        return BucketStore(location, options)
    if scheme == "bq":
        if options.is_free:
            from connectors.stores.bigquery_preview import TablePreview

            return TablePreview(location, options)
        from connectors.stores.bigquery import TableStore

        return TableStore(location, options)
    if scheme in ("prom", "prom+http", "prom+google", "prom+aws"):
        from connectors.stores.prometheus import PrometheusStore

        return PrometheusStore(location, options)
    if scheme == "wandb":
        from connectors.stores.wandb import WandbStore

        return WandbStore(location, options)
    raise SourceUnreadableError(
        f"{location}: {scheme}:// is not a location this version reads.",
        reason="unknown_scheme",
        remedy="Use bq://project.dataset.table, gs:// or s3://bucket/prefix, prom://host, wandb://entity/project or a folder.",
    )


def _asked(files: ObjectStore, options: StoreOptions) -> ObjectStore:
    """The same files, asked in groups of the engine that has a table over them."""
    from connectors.stores.grouped import GroupedStore

    if options.engine == "athena":
        from connectors.stores.athena import AthenaEngine

        return GroupedStore(files, AthenaEngine(options), options)
    if options.engine == "spark":
        from connectors.stores.spark import SparkEngine

        return GroupedStore(files, SparkEngine(files.uri, options), options)
    from connectors.stores.trino import TrinoEngine

    return GroupedStore(files, TrinoEngine(options), options)


def open_bucket(location: str) -> Bucket:
    """Return the bucket of a landing: gs:// or s3://bucket/prefix. Nothing is asked yet."""
    if location.startswith("gs://"):
        from connectors.stores.gcs import WritableBucket

        # the variable of Google's own clients, as AWS_ENDPOINT_URL_S3 is boto3's
        return WritableBucket(location, StoreOptions(endpoint_url=os.environ.get("STORAGE_EMULATOR_HOST")))
    from connectors.stores.s3 import S3Bucket

    return S3Bucket(location)
