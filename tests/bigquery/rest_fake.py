"""A fake of BigQuery's REST API over HTTP, in this process, for what the emulator does not do: byte caps, denials, dry runs.

The unmodified client asks it. It answers what a test gave it, in order, and keeps what it was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials, Credentials
from google.cloud import bigquery

_TABLES = ("projects", "P", "datasets", "D", "tables")
# where BigQuery keeps the rows of a query, for the Storage API to stream
ANONYMOUS = {"datasetId": "_anonymous", "tableId": "result"}


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query: columns as the REST API names them, and each row's values as texts, as it sends them."""

    fields: Sequence[Mapping[str, Any]]
    values: Sequence[Sequence[str | None]] = ()
    processed: int = 0  # bytes
    total: int = 0  # rows, where a stream of the Storage API has them and not this answer


@dataclass(frozen=True, slots=True)
class Failure:
    """A refused request: the status of HTTP and Google's word for the reason."""

    status: int
    reason: str
    message: str = "told by the reason alone"
    is_of_job: bool = False  # the request is taken, and the job it started has failed


@dataclass
class RestFake:
    """Tables by project.dataset.table, answers to queries in the order of asking, and what was asked."""

    tables: Mapping[str, Mapping[str, Any] | Failure] = field(default_factory=dict)
    answers: list[Rows | Failure] = field(default_factory=list)
    answer: Callable[[str], Rows | Failure] | None = None  # to the text of a query, once no other answers are left
    bytes: Callable[[str], int] | None = None  # that a query would read; without it a dry run is answered as a query is
    asked: list[dict[str, Any]] = field(default_factory=list)  # bodies of queries
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by job
    pages: Callable[[str], Sequence[Any]] = lambda _: ()  # what tabledata.list answers of a table, or of bill$20260703
    unlisted: Sequence[str] = ()  # datasets whose tables whoever asks may not list
    permissions: Sequence[str] | None = None  # of whoever asks, on any table; None where it is not reported

    def look_up(self, path: Sequence[str]) -> Mapping[str, Any] | Failure:
        """A table, the names of those that are there, or the result of a job: projects/P/queries/JOB."""
        if path[-1] == "data":
            return {"rows": [{"f": cells} for cells in self.pages(path[-2])]}
        if path[2] == "queries":
            return self.results[path[3]]
        return self.table(path) if len(path) > len(_TABLES) else self.names(path)

    def names(self, path: Sequence[str]) -> Mapping[str, Any] | Failure:
        """projects/P/datasets, or projects/P/datasets/D/tables"""
        names = [name.split(".") for name in self.tables if name.startswith(f"{path[1]}.")]
        if not names:
            return Failure(404, "notFound")
        if len(path) < len(_TABLES):
            sets = sorted({dataset for _, dataset, _ in names})
            return {"datasets": [{"datasetReference": {"projectId": path[1], "datasetId": one}} for one in sets]}
        if path[3] in self.unlisted:
            return Failure(403, "accessDenied")
        found = [(project, dataset, table) for project, dataset, table in names if dataset == path[3]]
        keys = ("projectId", "datasetId", "tableId")
        tables = [{"tableReference": dict(zip(keys, one, strict=True))} for one in found]
        return {"tables": tables} if tables else Failure(404, "notFound")

    def post(self, path: Sequence[str], body: dict[str, Any]) -> Mapping[str, Any] | Failure:
        """A query, or a question about permissions."""
        if not path[-1].endswith(":testIamPermissions"):
            return self.query(path[1], body)
        if self.permissions is None:
            return Failure(404, "notFound")
        return {"permissions": [one for one in body["permissions"] if one in self.permissions]}

    def table(self, path: Sequence[str]) -> Mapping[str, Any] | Failure:
        """projects/P/datasets/D/tables/T"""
        project, dataset, table = path[1], path[3], path[5]
        found = self.tables.get(f"{project}.{dataset}.{table}", Failure(404, "notFound"))
        reference = {"projectId": project, "datasetId": dataset, "tableId": table}
        return found if isinstance(found, Failure) else {"kind": "bigquery#table", "tableReference": reference, **found}

    def query(self, project: str, body: dict[str, Any]) -> Mapping[str, Any] | Failure:
        """A query that is answered at once, or a job; a dry run is a job that only shows how much it would read."""
        self.asked.append(body)
        if self.bytes and is_dry_run(body):
            self.answers.insert(0, Rows([], processed=self.bytes(text_of(body))))
        elif self.answer and not self.answers:
            self.answers.append(self.answer(text_of(body)))
        answer = self.answers.pop(0)
        if isinstance(answer, Failure):
            return self._failed_job(project, body, answer) if answer.is_of_job else answer
        rows = [{"f": [{"v": value} for value in row]} for row in answer.values]
        done = {
            "jobReference": {"projectId": project, "jobId": f"job-{len(self.asked)}", "location": "EU"},
            "totalBytesProcessed": str(answer.processed),
        }
        results = {"jobComplete": True, "schema": {"fields": list(answer.fields)}, "rows": rows}
        results = done | results | {"totalRows": str(answer.total or len(rows))}
        if answer.total > len(rows):  # without a next page the client takes these rows for all there are
            results["pageToken"] = "next"
        if "configuration" not in body:
            return results
        self.results[done["jobReference"]["jobId"]] = results
        asked = {**body["configuration"]["query"], "destinationTable": ANONYMOUS | {"projectId": project}}
        statistics = {"totalBytesProcessed": str(answer.processed), "query": {"totalBytesProcessed": str(answer.processed)}}
        configuration = {**body["configuration"], "jobType": "QUERY", "query": asked}
        return done | {"configuration": configuration, "status": {"state": "DONE"}, "statistics": statistics}

    def _failed_job(self, project: str, body: dict[str, Any], failure: Failure) -> Mapping[str, Any]:
        error = {"reason": failure.reason, "message": failure.message}
        return {
            "jobReference": {"projectId": project, "jobId": f"job-{len(self.asked)}", "location": "EU"},
            "configuration": {**body["configuration"], "jobType": "QUERY"},
            "status": {"state": "DONE", "errorResult": error, "errors": [error]},
            "statistics": {},
        }

    @contextmanager
    def client(self, credentials: Credentials | None = None) -> Iterator[bigquery.Client]:
        """A client of this fake, which runs as long as the client is used."""
        with self.serving() as url:
            options = ClientOptions(api_endpoint=url)
            yield bigquery.Client("acme-billing", client_options=options, credentials=credentials or AnonymousCredentials())

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The address of this fake."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()


def text_of(body: Mapping[str, Any]) -> str:
    """The SQL text of a query or a job."""
    query = body["configuration"]["query"] if "configuration" in body else body
    return str(query["query"])


def is_dry_run(body: Mapping[str, Any]) -> bool:
    """Whether a job only asks how much it would read."""
    return bool(body.get("configuration", {}).get("dryRun"))


def _handler_of(fake: RestFake) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(fake.look_up(self._path()))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(fake.post(self._path(), body))

        def log_message(self, *_: Any) -> None:
            """Nothing on the terminal of the tests."""

        def _path(self) -> list[str]:
            return unquote(urlsplit(self.path).path).removeprefix("/bigquery/v2/").split("/")

        def _answer(self, answer: Mapping[str, Any] | Failure) -> None:
            status, document = 200, answer
            if isinstance(answer, Failure):
                error = {"reason": answer.reason, "message": answer.message, "domain": "global"}
                status = answer.status
                document = {"error": {"code": status, "message": answer.message, "errors": [error]}}
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
