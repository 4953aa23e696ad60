"""The one door for SQL that came in a pack or a report: `verify` and `trace` ask it here, and nowhere else.

Who wrote it is not known. So it is asked of tables alone, on a connection that reaches no file, loads no extension and cannot be
opened again; it is one SELECT over those tables, by DuckDB's own parser; it ends in time; and its answer is of plain types.
"""

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import duckdb

from reports.errors import ReportError

Row = dict[str, Any]
SCHEMAS = frozenset({"", "marts", "ops", "seeds"})  # '' is a common table expression
TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series"})  # others read files, settings or logs, or run a text as SQL
FUNCTIONS_OF_THE_MACHINE = frozenset({"current_setting", "getenv", "write_log"})  # folders of this machine, and its log
VIEWS_OF_THE_MACHINE = ("duckdb_", "pragma_", "sqlite_", "pg_")  # DuckDB's own, which need no schema: `pragma_database_list`
NUMBERS = ("DECIMAL", "DOUBLE", "FLOAT", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UINTEGER", "UBIGINT")
PLAIN = (*NUMBERS, "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "TIME")
LONGEST = 1_000_000  # characters of a query: those of this project have less than 40,000
MOST_ROWS = 1_000_000  # of an answer, which is held in memory
SECONDS, SECONDS_OF_ALL = 60.0, 900.0
MEMORY, SPILL = "1500MB", "8GB"


class DoorError(ReportError):
    """SQL of a pack or a report is not what may be asked, or took too long."""


class TooLongError(DoorError):
    """A query did not end in its time."""


def settings(spill: Path, memory_limit: str = MEMORY) -> dict[str, str | bool | int | float | list[str]]:
    """What a connection to tables for the door is opened with; what does not fit in memory goes to the folder `spill`."""
    return {"memory_limit": memory_limit, "temp_directory": str(spill), "max_temp_directory_size": SPILL}


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a connection reach what is open, its own spill folder, and nothing else, for as long as it lives."""
    for name in (
        "enable_external_access",
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "python_enable_replacements",  # a table that is not there could be a variable of this program
    ):
        connection.execute(f"set {name} = false")
    connection.execute("set lock_configuration = true")


@contextmanager
def time_limit(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Interrupt what the connection does when the time is over: TooLongError. None: never."""
    ended = threading.Event()

    def watch() -> None:
        over = not ended.wait(seconds)
        while over and not ended.wait(0.05):  # more than once: an interrupt before a query begins is forgotten
            connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except duckdb.InterruptException:
        raise TooLongError(f"The query did not end in {seconds:g} seconds.") from None
    finally:
        ended.set()
        watcher.join()


def rows_of(cursor: duckdb.DuckDBPyConnection) -> list[Row]:
    """The whole answer of a query."""
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


class Door:
    """A locked connection, and how much time is left for what is asked of it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, seconds: float | None = None) -> None:
        self._connection, self._seconds, self._until = connection, seconds or SECONDS, time.monotonic() + SECONDS_OF_ALL

    def rows(self, sql: str, *, is_plain: bool = True, numbers: Iterable[str] = ()) -> list[Row]:
        """The answer to one SELECT; of plain types alone if that is asked, and in the columns `numbers` of numbers."""
        with self._asked(sql) as cursor:
            names = [name for name, *_ in cursor.description]
            kinds = {name: str(kind) for name, kind, *_ in cursor.description}
            for name, kind in kinds.items() if is_plain else ():
                if not kind.startswith(NUMBERS if name in {*numbers} else PLAIN) or kind.endswith("]"):
                    raise DoorError(f"Its column {name[:60]} is {kind[:60]}, which no figure is.")
            found = cursor.fetchmany(MOST_ROWS + 1)
        if len(found) > MOST_ROWS:
            raise DoorError(f"Its answer has more than {MOST_ROWS:,} rows.")
        return [dict(zip(names, row, strict=True)) for row in found]

    def first_rows(self, sql: str, most: int) -> list[Row]:
        """The first rows of the answer to one SELECT."""
        with self._asked(sql) as cursor:
            names = [name for name, *_ in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(most)]

    def arrow(self, sql: str) -> Any:
        """The answer to one SELECT as an Arrow table, with its exact types."""
        with self._asked(sql) as cursor:
            return cursor.to_arrow_table()

    @contextmanager
    def _asked(self, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
        left = min(self._seconds, self._until - time.monotonic())
        if left <= 0:
            raise TooLongError("All queries together took too long; no more is asked.")
        require_select(sql)
        try:
            with time_limit(self._connection, left):
                yield self._connection.execute(sql)
        except TooLongError:
            self._until = 0.0  # one that does not end is enough
            raise


def require_select(sql: str) -> frozenset[str]:
    """DoorError unless a text is one SELECT over tables of marts, ops and seeds. Gives the tables that it names."""
    if len(sql) > LONGEST:
        raise DoorError(f"It has more than {LONGEST:,} characters.")
    return _tables_of(sql)


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """A database without tables, which only reads SQL: to open one costs ten times what it reads."""
    return duckdb.connect(config={"threads": 1})


@lru_cache(maxsize=512)
def _tables_of(sql: str) -> frozenset[str]:
    """The same of a text that was not asked yet: its tree is long, and `verify` asks each several times."""
    parts: list[dict[str, Any]] = []

    def keep(part: dict[str, Any]) -> dict[str, Any]:
        parts.append(part)
        return part

    try:
        with _parser().cursor() as parser:
            (text,) = parser.execute("select json_serialize_sql(?)", [sql]).fetchone() or ("{}",)
        tree = json.loads(text, object_hook=keep)
    except (duckdb.Error, RecursionError, ValueError) as error:
        raise DoorError(f"DuckDB cannot read it ({type(error).__name__}).") from None
    if tree.get("error", True):
        raise DoorError(f"It is no SELECT: {str(tree.get('error_message', ''))[:200]}")
    if len(tree["statements"]) != 1:
        raise DoorError(f"It is {len(tree['statements'])} statements, and one is asked.")
    tables = set()
    for part in parts:
        kind = part.get("type")
        if kind == "SHOW_REF":
            raise DoorError("It is no SELECT: it describes.")
        if kind == "TABLE_FUNCTION" and (name := part["function"]["function_name"]) not in TABLE_FUNCTIONS:
            raise DoorError(f"It calls {name[:60]}, which is no table.")
        if kind == "FUNCTION" and (name := part.get("function_name", "").lower()) in FUNCTIONS_OF_THE_MACHINE:
            raise DoorError(f"It calls {name}, which is about the machine.")
        if kind == "BASE_TABLE":
            is_of_duckdb = part["table_name"].lower().startswith(VIEWS_OF_THE_MACHINE)
            if part.get("catalog_name") or part["schema_name"] not in SCHEMAS or is_of_duckdb:
                named = f"{part['schema_name'][:60]}.{part['table_name'][:60]}".lstrip(".")
                raise DoorError(f"It reads {named}, which is none of its tables.")
            tables.add(f"{part['schema_name']}.{part['table_name']}".lstrip("."))
    return frozenset(tables)
