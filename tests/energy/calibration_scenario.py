"""Metered chips of one version of software, and runs of that version, of another one, and of none on record.

The figures are those of the example in docs/methodology/energy.md: idle 84 W, busy 312 W, spread 9.36 W, a quarter not metered.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.energy.raw_tables import Line, insert
from tests.energy.scenario import END, START, TPU, points

SOFTWARE = "libtpu-0.1"
PROFILE = timedelta(minutes=3)
BUSY = [302.64] * 2 + [312] * 8 + [321.36] * 2  # the second and the eleventh of twelve are the deciles


def write(line: Line) -> None:
    """All of it."""
    july, august = datetime(2026, 7, 2), datetime(2026, 8, 2)  # noqa: DTZ001 raw times are UTC without a zone
    for number, watts in enumerate([84] * 12 + BUSY):
        profile(line, number, july + number * timedelta(hours=1), watts)
        profile(line, number, august + number * timedelta(hours=1), 999)  # of a later month
    for name, software in (("calibrated", SOFTWARE), ("other-software", "libtpu-0.2"), ("no-software", None)):
        line.run(name, "Google Cloud", (f"node-{name}", "v6e", 1, START, END))
        line.connection.execute(
            "update raw.training_runs set sdk_version = ? where recorded_id = ? and part = 'run'", [software, name]
        )
        line.samples(TPU, points(f"node-{name}", [(0, 0.5)]))
    line.run("calibrated-unseen", "Google Cloud", ("node-unseen", "v6e", 1, START, END))
    line.connection.execute(
        "update raw.training_runs set sdk_version = ? where recorded_id = 'calibrated-unseen' and part = 'run'", [SOFTWARE]
    )


def profile(line: Line, number: int, start: datetime, watts: float) -> None:
    """A profile of one chip: two rails, and its use."""
    for rail, part in (("Core", watts - 24), ("HBM", 24)):
        insert(
            line.connection,
            "xprof",
            document_hash=f"{start}-{rail}",
            host_id=f"node-profiled-{number % 3}",
            device_index=0,
            sample_start=start,
            sample_end=start + PROFILE,
            utilisation_ratio=0.01 if watts < 100 else 0.97,
            evidence="measured",
            is_idle_by_absence=False,
            accelerator_type="v6e",
            component=rail,
            boundary="chip",
            power_w=part,
            meter="xprof_spi",
            sdk_version=SOFTWARE,
            is_sampled=True,
            **line.meta("profiles"),
        )
