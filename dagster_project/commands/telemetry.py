"""How much of the published telemetry met a run and agrees with its record: for `status` and whoever else asks it.

Counts come from fct_telemetry_matches; nothing is decided here.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb

SHOWN = 5


@dataclass(frozen=True, slots=True)
class TelemetryMet:
    """Samples of all sources and months; what needs a look, first what met no run, then what contradicts a record."""

    samples: int
    matched: int
    findings: list[tuple[str, str, int]]  # machine or run key, reason, samples


def telemetry_met(published_file: Path) -> TelemetryMet | None:
    """Count in a published file; None where there is none, it has no telemetry, or it is of an older version."""
    if not published_file.exists():
        return None
    with duckdb.connect(str(published_file), read_only=True) as connection:
        try:
            [(samples, matched)] = connection.execute(
                "select sum(sample_count)::bigint, sum(matched_sample_count)::bigint from marts.fct_telemetry_matches"
            ).fetchall()
        except duckdb.CatalogException:
            return None
        findings = connection.execute(
            """
            select
                case when reason = 'unknown_run_key' then run_key else host end as name,
                reason,
                sum(sample_count - case when matched_sample_count < sample_count then matched_sample_count else 0 end)::bigint
            from marts.fct_telemetry_matches
            where reason is not null
            group by all
            order by bool_or(matched_sample_count < sample_count) desc, 3 desc, 1, 2
            """
        ).fetchall()
    return None if samples is None else TelemetryMet(samples, matched, findings)


def telemetry_line(met: TelemetryMet) -> str:
    """The counts in one line, with the names of what needs a look."""
    named = [f"{name} ({reason.replace('_', ' ')})" for name, reason, _ in met.findings[:SHOWN]]
    if (more := len(met.findings) - SHOWN) > 0:
        named.append(f"{more} more in fct_telemetry_matches")
    return f"{met.matched:,} of {met.samples:,} samples met a run{'; ' if named else ''}{', '.join(named)}"
