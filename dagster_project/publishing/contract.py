"""What the published file states of its own contract.

`ops.contract` lists the sections of the public contract that this version holds to. Which tables and columns those are is
written in the YAML beside the models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# a section that is done: the version of the contract that has it, and the first version of trainledger that publishes it
SECTIONS = {
    "house": (2, "0.3.0"),
    "doors": (2, "0.4.0"),
    "bigquery": (2, "0.6.0"),
    "answers": (2, "0.7.0"),
    "power": (2, "0.8.0"),
    "door": (3, "0.9.0"),
    "doubt": (3, "0.9.0"),
    "comparison": (3, "0.9.0"),
    "evidence": (3, "0.9.0"),
    "water": (3, "0.9.0"),
}


def write_contract(connection: duckdb.DuckDBPyConnection) -> None:
    """Create `ops.contract` in a new published file."""
    connection.execute(
        "create or replace table ops.contract"
        " (contract_version bigint not null, section varchar not null, since_version varchar not null)"
    )
    rows = [(version, section, since) for section, (version, since) in sorted(SECTIONS.items())]
    connection.executemany("insert into ops.contract values (?, ?, ?)", rows)
