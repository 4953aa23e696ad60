"""Families of measures: each prepares its inputs once and pairs every command with its floor."""

from benchmarks.families import bills, history, refreshes

FAMILIES = (*bills.FAMILIES, *refreshes.FAMILIES, *history.FAMILIES)
