"""Metered chips of one version of software, and runs of that version, of another one, and of none on record.

The figures are those of the example in docs/methodology/energy.md: six workloads on three hosts, a quarter not metered.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.energy.raw_tables import Line, insert
from tests.energy.scenario import END, START, TPU, points

SOFTWARE = "libtpu-0.1"
PROFILE = timedelta(minutes=3)
HOSTS = [f"node-profiled-{number}" for number in range(3)]
IDLE, BUSY = 84, [288, 288, 312, 312, 336, 336]  # watts by workload


def write(line: Line) -> None:
    """All of it."""
    for number, watts in enumerate(BUSY):
        start = datetime(2026, 7, 2 + number)  # noqa: DTZ001 raw times are UTC without a zone
        line.run(f"profiled-{number}", "Google Cloud", *((host, "v6e", 1, start, start + 2 * (END - START)) for host in HOSTS))
        record(line, f"profiled-{number}", SOFTWARE, workload_key=f"workload-{number}")
        for host in HOSTS:
            profile(line, host, start, watts)
            profile(line, host, start + timedelta(hours=1), IDLE)
            profile(line, host, start + timedelta(days=31), 600)  # of a later month, within the band of 684 W
    for name, software in (("calibrated", SOFTWARE), ("other-software", "libtpu-0.2"), ("no-software", None)):
        line.run(name, "Google Cloud", (f"node-{name}", "v6e", 1, START, END))
        record(line, name, software)
        line.samples(TPU, points(f"node-{name}", [(0, 0.5)]))
    line.run("calibrated-unseen", "Google Cloud", ("node-unseen", "v6e", 1, START, END))
    record(line, "calibrated-unseen", SOFTWARE)


def record(line: Line, run: str, software: str | None, workload_key: str | None = None) -> None:
    line.connection.execute(
        "update raw.training_runs set sdk_version = ?, workload_key = ? where recorded_id = ? and part = 'run'",
        [software, workload_key, run],
    )


def profile(line: Line, host: str, start: datetime, watts: float) -> None:
    """A profile of one chip: two rails, and its use."""
    for rail, part in (("Core", watts - 24), ("HBM", 24)):
        insert(
            line.connection,
            "xprof",
            document_hash=f"{host}-{start}-{rail}",
            host_id=host,
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
