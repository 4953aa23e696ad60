"""Time of accelerators that a bill has at 0: which of it nothing explains, so that runs on it have no effective cost.

From docs/methodology/cost.md, "Zero is not a price". Cells keep the 0.
"""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

from .google_lines import GoogleLine
from .lines import Line
from .own_figures import rows_of_tables

# the instance on a dedicated host, the reservation beside its hours, what a type has for its disks: these cost nothing
FREE = re.compile(r"(HostBoxUsage|HostUsage|DedicatedRes|Reservation|EBSOptimized):")
Grants = list[tuple[str, date, date]]


def read_grants(locations: list[Path], as_published: datetime | None = None) -> Grants:
    grants = [row for row in rows_of_tables(locations, as_published) if row.get("kind") == "grant"]
    return [
        (
            row["key"],
            date.fromisoformat(row.get("valid_from") or "0001-01-01"),
            date.fromisoformat(row.get("valid_to") or "9999-12-31"),
        )
        for row in grants
    ]


def _is_free(line: Line | GoogleLine) -> bool:
    if not line.is_usage or line.component != "accelerator" or not line.has_amount or line.billed != 0:
        return False
    if isinstance(line, GoogleLine):
        return line.is_free and not line.has_commitment_credit and not line.subscription
    return line.kind == "Usage" and line.gross == 0 and not line.is_block_hour and not FREE.search(line.usage_type)


def doubt_zeros(lines: Iterable[Line | GoogleLine], grants: Grants) -> None:
    for line in lines:
        day = datetime.fromtimestamp(line.start // 10**6, UTC).date()
        is_granted = any(account == line.sub_account_id and begun <= day < over for account, begun, over in grants)
        line.is_zero_priced = _is_free(line) and not is_granted
