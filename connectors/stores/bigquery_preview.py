"""What of a table of BigQuery costs nothing: the list of its partitions, and the first rows of one. For `doctor`.

Both are pages of `tabledata.list`, which is not billed (https://docs.cloud.google.com/bigquery/pricing, free operations): no
query is run. A view has neither, nor has a table whose partitions are others than those it is read by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import pyarrow.parquet as pq
from google.cloud.bigquery import SchemaField
from google.cloud.bigquery.table import RowIterator

from connectors.stores import ObjectInfo
from connectors.stores.bigquery import RETRY, TableStore, day_of
from connectors.stores.google_access import CALL, named_errors
from connectors.stores.google_locations import rows_file
from connectors.stores.row_streams import EPOCH
from connectors.stores.transfer import hash_of

ROWS = 5000  # of a partition: some 10 MB of answers, which the client takes two seconds to read
_PARTITIONS = (SchemaField("partition_id", "STRING"), SchemaField("last_modified_time", "INTEGER"))  # milliseconds since 1970


class TablePreview(TableStore):
    """The same objects as those of the table's store, as far as they are free. The etag is the id of a partition."""

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """The partitions between `first_day` and `end_day`; of a table divided by the hour the last one of each day."""
        description = self._readable()
        name = rows_file(self._reading.other_days(description))
        first, end = self.options.first_day or date.min, self.options.end_day or date.max
        found = {}
        with named_errors(self.uri, "describe", self.options):
            for part, written in sorted(tuple(row) for row in self._rows("__PARTITIONS_SUMMARY__", _PARTITIONS)):
                day = day_of(part)
                if day and first <= day < end:
                    key = f"_PARTITIONTIME={day}/{name}"
                    found[key] = ObjectInfo(key, 0, part, EPOCH + timedelta(milliseconds=written))
        return iter([info for key, info in found.items() if key.startswith(prefix)])

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Write the first rows of a partition, with BigQuery's own types, to a Parquet file."""
        columns = [SchemaField.from_api_repr(one) for one in self._readable()["schema"]["fields"]]
        with named_errors(self.uri_of(info.key), "describe", self.options, info.key):
            pq.write_table(self._rows(info.etag, columns).to_arrow(create_bqstorage_client=False), path)
        return hash_of(path)

    def _rows(self, part: str, columns: Sequence[SchemaField]) -> RowIterator:
        most = None if columns is _PARTITIONS else ROWS
        return self.client.list_rows(f"{self._table.name}${part}", columns, max_results=most, retry=RETRY, timeout=CALL)
