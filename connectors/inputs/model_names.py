"""Names of one model as a CSV: what a record calls it, and under which name it is compared.

A form of user_inputs, told by its column `model_name`; its rows are landed as figures of that kind. A pair is of one model: where
two frameworks write its name in two ways, this table is what makes them one. No name of a record is changed by it.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectors.formats.lazy import pa
from connectors.formats.schema import Date, Schema, Text, optional, required
from connectors.inputs.small_tables import Row, Table

_COLUMN = "same_as"
_SCHEMA = Schema(
    columns=(
        required("model_name", Text, filled=True),  # as records have it
        required(_COLUMN, Text, filled=True),
        required("source", Text, filled=True),  # who says that both are one model
        *optional("source_date", Date),
    ),
    remedy_page="docs/sources/user_inputs.md",
)


def _mistakes(row: Row) -> Iterator[tuple[str, str]]:
    if row["model_name"] == row[_COLUMN]:
        yield _COLUMN, "where it is another name"


def _as_figures(names: pa.Table) -> pa.Table:
    named = names.rename_columns(["key" if name == "model_name" else name for name in names.column_names])
    for name, value in (("kind", "model_name"), ("unit", "name")):
        named = named.append_column(name, pa.repeat(pa.scalar(value), names.num_rows))
    return named


MODEL_NAMES = Table("model names", _SCHEMA, ("model_name",), _mistakes, mark="model_name", landed=_as_figures)
