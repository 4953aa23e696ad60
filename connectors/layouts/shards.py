"""Files of a partition that one EXPORT DATA cannot have written: left over from an export before it, or a part that is missing.

`overwrite` replaces files of the same name only. When a day is exported again with fewer files, those that were not replaced stay
and hold rows that the new ones have too. There is no manifest to tell, and a row has no id; what shows it is the files' names and
times. The rows are kept: they may be real, and what is left out of a bill is not seen. Known from the listing, nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from itertools import islice

from connectors.deliveries import Delivery, Refusal, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.stores import ObjectInfo

# `*` of an export's address becomes twelve digits: https://docs.cloud.google.com/bigquery/docs/exporting-data (read 2026-11-22)
_SHARD = re.compile(r"(.*?)(\d{12})(\.[\w.]+)", re.DOTALL)
_ONE_EXPORT = timedelta(hours=6)  # the longest that a query may run
_SHOWN = 3


def orphan_shards(delivery: Delivery, store_uri: str) -> tuple[Refusal, ...]:
    """A remark about a delivery whose files are not those of one export; none where nothing speaks against it."""
    shards = {info: match for info in delivery.objects if (match := _SHARD.fullmatch(info.key))}
    if not shards:
        return ()
    newest = max(info.last_modified for info in shards)
    older = [info for info in shards if newest - info.last_modified > _ONE_EXPORT]
    missing = _missing([(match[1], match[3], int(match[2])) for match in shards.values()])
    if older:
        what = f"{_names(older)} of {min(info.last_modified for info in older):%Y-%m-%d}, beside files of {newest:%Y-%m-%d}"
    elif missing:
        what = f"no {', no '.join(missing[:_SHOWN])}, beside files with higher numbers"
    else:
        return ()
    key = (older or list(shards))[0].key
    error = ExportContentError(
        f"{store_uri}/{key.rpartition('/')[0]}: its files are not of one export: {what}.",
        place=Place(key, value=what),
        reason="orphan_shards",
        remedy="Empty the folder and export the partition again; until then its rows count as they are, some perhaps twice.",
    )
    return (refusal_of(delivery, error),)


def _missing(shards: Sequence[tuple[str, str, int]]) -> list[str]:
    """The files that lack between the first number of an export, which is 0, and its last."""
    found = []
    for before, after in sorted({(before, after) for before, after, _ in shards}):
        numbers = {number for *series, number in shards if series == [before, after]}
        lacking = islice((number for number in range(max(numbers)) if number not in numbers), _SHOWN)
        found += [f"{before.rpartition('/')[2]}{number:012}{after}" for number in lacking]
    return found


def _names(infos: Sequence[ObjectInfo]) -> str:
    names = ", ".join(info.key.rpartition("/")[2] for info in infos[:_SHOWN])
    return names + (f" and {len(infos) - _SHOWN} more" if len(infos) > _SHOWN else "")
