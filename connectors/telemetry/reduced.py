"""Lines of a recorder that reduces: one device over a clock minute, or over a part of it, with its use as a sum.

A line is one stretch of samples that follow each other, all measured, all unknown or all of a machine on which nothing ran.
What contradicts itself is left out by name: a sum that no samples can have is no evidence.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from connectors.telemetry.neuron_documents import Instance
from connectors.telemetry.samples import SampleError, micros_of

MINUTE = 60_000_000
_LONGEST = 2 * MINUTE + 500_000  # samples of a minute each, of which the first ends in it, and a gap that is none
_MOST_DEVICES, _ALL = 1024, 1_000_000
_REMEDY = "Deliver the lines that `trainledger-recorder --reduce 60s` writes, or what it reduces as it came."
_CANONICAL = msgspec.json.Encoder(order="deterministic")

Count = Annotated[int, Meta(ge=0, le=10**9)]
Micros = Annotated[int, Meta(ge=0, le=10**9)]
PartsPerMillion = Annotated[int, Meta(ge=0, le=_ALL)]


class Reduced(msgspec.Struct, gc=False):
    """One device over a stretch of a minute. Times are UTC, sums in microseconds."""

    minute: str
    device: Count
    device_count: Count
    evidence: str
    first: str
    last: str
    samples: Count
    covered_us: Micros
    known_us: Micros
    used_ppm_us: Annotated[int, Meta(ge=0, le=10**15)]
    least_ppm: PartsPerMillion | None = None
    greatest_ppm: PartsPerMillion | None = None
    instance_info: Instance | None = None


class Stretch(NamedTuple):
    """What a line states, checked: times in microseconds since 1970."""

    digest: str
    device: int
    device_count: int
    start: int
    end: int
    evidence: str
    is_idle: bool
    ratio: float | None
    used_ppm_us: int | None  # of a measured stretch


def stretch_of(reduced: Reduced, host_id: str) -> Stretch:
    """Check a line; SampleError names the field that contradicts the others."""
    minute, start, end = (micros_of(getattr(reduced, name), name, _REMEDY) for name in ("minute", "first", "last"))
    known = {"measured": reduced.covered_us, "presence": reduced.covered_us, "unknown": 0}.get(reduced.evidence)
    least, greatest = reduced.least_ppm or 0, reduced.greatest_ppm or 0
    rules = {
        "evidence": known is not None,
        "device": reduced.device < reduced.device_count <= _MOST_DEVICES,
        "samples": reduced.samples > 0,
        "last": start < end <= start + _LONGEST,
        "minute": minute % MINUTE == 0 and start < minute + MINUTE and minute < end + MINUTE and end <= minute + MINUTE,
        "covered_us": reduced.covered_us == end - start,
        "known_us": reduced.known_us == known,
        "least_ppm": least <= greatest,
        "used_ppm_us": least * reduced.known_us <= reduced.used_ppm_us <= greatest * reduced.known_us,
        "greatest_ppm": reduced.evidence == "measured" or greatest == 0,
    }
    if wrong := next((name for name, is_met in rules.items() if not is_met), None):
        raise SampleError("contradictory_minute", f"reduced.{wrong}", _REMEDY)
    is_measured = reduced.evidence == "measured"
    ratio: float | None = round(reduced.used_ppm_us / reduced.covered_us / _ALL, 12)
    return Stretch(
        hashlib.sha256(_CANONICAL.encode([host_id, reduced])).hexdigest(),
        reduced.device,
        reduced.device_count,
        start,
        end,
        "presence" if reduced.evidence == "presence" else "measured",
        reduced.evidence == "presence",
        None if reduced.evidence == "unknown" else ratio,
        reduced.used_ppm_us if is_measured else None,
    )
