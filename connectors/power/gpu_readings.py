"""A GPU at an instant: watts, use and the counter of its energy, from whatever states them, as one row.

The counter is landed as it reads. What it grew by since the reading before it, and that it was reset when it shrank, is found in
SQL over all files: one scrape a file or a thousand must give the same.
"""

from __future__ import annotations

from typing import NamedTuple

from connectors.formats.schema import BigInt, Text, optional
from connectors.power.devices import use_of
from connectors.power.readings import COLUMNS as READINGS
from connectors.power.readings import MEASURED, POWER, Owner, Reading, document_hash_of, watts_of
from connectors.telemetry.samples import SampleError

COLUMNS = (
    *READINGS,
    *optional("device_uuid", Text),  # whose counter it is: a GPU that is exchanged starts another
    *optional("energy_mj", BigInt),  # millijoules since the driver was loaded
)
_MOST_ENERGY = 1 << 53  # a GPU of 1 kW has run for 285 years; DCGM's own marks for "no value" lie above


class Gpu(NamedTuple):
    """Which GPU a reading is of."""

    owner: Owner
    number: int
    uuid: str | None


class Figures(NamedTuple):
    """What was read of it; None where nothing is known."""

    power_w: float | None = None
    use: float | None = None
    energy_mj: int | None = None


def reading_of(gpu: Gpu, line: int, time: int, figures: Figures, meter: str) -> Reading:
    """One row; copies of an observation have one hash, in whichever file they came."""
    power, use, energy = figures
    digest = document_hash_of(meter, gpu.owner.host_id, gpu.owner.run_key, gpu.number, gpu.uuid, time, *figures)
    evidence = POWER if use is None else MEASURED
    place = (digest, line, *gpu.owner, gpu.number, None, time, meter)
    return Reading(*place, power, None, use, evidence, device_uuid=gpu.uuid, energy_mj=energy)


def figures_of(power_w: float | None, use: float | None, full: float, energy_mj: float | None) -> Figures:
    """Figures as read, of which `full` is a use of all; SampleError for what no GPU has."""
    return Figures(watts_of(power_w), use_of(use, full), energy_of(energy_mj))


def energy_of(value: float | None) -> int | None:
    """A counter of millijoules; a mark for "no value" is none."""
    if value is None or value != value or value >= _MOST_ENERGY:
        return None
    if value < 0:
        raise SampleError("wrong_power", "energy_mj", "Deliver the counter of millijoules as the driver gives it.")
    return int(value)
