"""Run in the environment of the servers: answer a GoogleSQL statement about the rows of one table, with Google's own semantics.

The engine is the reference implementation that Google made public with the analyser, as WebAssembly. Each line that it
reads is a JSON document of `name`, `fields` (as the REST API describes them), `rows` and `statement`; for each it writes a line
with `fields` and `rows` of the answer, or with `error`. Times are microseconds since 1970, days ISO texts, NUMERIC and BIGNUMERIC
texts.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from decimal import Context, Decimal
from typing import Any

from analyse import type_of
from wasmtime import Config
from zetasql.api import CatalogBuilder, TableBuilder
from zetasql.core import ZetaSqlLocalService, wasm_client
from zetasql.types import AnalyzerOptions, LanguageOptions, TypeKind, ZetaSQLBuiltinFunctionOptions
from zetasql.wasi._pb2.zetasql.local_service import local_service_pb2
from zetasql.wasi._pb2.zetasql.public import value_pb2

EPOCH = dt.date(1970, 1, 1)
SCALES = {"NUMERIC": 9, "BIGNUMERIC": 38}
WIDE = Context(prec=80)


def value_of(field: dict[str, Any], given: Any, *, is_element: bool = False) -> Any:
    """A value as the engine takes it."""
    found = value_pb2.ValueProto()
    if field.get("mode") == "REPEATED" and not is_element:
        found.array_value.SetInParent()
        found.array_value.element.extend(value_of(field, one, is_element=True) for one in given or ())
        return found
    if given is None:
        return found
    kind = field["type"].upper()
    if kind in {"RECORD", "STRUCT"}:
        found.struct_value.SetInParent()
        found.struct_value.field.extend(value_of(one, given.get(one["name"])) for one in field["fields"])
    elif kind in {"FLOAT", "FLOAT64"}:
        found.double_value = float(given)
    elif kind in {"INTEGER", "INT64"}:
        found.int64_value = int(given)
    elif kind in {"BOOLEAN", "BOOL"}:
        found.bool_value = given
    elif kind == "DATE":
        found.date_value = (dt.date.fromisoformat(given) - EPOCH).days
    elif kind == "TIMESTAMP":
        found.timestamp_value.seconds, micros = divmod(int(given), 1_000_000)
        found.timestamp_value.nanos = micros * 1000
    elif kind in SCALES:
        whole = int(Decimal(given).scaleb(SCALES[kind], WIDE))
        setattr(found, f"{kind.lower()}_value", whole.to_bytes((whole.bit_length() // 8) + 1, "little", signed=True))
    else:
        found.string_value = given
    return found


def read(kind: Any, given: Any) -> Any:
    """A value of the answer."""
    name = TypeKind(kind.type_kind).name.removeprefix("TYPE_")
    if name == "ARRAY":
        return [read(kind.array_type.element_type, one) for one in given.array_value.element]
    which = given.WhichOneof("value")
    if which is None:
        return None
    if name == "STRUCT":
        pairs = zip(kind.struct_type.field, given.struct_value.field, strict=True)
        return {part.field_name: read(part.field_type, one) for part, one in pairs}
    if name in SCALES:
        whole = int.from_bytes(getattr(given, which), "little", signed=True)
        return format(Decimal(whole).scaleb(-SCALES[name], WIDE), "f")
    if name == "DATE":
        return str(EPOCH + dt.timedelta(days=given.date_value))
    if name == "TIMESTAMP":
        return given.timestamp_value.seconds * 1_000_000 + given.timestamp_value.nanos // 1000
    return getattr(given, which)


def described(name: str, kind: Any) -> dict[str, Any]:
    """A column of the answer as the REST API describes it."""
    found, mode = TypeKind(kind.type_kind).name.removeprefix("TYPE_"), "NULLABLE"
    if found == "ARRAY":
        kind, mode = kind.array_type.element_type, "REPEATED"
        found = TypeKind(kind.type_kind).name.removeprefix("TYPE_")
    if found == "STRUCT":
        fields = [described(part.field_name, part.field_type) for part in kind.struct_type.field]
        return {"name": name, "type": "RECORD", "mode": mode, "fields": fields}
    return {"name": name, "type": {"DOUBLE": "FLOAT", "INT64": "INTEGER"}.get(found, found), "mode": mode}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """The answer to one statement."""
    name, fields = question["name"], question["fields"]
    table = TableBuilder(name)
    for field in fields:
        table = table.add_column(field["name"], type_of(field))
    language = LanguageOptions.maximum_features()
    functions = ZetaSQLBuiltinFunctionOptions(language_options=language)
    catalog = CatalogBuilder("bigquery").add_table(table.build()).with_builtin_functions(functions).build()
    request = local_service_pb2.PrepareQueryRequest(
        sql=question["statement"],
        options=AnalyzerOptions(language_options=language).to_proto(),
        simple_catalog=catalog.to_proto(),
    )
    content = request.table_content[name].table_data
    for row in question["rows"]:
        content.row.add().cell.extend(value_of(field, row.get(field["name"])) for field in fields)
    call = ZetaSqlLocalService.get_instance().wasm_client.call_grpc_func
    prepared = call("ZetaSqlLocalService_PrepareQuery", request, local_service_pb2.PrepareQueryResponse).prepared
    asked = local_service_pb2.EvaluateQueryRequest(prepared_query_id=prepared.prepared_query_id)
    found = call("ZetaSqlLocalService_EvaluateQuery", asked, local_service_pb2.EvaluateQueryResponse)
    columns = prepared.columns
    rows = [
        {column.name: read(column.type, cell) for column, cell in zip(columns, row.cell, strict=True)}
        for row in found.content.table_data.row
    ]
    return {"fields": [described(column.name, column.type) for column in columns], "rows": rows}


def kept() -> Any:
    """The settings of the engine, with what it compiles kept from process to process."""
    made = Config()
    made.cache = True
    return made


def main() -> None:
    wasm_client.Config = kept
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as error:  # the engine's errors have no common class of their own
            found = {"error": str(error)}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
