"""Trino as an engine over the files of a bucket, through its own client. The only client of Trino.

`trino://host[:port]/catalog/schema/table` is asked over HTTPS, `trino+http://...` without it. Name and password come from the
environment, by variables that carry the source's name; a password never goes over HTTP without TLS.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from connectors.errors import SourceUnreadableError
from connectors.stores import Asked, Opened, StoreOptions
from connectors.stores.grouped import named_by_both, relation_of

_ROWS = 20_000  # of an answer that are here at one time
_CALL = 60  # seconds of a request; a query may run as long as Trino lets it
_NAME = re.compile(r"[^/\"\x00-\x1f]+")


class TrinoEngine:
    """A table of Trino. The constructor asks nothing."""

    name = "trino"

    def __init__(self, options: StoreOptions) -> None:
        self.url, self.options = options.engine_url or "", options
        parts = urlsplit(self.url)
        names = parts.path.strip("/").split("/")
        if parts.scheme not in ("trino", "trino+http") or not parts.hostname or len(names) != 3 or parts.password:
            raise self._error("names no table", "bad_location", "Write trino://host[:port]/catalog/schema/table.")
        if not all(map(_NAME.fullmatch, names)):
            raise self._error("has a name that no table has", "bad_location", "Write trino://host[:port]/catalog/schema/table.")
        self._is_secure = parts.scheme == "trino"
        self._host, self._port = parts.hostname, parts.port or (443 if self._is_secure else 8080)
        self._catalog, self._schema, _ = names
        self.relation = relation_of(self.url)

    def open(self, files: Sequence[str]) -> Opened:
        """The table, of which a statement reads these files."""
        return Opened(self.relation, self._types, named_by_both(files), table=self.relation)

    @cached_property
    def _types(self) -> Mapping[str, str]:
        asked = self.ask(f"DESCRIBE {self.relation}")
        return {row[0].lower(): row[1] for rows in asked.rows for row in rows}

    def ask(self, sql: str) -> Asked:
        """Run a statement and give its rows as they come."""
        with self._named_errors():
            cursor = self._connection.cursor()
            cursor.execute(sql)
            # Trino names a query by its own clock: 20261129_075316_00011_q52fq
            started = datetime.strptime(cursor.query_id[:15], "%Y%m%d_%H%M%S").replace(tzinfo=UTC)
            names = tuple(column[0] for column in cursor.description)
        return Asked(names, self._rows(cursor), cursor.query_id, started)

    def _rows(self, cursor: Any) -> Iterator[Sequence[Sequence[Any]]]:
        while True:
            with self._named_errors():
                rows = cursor.fetchmany(_ROWS)
            if not rows:
                return
            yield rows

    @cached_property
    def _connection(self) -> Any:
        try:
            from trino import dbapi
            from trino.auth import BasicAuthentication
        except ImportError:
            remedy = "Run `pip install 'trainledger[trino]'`."
            raise self._error("the client of Trino is not installed", "source_unreadable", remedy) from None
        user, password = (os.environ.get(f"TRAINLEDGER_{word}_{self._variable}") for word in ("USER", "PASSWORD"))
        if password and not self._is_secure:
            raise self._error("a password goes over HTTPS alone", "no_credentials", "Write trino:// instead of trino+http://.")
        connect: Any = dbapi.connect
        return connect(
            host=self._host,
            port=self._port,
            user=user or "trainledger",
            auth=BasicAuthentication(user or "trainledger", password) if password else None,
            http_scheme="https" if self._is_secure else "http",
            catalog=self._catalog,
            schema=self._schema,
            source="trainledger",
            client_tags=[self.options.source],
            timezone="UTC",
            request_timeout=_CALL,
        )

    @property
    def _variable(self) -> str:
        """What the variables of this source end in."""
        return re.sub(r"[^A-Z0-9]", "_", self.options.source.upper())

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Translate what Trino refuses. Its own words are repeated: they name columns and tables, and no secret."""
        try:
            import requests
            from trino.exceptions import Error, HttpError, TrinoQueryError
        except ImportError:
            yield  # the connection will say so
            return
        try:
            yield
        except TrinoQueryError as error:
            reason, remedy = _MEANINGS.get(str(error.error_name), _FAILED)
            raise self._error(f"{error.error_name}: {error.message}", reason, remedy) from error
        except HttpError as error:  # its text begins with the status
            if not re.match(r"error 40[13]", str(error)):
                raise self._error(f"no answer ({str(error)[:60]})", "broken_stream", _FAILED[1]) from error
            remedy = f"Set TRAINLEDGER_USER_{self._variable} and TRAINLEDGER_PASSWORD_{self._variable} in the environment."
            raise self._error("Trino takes no login of this machine", "no_credentials", remedy) from error
        except (Error, requests.RequestException) as error:
            raise self._error(f"no answer ({type(error).__name__})", "broken_stream", _FAILED[1]) from error

    def _error(self, what: str, reason: str, remedy: str) -> SourceUnreadableError:
        parts = urlsplit(self.url)
        shown = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        return SourceUnreadableError(f"{shown}: {what}.", reason=reason, remedy=remedy)


_FAILED = ("source_unreadable", "See the query in Trino's page, and whether its server is up; then try again.")
_NO_TABLE = ("missing_table", "Check catalog, schema and table of `engine_url`.")
_MEANINGS = {
    "PERMISSION_DENIED": ("permission_denied", "Grant SELECT on the table to this user of Trino."),
    **dict.fromkeys(("TABLE_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND"), _NO_TABLE),
}
