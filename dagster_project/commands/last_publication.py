"""What `status` lists of the last publication: telemetry that met no run, doubted power, contradictions about jobs, unknown TPU
SKUs, factors that run out.

Nothing is decided here. Where nothing is published, or an older version published it, there is nothing to list.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.alerts import expiring

SHOWN = 5
_SAMPLES = "select sum(sample_count)::bigint, sum(matched_sample_count)::bigint from marts.fct_telemetry_matches"
_FINDINGS = """
    select
        case when reason = 'unknown_run_key' then run_key else host end as name,
        reason,
        sum(sample_count - case when matched_sample_count < sample_count then matched_sample_count else 0 end)::bigint
    from marts.fct_telemetry_matches
    where reason is not null
    group by all
    order by bool_or(matched_sample_count < sample_count) desc, 3 desc, 1, 2
"""
# fct_quarantine lists each once for every object of a bill; the check `assert_every_tpu_sku_is_known` shows their cost.
# A description may end in brackets of its own; the number of rows is in the last ones
_UNKNOWN_SKUS = r"""
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
# of Google's price lists, by source: how many kinds of SKUs, and one of them
_UNKNOWN_PRICES = """
    select source_name, count(*), min_by(value || ', ' || regexp_extract(remedy, '^(.*?);', 1), row_number)
    from marts.fct_quarantine
    where reason = 'unknown_price_sku'
    group by all
    order by source_name
"""
# a device may be in several objects; the remedy begins with its name
_IMPLAUSIBLE = """
    select source_name, count(distinct regexp_extract(remedy, '^.*? draws')), min(remedy)
    from marts.fct_quarantine
    where reason = 'implausible_power'
    group by all
    order by source_name
"""
_DOUBTS = {
    "partial_meter": "a node's meter shows less than its chips, which count with the model's host",
    "stuck_counter": "a counter of energy does not move while watts are drawn, and the watts count",
    "watts_and_counter": "a counter of energy and the watts beside it differ more than twofold",
    "clock_offset": "all samples of a machine are shifted against its record, and nothing is corrected",
}
_CONFLICTS = """
    select field, count(distinct training_run_id), min(training_run_id || ' (' || source_b || ': ' || value_b || ')')
    from marts.fct_run_conflicts
    where list_contains(?, field)
    group by all
    order by field
"""
# of jobs; whatever else disagrees names its machine or resource in the field, and what meters show is in _DOUBTS
_CONTRADICTIONS = """
    select field, count(*)
    from marts.fct_run_conflicts
    where not contains(field, ' ') and not list_contains(?, field)
    group by all
    order by 2 desc, 1
"""
_REMEDY = "See docs/methodology/factors.md for how to put in a newer one"


@dataclass(frozen=True, slots=True)
class TelemetryMet:
    """Samples of all sources and months; what needs a look, first what met no run, then what contradicts a record."""

    samples: int
    matched: int
    findings: list[tuple[str, str, int]]  # machine or run key, reason, samples


@dataclass(frozen=True, slots=True)
class UnknownSku:
    """A description with the word TPU in which no generation is recognised, and how many bill rows have it."""

    sku_description: str
    row_count: int


def telemetry_met(published_file: Path) -> TelemetryMet | None:
    """Count in a published file; None where it has no telemetry."""
    [(samples, matched)] = _rows(published_file, _SAMPLES) or [(None, None)]
    return None if samples is None else TelemetryMet(samples, matched, _rows(published_file, _FINDINGS))


def telemetry_line(met: TelemetryMet) -> str:
    """The counts in one line, with the names of what needs a look."""
    named = [f"{name} ({reason.replace('_', ' ')})" for name, reason, _ in met.findings[:SHOWN]]
    if (more := len(met.findings) - SHOWN) > 0:
        named.append(f"{more} more in fct_telemetry_matches")
    return f"{met.matched:,} of {met.samples:,} samples met a run{'; ' if named else ''}{', '.join(named)}"


def doubted_power(published_file: Path) -> list[str]:
    """A sentence per source whose readings are implausible, and per kind of contradiction between meters and clocks."""
    implausible = _rows(published_file, _IMPLAUSIBLE)
    conflicts = _asked(published_file, lambda connection: connection.execute(_CONFLICTS, [list(_DOUBTS)]).fetchall())
    return [
        *(f"{source}: implausible_power, devices: {count:,}, such as {example}" for source, count, example in implausible),
        *(f"{field}, runs: {count:,}, such as {example}: {_DOUBTS[field]}" for field, count, example in conflicts),
    ]


def unknown_tpu_skus(published_file: Path) -> list[UnknownSku]:
    """Which TPU SKUs of the published bills are unknown, the most frequent first."""
    return [UnknownSku(*row) for row in _rows(published_file, _UNKNOWN_SKUS)]


def unknown_price_skus(published_file: Path) -> list[str]:
    """A sentence per source of price lists: the SKUs of accelerators that no rule recognises, before any is used."""
    return [
        f"{source}: unknown_price_sku, kinds of SKUs: {count:,}, such as {example}; fct_quarantine has all. Report the "
        "descriptions of those that you will use"
        for source, count, example in _rows(published_file, _UNKNOWN_PRICES)
    ]


def contradictions(published_file: Path) -> dict[str, int]:
    """How many rows of fct_run_conflicts about jobs there are of each field, the most frequent first."""
    return dict(_asked(published_file, lambda connection: connection.execute(_CONTRADICTIONS, [list(_DOUBTS)]).fetchall()))


def expiring_factors(published_file: Path, at: datetime) -> list[str]:
    """A sentence per day on which factors of the newest usage month become too old, or own ones end."""
    return [
        f"{one} {_REMEDY}." for one in _asked(published_file, lambda connection: expiring.expiring_factors(connection, at.date()))
    ]


def _rows(published_file: Path, query: str) -> list[tuple[Any, ...]]:
    return _asked(published_file, lambda connection: connection.execute(query).fetchall())


def _asked(published_file: Path, ask: Callable[[duckdb.DuckDBPyConnection], list[Any]]) -> list[Any]:
    if not published_file.exists():
        return []
    with duckdb.connect(str(published_file), read_only=True) as connection:
        try:
            return ask(connection)
        except (duckdb.BinderException, duckdb.CatalogException):  # without this table or column, until the next refresh
            return []
