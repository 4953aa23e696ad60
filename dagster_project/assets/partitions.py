"""Months and quarters that Dagster knows: of each source its own, of the ledger those that are published.

They are dynamic, so that a running UI shows a month as soon as it is there and never one that is not.
"""

from collections.abc import Iterable, Mapping

import dagster as dg

from dagster_project.assets import names
from dagster_project.assets.results import is_monthly
from dagster_project.landing.land import Landing
from dagster_project.landing.records import calendar_month
from dagster_project.settings import SourceSettings


def register_source_months(instance: dg.DagsterInstance, sources: Iterable[SourceSettings], landing: Landing) -> None:
    """Every month that a source delivered, landed or refused."""
    for source in filter(is_monthly, sources):
        landed = landing.read(source.name)
        partitions = [*(one.partition for one in landed.generations), *(one.partition for one in landed.refusals)]
        _register(instance, names.source_months(source.name), filter(None, map(calendar_month, partitions)))


def register_ledger(instance: dg.DagsterInstance, units: Mapping[str, str]) -> None:
    """Months and quarters of a publication, from the units it was built of (such as 'AWS/2026-04')."""
    months = sorted({name.rpartition("/")[2] for name in units if "/" in name})
    _register(instance, names.LEDGER_MONTHS, months)
    _register(instance, names.QUARTERS, map(names.quarter_of, months))


def _register(instance: dg.DagsterInstance, definition: str, keys: Iterable[str]) -> None:
    new = set(keys) - set(instance.get_dynamic_partitions(definition))
    if new:
        instance.add_dynamic_partitions(definition, sorted(new))
