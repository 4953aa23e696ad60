"""What a model's sheet states: all that was spent on the model, of every run and attempt (EU AI Act, Annex XI, 1 (2)(d) and (e)).

A sheet is of a model's whole life as far as it has been published, not of a quarter. Its figures are rows, and the text on
method is made of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from reports.door import Row
from reports.publication import Publication
from reports.quarter import listed
from reports.sections import calibration

FILED = "facility"  # no rule names a boundary: all four are shown, and this one is filed
BOUNDARIES = {
    "chip": "Chips",
    "chip_host": "Chips and hosts",
    "it": "IT: chips, hosts, network, storage",
    "facility": "Facility: IT times PUE",
}
ESTIMATED = (
    "Estimated: chips by telemetry where there is any, else by the hours they were held; plus their share of hosts, network "
    "and storage, times the provider's PUE."
)

ENERGY = """select model_name, boundary, run_count, attempt_count, energy_kwh, energy_kwh_low, energy_kwh_high, chip_hours,
    cast(chip_hours / 24 as decimal(38, 9)) as hardware_days, training_days,
    case when training_days < 30.4375 then 'under 1 month' when training_days < 91.3125 then '1 to 3 months'
        when training_days < 182.625 then '3 to 6 months' when training_days is not null then 'over 6 months'
    end as training_time_band,
    model_flops, power_confidence, telemetry_coverage_ratio, method, not_available_reason
from marts.rpt_model_energy
order by model_name, case boundary when 'chip' then 1 when 'chip_host' then 2 when 'it' then 3 else 4 end"""

ATTEMPTS = """select model_name, state, count(*) as run_count, cast(sum(attempt_count) as bigint) as attempt_count,
    min(started_at) as first_started_at, max(ended_at) as last_ended_at, count(*) - count(ended_at) as without_end_count
from marts.dim_training_runs
where model_name is not null
group by model_name, state
order by model_name, state"""

HARDWARE = """with months as (
    select training_run_id, cast(sum(reserved_chip_hours) as decimal(38, 9)) as chip_hours,
        count(*) - count(reserved_chip_hours) as unknown_months,
        bool_and(coalesce(energy_basis = 'measured', false)) as is_measured
    from marts.fct_training_run_energy
    group by training_run_id
)
select model_name, accelerator_type, provider_name, region_id, count(*) as run_count, max(chip_count) as most_chips,
    case when sum(coalesce(unknown_months, 1)) = 0 then cast(sum(chip_hours) as decimal(38, 9)) end as chip_hours,
    bool_and(coalesce(is_measured, false)) as is_measured
from marts.dim_training_runs
left join months using (training_run_id)
where model_name is not null
group by model_name, accelerator_type, provider_name, region_id
order by model_name, accelerator_type, provider_name, region_id"""

QUERIES = {"energy": ENERGY, "runs": ATTEMPTS, "hardware": HARDWARE}
OF_MODELS = "inner join marts.dim_training_runs as runs using (training_run_id) where model_name is not null"
CALIBRATED = f"with {calibration.CALIBRATED}\n{calibration.windows_by('model_name', OF_MODELS)}\norder by model_name"

BUILD = "select build_id, finished_at from ops.builds"


@dataclass(frozen=True)
class Sheet:
    """One model: its energy by boundary, the filed row among it, its runs by outcome, its hardware, and the words on method."""

    model: str
    build: Row
    energy: Sequence[Row]
    attempts: Sequence[Row]
    hardware: Sequence[Row]
    windows: str = ""  # behind calibrated watts, in words

    @property
    def filed(self) -> Row:
        return next(row for row in self.energy if row["boundary"] == FILED)

    @property
    def is_measured(self) -> bool:
        """Whether an own meter is behind every month; everything else is an estimate."""
        return all(row["is_measured"] for row in self.hardware)

    @property
    def span(self) -> tuple[str, str]:
        """The days of the first start and the last end, as far as they are known."""
        starts = [row["first_started_at"] for row in self.attempts if row["first_started_at"]]
        ends = [row["last_ended_at"] for row in self.attempts if row["last_ended_at"]]
        return (
            f"{min(starts):%Y-%m-%d}" if starts else "an unknown day",
            f"{max(ends):%Y-%m-%d}"
            if ends and not any(row["without_end_count"] for row in self.attempts)
            else "a day not yet known",
        )

    @property
    def method(self) -> str:
        """About 100 words, as the Code of Practice asks for, made of the rows."""
        filed, (first, last) = self.filed, self.span
        types = listed(list(dict.fromkeys(row["accelerator_type"] or "unknown accelerators" for row in self.hardware)))
        basis = "Measured." if self.is_measured else ESTIMATED
        coverage, confidence = _percent(filed["telemetry_coverage_ratio"]), filed["power_confidence"].replace("_", " ")
        confidence += f" ({self.windows})" if self.windows else ""
        return (
            f"Electricity of {_many(filed['run_count'], 'run')} with {_many(filed['attempt_count'], 'attempt')} from {first} to "
            f"{last} on {types}; failed, interrupted and intermediate ones are included. {basis} Telemetry covers {coverage} % "
            f"of the chip-hours; the weakest source of chip power is {confidence}. Filed is the {FILED}; no rule names a "
            "boundary, so three narrower ones stand beside it. Low and high are plausible bounds of all runs together and no "
            "confidence interval. Machines kept ready, data preparation outside recorded runs, and inference are not included."
        )


def sheets(publication: Publication) -> list[Sheet]:
    """A sheet per model of the publication, by name."""
    (build,) = publication.rows(BUILD)
    found = {name: _by_model(publication.rows(sql)) for name, sql in QUERIES.items()}
    windows = {row["model_name"]: row[calibration.FROM] for row in publication.rows_if_there(CALIBRATED)}
    return [
        Sheet(model, build, rows, found["runs"].get(model, []), found["hardware"].get(model, []), windows.get(model, ""))
        for model, rows in found["energy"].items()
    ]


def _by_model(rows: list[Row]) -> dict[str, list[Row]]:
    return {model: list(of_model) for model, of_model in groupby(rows, itemgetter("model_name"))}


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _percent(ratio: float) -> str:
    """Never rounded up to all, nor down to none."""
    return "100" if ratio == 1 else "0" if ratio == 0 else str(min(99, max(1, round(ratio * 100))))
