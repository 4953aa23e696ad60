"""Lines of the Neuron driver's `stats/power/utilization`: `<status>,<epoch>,<min>,<max>,<avg>`, percents of full power.

The driver rolls its samples up once a minute and repeats the line until the next: the epoch is the end of that minute. So a line
is of its own minute alone, however long it is read again. Statuses other than VALID mean that nothing is known. Full power has
the background power backed out, and of two dies the driver takes the greater: what that is in watts is decided in SQL.
"""

from __future__ import annotations

import re

from connectors.power.readings import share_of
from connectors.telemetry.samples import SampleError, is_recorded

MINUTE = 60_000_000  # of one roll-up
_NUMBER = r"[+-]?\d{1,9}(?:\.\d{1,9})?"
_LINE = re.compile(rf"POWER_STATUS_([A-Z_]+)\s*,\s*(-?\d{{1,19}})((?:\s*,\s*{_NUMBER})+)", re.ASCII)
# a line of the driver, with or without something before it; notes on its form are none
DRIVER_LINE = re.compile(r"POWER_STATUS_[A-Z_]+(?![A-Z_]|\s*,\s*<)", re.ASCII)  # people note `POWER_STATUS_VALID,<epoch>,<min>`
_BARE = re.compile(rf"{_NUMBER}(?:\s*[,\s]\s*{_NUMBER})?", re.ASCII)
_DEVICE = re.compile(r"(?<![a-zA-Z0-9])neuron(\d{1,4})(?![a-zA-Z0-9])", re.ASCII)
_NODE = re.compile(r"/neuron(\d{1,4})/", re.ASCII)
# a line of notes with min, max and avg without their epoch, so that their minute is unknown
UNTIMED = re.compile(r"(?<![\d.,])\d{1,3}\.\d\d,\d{1,3}\.\d\d,\d{1,3}\.\d\d(?![\d.,])", re.ASCII)
_FIELDS = "Deliver the lines of stats/power/utilization as the driver writes them."
_TIMES = "Deliver the driver's lines with their epoch, or wrap them with collected_at."


# what a line holds: the mean share of full power from start to end. No start: a live reading, which is a gauge's point; no share:
# it is unknown
PowerLine = tuple[int | None, int, float | None]


def device_in(text: str, *, is_notes: bool = False) -> int | None:
    """The device whose node a path is, in the tree before driver 2.31 and in the one after it: .../neuron3/...

    In a line of notes, such as the heading above readings, only the middle of a path names one.
    """
    match = (_NODE if is_notes else _DEVICE).search(text)
    return int(match[1]) if match else None


def power_line(text: str, collected_at: int | None = None) -> PowerLine:
    """Read a roll-up; SampleError where it is none. `collected_at` dates a line that the driver gave no time."""
    match = _LINE.search(text)
    if not match:
        raise SampleError("bad_text", "text", _FIELDS)
    status, epoch, numbers = match.groups()
    values = [float(number) for number in numbers.split(",")[1:]]
    end = int(epoch) * 1_000_000
    if status != "VALID":
        if not is_recorded(end):  # before its first roll-up the driver writes 0
            if collected_at is None:
                raise SampleError("missing_time", "text", _TIMES)
            end = collected_at - collected_at % MINUTE
        return end - MINUTE, end, None
    if not is_recorded(end):
        raise SampleError("bad_time", "text", _TIMES)
    if len(values) != 3 or not values[0] <= values[2] <= values[1]:
        raise SampleError("bad_text", "text", _FIELDS)
    for value in values:
        share_of(value, 100.0, "text")
    return end - MINUTE, end, share_of(values[2], 100.0, "text")


def live_line(text: str, collected_at: int | None) -> PowerLine:
    """Read `utilization_raw` (driver 2.29): a live share of each die, of which the greater is the device's."""
    match = _LINE.search(text)
    numbers = match[3].split(",")[1:] if match else re.split(r"[,\s]+", text.strip()) if _BARE.fullmatch(text.strip()) else []
    if not 1 <= len(numbers) <= 2:
        raise SampleError("bad_text", "text", "Deliver stats/power/utilization too: the form of this line is not known.")
    epoch = int(match[2]) * 1_000_000 if match else 0
    end = epoch if is_recorded(epoch) else collected_at
    if end is None:
        raise SampleError("missing_time", "text", _TIMES)
    is_known = match is None or match[1] == "VALID"
    return None, end, share_of(max(map(float, numbers)), 100.0, "text") if is_known else None
