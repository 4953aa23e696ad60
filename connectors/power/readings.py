"""The one shape of power: a row per device or node, rail and interval. It is the shape of samples with power behind them.

A GPU states watts and use in one sample, so both stand in one row. Which rows are copies, how rails become a chip, and which of
several readings counts, is decided in SQL over all files.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from connectors.formats.schema import Boolean, Column, Number, Schema, Text, optional, required
from connectors.formats.text_lines import TextFile
from connectors.telemetry import samples
from connectors.telemetry.converting import Group, Reader
from connectors.telemetry.samples import KeyFacts, Problems, SampleError

CHIP, NODE = "chip", "node"  # what lies inside the meter: a device, or a machine with its host
MEASURED, POWER = "measured", "power"  # evidence: the device's own use beside its power, or power alone

COLUMNS = (
    # a log of a job may name only its run, by its key
    *(replace(one, required=False, filled=False) if one.name == "host_id" else one for one in samples.COLUMNS),
    *optional("component", Text),  # a rail ('Core', 'HBM') or 'switch'; null: the whole of what the boundary names
    required("boundary", Text, filled=True),  # chip or node; device_index is null for a node
    # mean over the interval; null: no figure (N/A, an error, POWER_STATUS_NO_DATA), which is unknown and never 0
    *optional("power_w", Number),
    *optional("power_ratio", Number),  # 0 to 1: a driver's share of full power, background backed out
    # xprof_firmware, xprof_spi, neuron_sysfs, neuron_otel, neuron_observer, neuron_exporter, dcgm, nvml, pdu, bmc, mlperf,
    # codecarbon
    required("meter", Text, filled=True),
    *optional("sdk_version", Text),
    required("is_sampled", Boolean, filled=True),  # a window out of a longer time, as a profile is: it is of no other time
)
_MEASURES = samples.SAMPLE_MEASURES | {"power_w": 9, "power_ratio": 12}
MOST_WATTS = 1e8  # watts; a reading above is one in another unit
_ROWS = 4096  # of a group


class Owner(NamedTuple):
    """Whose a reading is."""

    host_id: str | None
    run_key: str | None
    accelerator_type: str | None = None
    region_id: str | None = None


class Reading(NamedTuple):
    """One row. Times are microseconds since 1970; a null start is a gauge's point, which covers the spacing before it."""

    document_hash: str
    line_number: int
    host_id: str | None
    run_key: str | None
    accelerator_type: str | None
    region_id: str | None
    device_index: int | None
    sample_start: int | None
    sample_end: int
    meter: str
    power_w: float | None = None
    power_ratio: float | None = None
    utilisation_ratio: float | None = None
    evidence: str = POWER
    boundary: str = CHIP
    component: str | None = None
    sdk_version: str | None = None
    device_uuid: str | None = None
    energy_mj: int | None = None
    power_limit_mw: int | None = None
    series: str | None = None  # whose counter
    counter_j: float | None = None
    is_idle_by_absence: bool = False
    is_sampled: bool = False


def reader_of(read: Callable[[TextFile, KeyFacts, Problems], Iterator[Reading]], columns: tuple[Column, ...]) -> Reader:
    """A reader of rows that share nothing, with the columns that their kind has."""
    names = tuple(column.name for column in columns if column.name in Reading._fields)

    def groups(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Group]:
        rows = read(file, facts, problems)
        while batch := list(islice(rows, _ROWS)):
            values = dict(zip(Reading._fields, zip(*batch, strict=True), strict=True))
            yield Group((), [values[name] for name in names])

    return Reader(groups, (), names, columns)


def schema_of(kind: str, *more: Column, **decimals: int) -> Schema:
    """The columns of a kind of power with those that it alone has, of which some are measures of so many decimals."""
    return Schema((*COLUMNS, *more), remedy_page=f"docs/sources/{kind}.md", measures=_MEASURES | decimals)


def document_hash_of(*observed: Any) -> str:
    """The hash of what was observed: who, when, which rail and what it read. In whichever file it came it is one observation."""
    return hashlib.sha256(repr(observed).encode()).hexdigest()


def watts_of(value: float | None, column: str = "power_w") -> float | None:
    """Watts as read; None where there are none, SampleError for what no meter reads."""
    return _within(value, MOST_WATTS, column, "Deliver watts as the meter gives them: 0 or more, and no other unit.")


def share_of(value: float | None, full: float, column: str = "power_ratio") -> float | None:
    """A share of full power as 0 to 1, of a reading whose full scale is `full` (1 or 100); a little above full is rounding."""
    ratio = None if value is None else value / full
    found = _within(ratio, 1.0000005, column, f"Deliver shares of full power between 0 and {full:g}.")
    return None if found is None else min(round(found, 12), 1.0)


def _within(value: float | None, most: float, column: str, remedy: str) -> float | None:
    if value is None or math.isnan(value):
        return None
    if not 0 <= value < most:
        raise SampleError("wrong_power", column, remedy)
    return value
