"""The page of the ledger for a browser on this machine: the files below published/ledger, and nothing else, by HTTP.

Dagster's pages are another program's; this is a thread of whoever shows them. A publication replaces the files while it serves.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from dagster_project.base.failures import UsageError

HOST = "127.0.0.1"


class _Handler(SimpleHTTPRequestHandler):
    """Files of one folder, fresh each time, for this machine's own names: another name may be a stranger's page."""

    def send_head(self) -> Any:
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host not in (HOST, "localhost"):
            self.send_error(HTTPStatus.FORBIDDEN)
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        self.send_error(HTTPStatus.NOT_FOUND, "nothing is published yet")

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """A request is no news."""


def serve_page(folder: Path, port: int) -> ThreadingHTTPServer:
    """Serve a folder, there or not yet, for as long as this process lives. Port 0: any that is free."""
    try:
        server = ThreadingHTTPServer((HOST, port), partial(_Handler, directory=str(folder)))
    except OSError as error:
        raise UsageError(f"port {port} of {HOST} cannot be used: {error.strerror}", remedy="Give another --page-port.") from None
    Thread(target=server.serve_forever, daemon=True).start()
    return server
