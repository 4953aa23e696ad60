"""One object of an AWS export, CSV or Parquet: checked, and where its names are not the declared ones, copied with those.

A file in AWS's present shape is read as it is. Which column of a file gives which declared one is the export's own to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from connectors.aws.payers import Object
from connectors.deliveries import Converted, Part
from connectors.formats.delimited import CsvFile
from connectors.formats.parquet import check_parquet, copy_parquet, has_clashing_names, named_errors, open_parquet
from connectors.formats.schema import Schema
from connectors.formats.typed_copies import Plan, copy_csv

Sources = Mapping[str, str]  # declared column -> column of the file


def convert_object(
    schema: Schema,
    one: Object,
    folder: Path,
    sources_of: Callable[[Sequence[str]], Sources],
    constants_of: Callable[[Sources], Mapping[str, str]],
    check_names: Callable[[Sequence[str], str, str], tuple[str, ...]],
    check_rows: Callable[[Path, str, str], None],
) -> Converted:
    """Check one object and return the Parquet to read; a file without rows may have any header, and becomes nothing.

    `check_names` is given the declared names that the file has and its other columns, and returns those that are unknown.
    """
    key, path, uri = one
    csv = None if key.lower().endswith(".parquet") else CsvFile(path, key, uri)
    if csv:
        names: Sequence[str] = csv.header()
        schema.check_repeated(names, uri, key)
        has_rows = bool(names) and any(csv.batches(names, names[:1]))
    else:
        file = open_parquet(path, key, uri)
        names, has_rows = file.schema_arrow.names, bool(file.metadata.num_rows)
    if not has_rows:
        return Converted()
    schema.check_repeated(names, uri, key)
    sources = sources_of(names)
    unknown = check_names([*sources, *(name for name in names if name not in sources.values())], uri, key)
    constants = constants_of(sources)
    copy = target = folder / f"{path.name}.parquet"
    if csv:
        count = copy_csv(csv, names, schema, Plan({to: (name,) for to, name in sources.items()}, constants=constants), copy)
    else:
        if constants or has_clashing_names(names) or any(declared != name for declared, name in sources.items()):
            copied = {name: declared for declared, name in sources.items() if declared not in constants}
            copy_parquet(path, copy, copied, constants, key, uri)
        else:
            target = path  # the original has the declared names
        count, *_ = check_parquet(target, schema, key, uri)
    with named_errors(key, uri):
        check_rows(target, key, uri)
    return Converted((Part(target, key),), count, unknown)
