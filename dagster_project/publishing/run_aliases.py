"""`ops.run_aliases`: under which other names a run is known, so that the number of a job leads to its run.

Names come from run records: the id of a record that was joined to the run, and ids that a record states of other systems. Which
records belong to which run is decided in the models; a build without them (Spark keeps none) gives a table without rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dagster_project.publishing.last import Catalog

if TYPE_CHECKING:
    import duckdb

BEHIND = ("intermediate", "int_run_records"), ("staging", "stg_training_runs__aliases")
NAMES = """select distinct training_run_id, alias_system, alias_id
from (
    select records.training_run_id, aliases.alias_system, aliases.alias_id
    from build.intermediate.int_run_records as records
    inner join build.staging.stg_training_runs__aliases as aliases using (record_system, recorded_id)

    union all

    -- people say the number of a job without its cluster; it may lead to several runs
    select records.training_run_id, aliases.alias_system, regexp_replace(aliases.alias_id, '^.*/', '') as alias_id
    from build.intermediate.int_run_records as records
    inner join build.staging.stg_training_runs__aliases as aliases using (record_system, recorded_id)
    where aliases.alias_system = 'slurm'

    union all

    select training_run_id, record_system as alias_system, recorded_id as alias_id
    from build.intermediate.int_run_records
)
where alias_id <> training_run_id
order by all"""


def write_run_aliases(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    """Create the table in a new published file."""
    connection.execute(
        "create or replace table ops.run_aliases"
        " (training_run_id varchar not null, alias_system varchar not null, alias_id varchar not null)"
    )
    if all(("build", *table) in catalog for table in BEHIND):
        connection.execute(f"insert into ops.run_aliases {NAMES}")
