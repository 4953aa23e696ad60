"""Families of measures: each prepares its inputs once and pairs every command with its floor."""

from benchmarks.families import (
    bills,
    chip_months,
    fleets,
    google,
    google_table,
    history,
    landing,
    node_hours,
    queries,
    refreshes,
    report,
    telemetry,
    trace,
)

FAMILIES = (
    *bills.FAMILIES,
    *fleets.FAMILIES,
    *refreshes.FAMILIES,
    *history.FAMILIES,
    *landing.FAMILIES,
    *telemetry.FAMILIES,
    *node_hours.FAMILIES,
    *chip_months.FAMILIES,
    *queries.FAMILIES,
    *report.FAMILIES,
    *trace.FAMILIES,
    *google.FAMILIES,
    *google_table.FAMILIES,
)
