"""A publication as tests of the report write it: rows by table, into the schema of the contract, and report models as views."""

from contextlib import suppress
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tests.reports.report_models import report_models, statement, with_pages

SCHEMA = Path(__file__).with_name("published_schema.sql")
SEEDS = Path(__file__).resolve().parents[2] / "dbt" / "seeds"
COMPUTED = ("t_quantiles", "f_quantiles", "standard_normals", "comparison_plan_power")  # of the same columns when published


class File:
    """Rows by table, written at the end."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, object]]] = {}

    def add(self, table: str, **values: object) -> None:
        self.rows.setdefault(table, []).append(values)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_empty())
        with duckdb.connect(str(path)) as connection:
            for table, rows in self.rows.items():
                names = sorted({name for row in rows for name in row})
                values = ",\n".join(f"({', '.join(literal(row.get(name)) for name in names)})" for row in rows)
                connection.execute(f"insert into {table} ({', '.join(names)}) values {values}")


@cache
def _empty() -> bytes:
    """The file without the organisation's rows: views take longer to bind than rows to write."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(SCHEMA.read_text())
            for seed in COMPUTED:
                connection.execute(f"create table marts.dim_{seed} as from read_csv('{SEEDS / f'{seed}.csv'}')")
            for model in (*report_models(), *report_models()):  # twice: one may read another
                with suppress(duckdb.CatalogException, duckdb.BinderException):  # or read what this small file does not have
                    connection.execute(f"create view marts.{model} as {statement(model)}")
            with_pages(connection)
        return path.read_bytes()


def literal(value: object) -> str:
    """A value as SQL: one statement per table is far quicker than one per row."""
    if value is None or isinstance(value, bool | int | float | Decimal):
        return "null" if value is None else f"{value:f}" if isinstance(value, Decimal) else str(value).lower()
    text = str(value).replace("'", "''").replace("\0", "' || chr(0) || '")
    return f"'{text}'"
