"""Families of measures: each prepares its inputs once and pairs every command with its floor."""

from benchmarks.families import bills, google, google_table, history, landing, queries, refreshes, telemetry

FAMILIES = (
    *bills.FAMILIES,
    *refreshes.FAMILIES,
    *history.FAMILIES,
    *landing.FAMILIES,
    *telemetry.FAMILIES,
    *queries.FAMILIES,
    *google.FAMILIES,
    *google_table.FAMILIES,
)
