"""Run in the environment of the servers: type-check GoogleSQL statements against tables, with the engine that Google made public.

Reads one JSON document of `tables` (columns as the REST API describes them) and `statements`, writes a list with an error or null
for each statement.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from zetasql.api import Analyzer, CatalogBuilder, TableBuilder, TypeFactory
from zetasql.types import AnalyzerOptions, LanguageOptions, TypeKind, ZetaSQLBuiltinFunctionOptions

KINDS = {
    **{"INTEGER": "INT64", "FLOAT": "DOUBLE", "FLOAT64": "DOUBLE", "BOOLEAN": "BOOL"},
}


def type_of(field: dict[str, Any]) -> Any:
    kind = field["type"].upper()
    if kind in {"RECORD", "STRUCT"}:
        found = TypeFactory.create_struct_type([(one["name"], type_of(one)) for one in field["fields"]])
    else:
        found = TypeFactory.create_simple_type(getattr(TypeKind, f"TYPE_{KINDS.get(kind, kind)}"))
    return TypeFactory.create_array_type(found) if field.get("mode") == "REPEATED" else found


def main() -> None:
    question = json.load(sys.stdin)
    language = LanguageOptions.maximum_features()
    catalog, views = CatalogBuilder("bigquery"), []
    for name, fields in question["tables"].items():
        dataset, is_view, view = name.partition(".INFORMATION_SCHEMA.")
        table = TableBuilder(view or name)
        for field in fields:
            table = table.add_column(field["name"], type_of(field))
        if is_view:  # `project.dataset`.INFORMATION_SCHEMA.VIEW is a path of three names
            around = CatalogBuilder(dataset).build()
            around.catalog.append(CatalogBuilder("INFORMATION_SCHEMA").add_table(table.build()).build())
            views.append(around)
        else:
            catalog = catalog.add_table(table.build())
    built = catalog.with_builtin_functions(ZetaSQLBuiltinFunctionOptions(language_options=language)).build()
    built.catalog.extend(views)
    analyzer = Analyzer(AnalyzerOptions(language_options=language), built)
    answers: list[str | None] = []
    for statement in question["statements"]:
        try:
            analyzer.analyze_statement(statement)
            answers.append(None)
        except Exception as error:  # the engine's errors have no common class of their own
            answers.append(str(error))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
