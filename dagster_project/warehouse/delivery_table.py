"""ops.dim_deliveries and ops.listed_objects: every generation the landing holds, and what became of the objects of each source.

Copies for SQL; the landing's own records are the truth.
"""

from collections.abc import Iterable
from dataclasses import astuple
from datetime import date

import duckdb

from dagster_project.base.kinds import KINDS, Kind
from dagster_project.base.months import first_day
from dagster_project.election.election import Election
from dagster_project.election.winners import Elected
from dagster_project.landing.answers import answer_of
from dagster_project.landing.land import Landing
from dagster_project.landing.records import Generation
from dagster_project.settings import SourceSettings
from dagster_project.warehouse.raw_tables import insert

# what our code made of a generation (row digest, rows, connector version) is null where it was not made, e.g. after the cache
# was deleted: only generations that count are read again
DDL = """
create schema if not exists ops;
create or replace table ops.dim_deliveries (
    source_name varchar not null, kind varchar not null, provider_name varchar, partition varchar not null,
    delivery_id varchar not null,
    published_at timestamp not null, landed_at timestamp not null, content_hash varchar not null, row_digest varchar,
    rows bigint, object_count bigint not null, bytes bigint not null, connector_version varchar,
    is_elected boolean not null, is_book boolean not null,
    first_usage_month date, last_usage_month date, grouped_by varchar, grouped_rows bigint, is_raw_kept boolean
);
create or replace table ops.listed_objects (
    source_name varchar not null, kind varchar not null, listed bigint not null, delivered bigint not null,
    refused bigint not null, bystanders bigint not null, awaited bigint not null, not_understood bigint not null
)
"""


def write_deliveries(connection: duckdb.DuckDBPyConnection, sources: Iterable[str], landing: Landing, election: Election) -> None:
    """Write the table anew; what an as-of election cannot have known is left out."""
    elected = {member.generation.path: member for member in election.members}
    rows = []
    for source in sources:
        for generation in landing.read(source).generations:
            if not election.view.has_generation(generation):
                continue
            member = elected.get(generation.path)
            contents = member.contents if member else landing.shelf.find_any(generation)
            data = [landed for landed in generation.objects if landed.role == "data"]
            rows.append(
                (
                    generation.source,
                    str(generation.kind),
                    KINDS[Kind(generation.kind)].provider_name,
                    generation.partition,
                    generation.delivery_id,
                    generation.published_at.replace(tzinfo=None),
                    generation.landed_at.replace(tzinfo=None),
                    generation.content_hash,
                    contents and contents.row_digest,
                    contents and contents.rows,
                    len(data),
                    sum(landed.size for landed in data),
                    contents and contents.connector_version,
                    member is not None,
                    member is not None and member.is_book,
                    *(_months_of(member) + grouping_of(landing, member.generation) if member else (None,) * 5),
                )
            )
    connection.execute(DDL)
    insert(connection, "ops.dim_deliveries", rows)


def _months_of(member: Elected) -> tuple[date | None, date | None]:
    """The first and the last month of use of a bill's rows."""
    months = [total.usage_month for total in member.contents.controls.months]
    return (first_day(min(months)), first_day(max(months))) if months else (None, None)


def grouping_of(landing: Landing, generation: Generation) -> tuple[str | None, int | None, bool | None]:
    """Where a delivery is groups: the engine that made them, of how many rows, and whether these rows are kept beside them."""
    if generation.query is None:
        return None, None, None
    with landing.store.opened(generation, generation.query) as path:
        record = answer_of(path)
    return record.engine, record.row_count, bool(generation.raw)


def write_listed(connection: duckdb.DuckDBPyConnection, sources: Iterable[SourceSettings], landing: Landing) -> None:
    """Fill the counts of each source as of its last look; a source that could not be listed yet has no row."""
    counted = [(source, counts) for source in sources if (counts := landing.listed.counts(source.name))]
    insert(connection, "ops.listed_objects", [(source.name, str(source.kind), *astuple(counts)) for source, counts in counted])
