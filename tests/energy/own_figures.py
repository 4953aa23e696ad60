"""Runs for which the organisation knows something better than the catalogue, and the published studies as such runs.

Each figure is narrowed to its run, so that none of them touches another run's.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.energy.raw_tables import Line, insert

START = datetime(2026, 7, 1)  # noqa: DTZ001 raw times are UTC without a zone
HOUR = timedelta(hours=1)
CHIP = "trn1.2xlarge"
FACTOR = "gCO2e/kWh"


def write(line: Line) -> None:
    """Runs of one chip and one hour, and five studies."""
    for name in ("own-facility", "own-chip", "own-pue", "own-power", "own-idle-power"):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, START + HOUR))
    figure(line, "measured_energy", "Own-Facility", "500", "Wh", basis="facility", valid_from="2026-07-01")
    figure(line, "measured_energy", "own-chip", "0.1", "kWh", basis="chip", valid_from="2026-07-01")
    figure(line, "measured_energy", "no-such-run", "0.1", "kWh", basis="chip", valid_from="2026-07-01")
    figure(line, "pue", "*", "1.5", "ratio", run="own-pue")
    figure(line, "idle_power", CHIP, "0.05", "kW", run="own-power")
    figure(line, "max_power", CHIP, "0.05", "kW", run="own-power")
    figure(line, "idle_power", CHIP, "150", "W", run="own-idle-power")
    # NVML's milliwatts, and watt hours, neither of which a chip of 0.4 to 366 W draws
    for name in ("own-milliwatts", "own-watt-hours"):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, START + HOUR))
    figure(line, "max_power", CHIP, "142000", "W", run="own-milliwatts")
    figure(line, "measured_energy", "own-watt-hours", "154", "kWh", basis="chip", valid_from="2026-07-01")
    line.run("own-factor", "AWS", ("arn:aws:sagemaker:eu-west-2:1:training-job/own-factor", CHIP, 1, START, START + HOUR))
    figure(line, "factor", "eu-west-2", "100", FACTOR, run="own-factor")
    figure(line, "pue", "eu-sout-2", "1.4", "ratio")
    # half a node in a region that no other run is in
    line.run("own-region", "AWS", ("arn:aws:ec2:eu-south-2:1:instance/i-own", "trn1.32xlarge", 8, START, START + HOUR))
    figure(line, "idle_power", "trn1.32xlarge", "100", "W", region_id="eu-south-2")
    figure(line, "pue", "eu-south-2", "1.5", "ratio")
    studies(line)


def studies(line: Line) -> None:
    """Methodology 6.4: GPT-3 (Patterson 2021), BLOOM (Luccioni 2022), Llama 3.1 (model card), by what each of them states."""
    for name, chips in (("llama-3-1-hours", 65_500), ("llama-3-1-405b-hours", 51_400)):  # times 600 h: 39.3 and 30.84 million
        line.run(name, "AWS", (f"cluster-{name}", "p5.48xlarge", chips, START, START + 600 * HOUR))
        for kind in ("idle_power", "max_power"):
            figure(line, kind, "p5.48xlarge", "700", "W", run=name, source="model card: TDP")
    for name, kilowatt_hours, factor, chips, hours in (
        ("gpt-3", "1287000", "429", 10_000, 355),
        ("bloom", "433195", "57", 10_000, 108),
        ("llama-3-1", "27510000", "414", 65_500, 600),
        ("llama-3-1-405b", "21588000", "413.7", 51_400, 600),
    ):
        line.run(name, "AWS", (f"cluster-{name}", "v100", chips, START, START + hours * HOUR))
        figure(line, "measured_energy", name, kilowatt_hours, "kWh", basis="facility", valid_from="2026-07-01", source=name)
        figure(line, "factor", "*", factor, FACTOR, run=name, source=name)


def figure(line: Line, kind: str, key: str, value: str, unit: str, *, run: str | None = None, **more: str) -> None:
    """One row of user_inputs, of a source with a date."""
    stated = {"source": "meter 7", "source_date": "2026-08-02", "training_run_id": run, **more}
    insert(line.connection, "user_inputs", kind=kind, key=key, value__text=value, unit=unit, **stated, **line.meta("own"))
