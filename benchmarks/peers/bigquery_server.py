"""A BigQuery with one table, for measuring: `python bigquery_server.py FOLDER`. A process of its own, whose work is not counted.

The Parquet files of the folder are the rows of one partition, 2026-04-01. It answers what the product asks (the table, a look, a
query) over REST and streams the rows over gRPC as messages of some MB, as the service does. The first line that it prints has
the addresses of both and the number of rows.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from google.cloud.bigquery_storage_v1 import types

SERVICE = "google.cloud.bigquery.storage.v1.BigQueryRead"
MESSAGE = 4096  # rows: some 4 MB of a bill
DAY = "2026-04-01"
LOOK = {"day": "DATE", "row_count": "INTEGER", "newest_export": "TIMESTAMP", "fingerprint": "NUMERIC"}
NAMES = {
    **{"string": "STRING", "double": "FLOAT", "int64": "INTEGER", "bool": "BOOLEAN", "date32[day]": "DATE"},
    "decimal128(38, 9)": "NUMERIC",
}


class Table:
    """Rows in files, as BigQuery describes and streams them."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.rglob("*.parquet"))
        self.rows = sum(pq.ParquetFile(path).metadata.num_rows for path in self.files)
        newest = pc.max(ds.dataset(self.files).to_table(columns=["export_time"]).column("export_time"))
        self.newest = newest.cast(pa.timestamp("us")).cast(pa.int64()).as_py()
        self.schema = pa.schema([field.with_type(_as_bigquery(field.type)) for field in pq.read_schema(self.files[0])])

    def messages(self) -> Iterator[pa.RecordBatch]:
        for path in self.files:
            for batch in pq.ParquetFile(path).iter_batches(MESSAGE):
                yield pa.Table.from_batches([batch]).cast(self.schema).combine_chunks().to_batches()[0]

    def answer(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        fields = [_described(field) for field in self.schema]
        if "/tables/" in path:
            return {
                "tableReference": {"projectId": "bench-google", "datasetId": "exports", "tableId": "bill"},
                "type": "TABLE",
                "location": "EU",
                "timePartitioning": {"type": "DAY"},
                "schema": {"fields": fields},
            }
        done: dict[str, Any] = {"jobReference": {"projectId": "bench-google", "jobId": "job", "location": "EU"}}
        look = {"f": [{"v": value} for value in (DAY, str(self.rows), str(self.newest), None)]}
        is_look = method == "POST" and "COUNT(*)" in json.dumps(body)
        if is_look and "configuration" not in body:
            columns = [{"name": name, "type": kind} for name, kind in LOOK.items()]
            return done | {"jobComplete": True, "schema": {"fields": columns}, "rows": [look], "totalRows": "1"}
        if method == "GET":
            rows = {"schema": {"fields": fields}, "rows": [], "totalRows": str(self.rows), "pageToken": "next"}
            return done | {"jobComplete": True, **rows}
        target = {"projectId": "bench-google", "datasetId": "_anonymous", "tableId": "result"}
        query = {**body["configuration"]["query"], "destinationTable": target}
        return done | {"configuration": {"jobType": "QUERY", "query": query}, "status": {"state": "DONE"}, "statistics": {}}


def _as_bigquery(kind: pa.DataType) -> pa.DataType:
    """The type in which the Storage API would send a column of a file."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_as_bigquery(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_as_bigquery(kind.value_type))
    if pa.types.is_decimal(kind):
        return pa.decimal128(38, 9)
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind


def _described(field: pa.Field) -> dict[str, Any]:
    kind, mode = field.type, "NULLABLE"
    if pa.types.is_list(kind):
        kind, mode = kind.value_type, "REPEATED"
    if pa.types.is_struct(kind):
        return {"name": field.name, "type": "RECORD", "mode": mode, "fields": [_described(one) for one in kind]}
    name = "TIMESTAMP" if pa.types.is_timestamp(kind) else NAMES[str(kind)]
    return {"name": field.name, "type": name, "mode": mode}


def _rest(table: Table) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", {})

        def do_POST(self) -> None:
            self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def log_message(self, *_: Any) -> None:
            """Nothing on the terminal."""

        def _answer(self, method: str, body: dict[str, Any]) -> None:
            content = json.dumps(table.answer(method, self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def _storage(table: Table) -> tuple[grpc.Server, int]:
    given = types.ArrowSchema(serialized_schema=table.schema.serialize().to_pybytes())

    def create(request: types.CreateReadSessionRequest, _: Any) -> types.ReadSession:
        session = types.ReadSession(request.read_session)
        session.name, session.arrow_schema = f"{request.parent}/sessions/1", given
        session.streams = [types.ReadStream(name=f"{session.name}/streams/1")]
        return session

    def read(_: types.ReadRowsRequest, __: Any) -> Iterator[types.ReadRowsResponse]:
        for number, batch in enumerate(table.messages()):
            rows = types.ArrowRecordBatch(serialized_record_batch=batch.serialize().to_pybytes(), row_count=batch.num_rows)
            first = {} if number else {"arrow_schema": given}
            yield types.ReadRowsResponse(arrow_record_batch=rows, row_count=batch.num_rows, **first)

    handlers = {
        "CreateReadSession": grpc.unary_unary_rpc_method_handler(
            create, types.CreateReadSessionRequest.deserialize, types.ReadSession.serialize
        ),
        "ReadRows": grpc.unary_stream_rpc_method_handler(
            read, types.ReadRowsRequest.deserialize, types.ReadRowsResponse.serialize
        ),
    }
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
    return server, server.add_insecure_port("127.0.0.1:0")


def main() -> None:
    table = Table(Path(sys.argv[1]))
    rest = _rest(table)
    storage, port = _storage(table)
    storage.start()
    threading.Thread(target=rest.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{rest.server_port} 127.0.0.1:{port} {table.rows}", flush=True)
    storage.wait_for_termination()


if __name__ == "__main__":
    main()
