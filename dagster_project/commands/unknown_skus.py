"""Which TPU SKUs of the published bills are unknown: for `status`, by their descriptions.

Read from fct_quarantine, which lists each once for every object of a bill. Their cost is shown by the check
`assert_every_tpu_sku_is_known`; nothing is decided here.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb

# a description may end in brackets of its own; the number of rows is in the last ones
_UNKNOWN = r"""
    with found as (
        select regexp_extract(value, '^(.*) \((\d+) rows\)$', ['sku_description', 'row_count'], 's') as parsed
        from marts.fct_quarantine
        where reason = 'unknown_tpu_sku'
    )
    select parsed.sku_description, sum(parsed.row_count::bigint)::bigint as row_count
    from found
    group by all
    order by row_count desc, 1
"""


@dataclass(frozen=True, slots=True)
class UnknownSku:
    """A description with the word TPU in which no generation is recognised, and how many bill rows have it."""

    sku_description: str
    row_count: int


def unknown_tpu_skus(published_file: Path) -> list[UnknownSku]:
    """Those of a published file, the most frequent first; none where there is no file."""
    if not published_file.exists():
        return []
    with duckdb.connect(str(published_file), read_only=True) as connection:
        return [UnknownSku(*row) for row in connection.execute(_UNKNOWN).fetchall()]
