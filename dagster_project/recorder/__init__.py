"""`trainledger record`: runs beside a training job, samples what its chips do, and delivers it in the shapes that the product
reads.

It starts without the warehouse (no duckdb, polars, dbt, Dagster) and must cost less than a hundredth of a core, so it has a
process for each thing that may hang: `recording` waits for events and writes lines, `sampling` asks drivers and libraries,
`uploading` talks to the store. What a line means is known by the connectors, and by nothing here.
"""

import sys
from datetime import UTC, datetime

# a module as a process of its own; -P: a file of the job's folder, say signal.py, must not be taken for a library
MODULE = (sys.executable, "-P", "-m")


def stamp(moment: datetime) -> str:
    """A time as every line and record has it: UTC, milliseconds."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
