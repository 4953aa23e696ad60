"""A fake of BigQuery's Storage Read API over gRPC, in this process: it streams Arrow batches, and breaks off where asked to.

The unmodified client reads from it. The emulator answers a table as one message, which a stream of 14,000 wide rows is too
large for; this one has as many messages as there are batches, and remembers from which rows on it was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import pyarrow as pa
from google.cloud.bigquery_storage_v1 import BigQueryReadClient, types
from google.cloud.bigquery_storage_v1.services.big_query_read.transports import BigQueryReadGrpcTransport

SERVICE = "google.cloud.bigquery.storage.v1.BigQueryRead"


@dataclass
class StorageFake:
    """What is streamed, and what was asked."""

    batches: Sequence[pa.RecordBatch]
    cuts: list[int] = field(default_factory=list)  # after how many messages each further call breaks off
    ends: list[int] = field(default_factory=list)  # after how many messages each further call ends as if it were whole
    denied: str | None = None  # a message that every session is refused with
    sessions: list[types.ReadSession] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)

    def create(self, request: types.CreateReadSessionRequest, context: grpc.ServicerContext) -> types.ReadSession:
        if self.denied:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, self.denied)
        session = types.ReadSession(request.read_session)
        session.name = f"{request.parent}/sessions/1"
        session.arrow_schema = self._schema()
        session.streams = [types.ReadStream(name=f"{session.name}/streams/1")]
        self.sessions.append(session)
        return session

    def read(self, request: types.ReadRowsRequest, context: grpc.ServicerContext) -> Iterator[types.ReadRowsResponse]:
        self.offsets.append(request.offset)
        cut, end, sent, before = self.cuts.pop(0) if self.cuts else None, self.ends.pop(0) if self.ends else None, 0, 0
        for batch in self.batches:
            if before >= request.offset:
                if sent == end:
                    return
                if sent == cut:
                    context.abort(grpc.StatusCode.UNAVAILABLE, "the stream was cut")
                rows = types.ArrowRecordBatch(serialized_record_batch=batch.serialize().to_pybytes(), row_count=batch.num_rows)
                schema = {} if sent else {"arrow_schema": self._schema()}  # the first message of a stream has it
                yield types.ReadRowsResponse(arrow_record_batch=rows, row_count=batch.num_rows, **schema)
                sent += 1
            before += batch.num_rows

    def _schema(self) -> types.ArrowSchema:
        schema = self.batches[0].schema if self.batches else pa.schema([])
        return types.ArrowSchema(serialized_schema=schema.serialize().to_pybytes())

    @contextmanager
    def client(self) -> Iterator[BigQueryReadClient]:
        """A client of this fake, which runs as long as the client is used."""
        with self.serving() as address, grpc.insecure_channel(address) as channel:
            yield BigQueryReadClient(transport=BigQueryReadGrpcTransport(channel=channel))

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The address of this fake."""
        server = grpc.server(ThreadPoolExecutor(2))
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, self._handlers())])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None)

    def _handlers(self) -> dict[str, Any]:
        return {
            "CreateReadSession": grpc.unary_unary_rpc_method_handler(
                self.create,
                request_deserializer=types.CreateReadSessionRequest.deserialize,
                response_serializer=types.ReadSession.serialize,
            ),
            "ReadRows": grpc.unary_stream_rpc_method_handler(
                self.read,
                request_deserializer=types.ReadRowsRequest.deserialize,
                response_serializer=types.ReadRowsResponse.serialize,
            ),
        }
