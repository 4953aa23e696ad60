"""Trainium and TPU side by side: medians per workload and matched pairs.

Description only. A verdict needs an interval and its conditions: a table of its own, which this publication does not have.
"""

from dataclasses import dataclass

from reports.model import Column, TableSpec, bounded, columns
from reports.sections.compared import COMPARED_RUNS
from reports.sections.sql import ENDS, lines, nine_digits

RUN_METHOD = (
    "Finished runs that ended in the quarter and did not miss a target, whole lives, all attempts. Cost: strict, without idle "
    "share, promotions, tax and support. Energy with plausible bounds, which are no confidence interval: at the chips, and at "
    "the facility (chips, host, network and storage, times PUE). Modelled emissions: facility energy times the grid's "
    "location-based factor, each run in its own region (deployed view). Provider Scope 2: allocated by list price, which does "
    "not see how busy a chip was. A run whose figure is not whole is not in n. Ratios: one per pair, replicates by geometric "
    "mean; their bounds let the two sides err in opposite directions. Descriptive: no verdict is drawn."
)
TOKENS_METHOD = (
    "As the table before, each run divided by its useful tokens (what was trained again after a failure is not useful) times "
    "one million, then the median; masses in grams, energy in Wh. Runs without useful tokens on record are not in n. "
    "Descriptive: no verdict is drawn."
)
MATCHED = "Matched pairs, TPU ÷ Trainium"
NO_MEDIAN = "no run of this workload on this platform has the figure whole"
NO_PAIR = "no matched pair has the figure above 0 on both sides"


@dataclass(frozen=True)
class Measure:
    """One thing compared: a column of `compared_runs`, its words, its unit (none: the bill's currency)."""

    key: str
    words: str
    short: str
    unit: str
    is_modelled: bool

    @property
    def ends(self) -> tuple[str, ...]:
        """Endings of its columns: a modelled figure has plausible bounds."""
        return ENDS if self.is_modelled else ("",)


TOKENS = Measure("useful_tokens", "", "Useful tokens", "tokens", False)  # of pairs: how well the two sides are matched
MEASURES = (
    Measure("effective_cost", "Effective cost", "Effective cost", "", False),
    Measure("list_cost", "List cost", "List cost", "", False),
    Measure("chip_energy_kwh", "Energy, chips, modelled", "Energy, chips", "kWh", True),
    Measure("facility_energy_kwh", "Energy, facility, modelled", "Energy, facility", "kWh", True),
    Measure("modelled_location_based_kgco2e", "Location-based, modelled", "Location-based, modelled", "kgCO2e", True),
    Measure("scope_2_location_based", "Provider Scope 2, location-based", "Scope 2 location-based", "kgCO2e", False),
    Measure("scope_2_market_based", "Provider Scope 2, market-based", "Scope 2 market-based", "kgCO2e", False),
)


def _long(per_tokens: bool) -> str:
    """CTE `measured`: a row per compared run and measure, per run or per 1M useful tokens (masses then in grams)."""
    parts = []
    for n, measure in enumerate(MEASURES, 1):
        factor = " * 1e6 / useful_tokens" if per_tokens else ""
        unit = f"'{measure.unit}'" if measure.unit else "billing_currency"
        if per_tokens and measure.unit:
            factor, unit = " * 1e9 / useful_tokens", f"'{measure.unit.removeprefix('k')}'"
        low, high = (f"{measure.key}{end}{factor}" for end in (measure.ends[1:] or ("", "")))
        known = f"{measure.key} is not null" + (" and useful_tokens > 0" if per_tokens else "")
        parts.append(f"""    select {n} as position, '{measure.words}' as measure, {unit} as unit,
        {str(measure.is_modelled).lower()} as is_modelled,
        workload_key, pair_key, is_in_quarter, is_pair_of_quarter, accelerator_family, training_run_id,
        {measure.key}{factor} as value, {low} as value_low, {high} as value_high
    from compared
    where {known}""")
    return "measured as (\n" + "\n    union all\n".join(parts) + "\n)"


def _geometric(column: str) -> str:
    return f"exp(avg(ln(case when {column} > 0 then {column} end) order by training_run_id))"


PAIRS = f"""sides as (
    select position, unit, workload_key, pair_key, accelerator_family,
        {_geometric("value")} as value, {_geometric("value_low")} as value_low, {_geometric("value_high")} as value_high
    from measured
    where is_pair_of_quarter and value > 0 and value_low > 0
    group by position, unit, workload_key, pair_key, accelerator_family
),
pairs as (
    select position, unit, workload_key, pair_key,
        tpu.value / trainium.value as ratio,
        tpu.value_low / trainium.value_high as ratio_low,
        tpu.value_high / trainium.value_low as ratio_high
    from (select * from sides where accelerator_family = 'trainium') as trainium
    inner join (select * from sides where accelerator_family = 'tpu') as tpu using (position, unit, workload_key, pair_key)
)"""
SHOWN = """shown as (
    select workload_key
    from compared
    where is_in_quarter or is_pair_of_quarter
    group by workload_key
    having count(distinct accelerator_family) = 2
)"""


def _medians(family: str) -> str:
    only = f"filter (where is_in_quarter and accelerator_family = '{family}')"
    digits = {end: nine_digits(f"median(value{end}) {only}") for end in ENDS}
    return f"""    count(*) {only} as {family}_count,
    {digits[""]} as {family}_median,
    case when is_modelled then {digits["_low"]} end as {family}_median_low,
    case when is_modelled then {digits["_high"]} end as {family}_median_high"""


OF_PAIRS = {
    "ratio_median": "median(ratio)",
    "ratio_low": "median(ratio_low)",
    "ratio_high": "median(ratio_high)",
    "least_ratio": "min(ratio)",
    "greatest_ratio": "max(ratio)",
}
MEDIANS = f"""medians as (
    select position, measure, unit, is_modelled, workload_key,
{_medians("trainium")},
{_medians("tpu")}
    from measured
    where workload_key in (select workload_key from shown) and (is_in_quarter or is_pair_of_quarter)
    group by position, measure, unit, is_modelled, workload_key
),
matched as (
    select workload_key
    from (
        select workload_key, pair_key
        from compared
        where is_pair_of_quarter
        group by workload_key, pair_key
        having count(distinct accelerator_family) = 2
    ) as twins
    group by workload_key
),
ratios as (
    select position, unit, workload_key, count(*) as pair_count,
        {lines((f"{nine_digits(statistic)} as {name}" for name, statistic in OF_PAIRS.items()), 8)}
    from pairs
    group by position, unit, workload_key
)
select workload_key, measure, unit,
    trainium_count, trainium_median, trainium_median_low, trainium_median_high,
    tpu_count, tpu_median, tpu_median_low, tpu_median_high,
    coalesce(pair_count, 0) as pair_count, ratio_median,
    case when is_modelled then ratio_low end as ratio_low, case when is_modelled then ratio_high end as ratio_high,
    least_ratio, greatest_ratio,
    case
        when pair_count > 0 then 'descriptive'
        when matched.workload_key is not null then 'descriptive, no ratio'
        else 'not comparable: unpaired'
    end as reading
from medians
left join ratios using (position, unit, workload_key)
left join matched using (workload_key)
order by workload_key, position, unit"""


def medians(per_tokens: bool) -> TableSpec:
    """Per workload and measure: how many runs, their median on either platform, and the ratio of the matched pairs."""
    per = "per 1M useful tokens" if per_tokens else "per run"
    return TableSpec(
        id="side_by_side_per_million_tokens" if per_tokens else "side_by_side_per_run",
        title=f"Trainium and TPU {per}: medians, and the ratio of matched pairs",
        sql=f"with {COMPARED_RUNS},\n{SHOWN},\n{_long(per_tokens)},\n{PAIRS},\n{MEDIANS}",
        columns=(
            Column("workload_key", "Workload", "code", note="no workload named", is_quiet_when_repeated=True),
            Column("measure", f"Measure, {per}"),
            Column("unit", "in", "code"),
            *columns(group="Trainium", trainium_count="n"),
            *bounded("trainium_median", "Median", "statistic", NO_MEDIAN, "Trainium"),
            *columns(group="TPU", tpu_count="n"),
            *bounded("tpu_median", "Median", "statistic", NO_MEDIAN, "TPU"),
            *columns(group=MATCHED, pair_count="Pairs"),
            *bounded("ratio", "Median ratio", "statistic", NO_PAIR, MATCHED, mid="ratio_median"),
            *columns("statistic", note=NO_PAIR, group=MATCHED, least_ratio="Least", greatest_ratio="Greatest"),
            *columns(reading="Reading"),
        ),
        key=("workload_key", "measure", "unit"),
        method=TOKENS_METHOD if per_tokens else RUN_METHOD,
        empty="No workload has compared runs on both platforms in this quarter.",
        page_rows=80,
    )


COMPARED = (TOKENS, *MEASURES)


def _side(key: str, end: str) -> str:
    return f"case when bool_and({key}{end} > 0) then {_geometric(key + end)} end as {key}{end}"


def _pair_ratio(measure: Measure, end: str) -> str:
    """TPU ÷ Trainium of a pair; the low bound is TPU's low over Trainium's high. Costs in two currencies have no ratio."""
    other = {"": "", "_low": "_high", "_high": "_low"}[end]
    ratio = f"tpu.{measure.key}{end} / trainium.{measure.key}{other}"
    if not measure.unit:
        ratio = f"case when trainium.billing_currency = tpu.billing_currency and true then {ratio} end"
    return f"{nine_digits(ratio)} as {measure.key}_ratio{end}"


NOT_BOTH = "no figure above 0 on both sides"
PAIR_RATIOS = TableSpec(
    id="pair_ratios",
    title="Matched pairs: TPU ÷ Trainium, per run",
    sql=f"""with {COMPARED_RUNS},
sides as (
    select workload_key, pair_key, accelerator_family, count(*) as run_count, min(billing_currency) as billing_currency,
        {lines((_side(measure.key, end) for measure in COMPARED for end in measure.ends), 8)}
    from compared
    where is_pair_of_quarter
    group by workload_key, pair_key, accelerator_family
)
select workload_key, pair_key, trainium.run_count as trainium_count, tpu.run_count as tpu_count,
    {lines(_pair_ratio(measure, end) for measure in COMPARED for end in measure.ends)}
from (select * from sides where accelerator_family = 'trainium') as trainium
inner join (select * from sides where accelerator_family = 'tpu') as tpu using (workload_key, pair_key)
order by workload_key, pair_key""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        *columns(pair_key="Pair", trainium_count="Trainium runs", tpu_count="TPU runs"),
        *(
            column
            for m in COMPARED
            for column in bounded(f"{m.key}_ratio", m.short, "ratio_of", NOT_BOTH, shows_bounds=False)[: len(m.ends)]
        ),
    ),
    method="1 is no difference; below 1 the run on TPU took less, above 1 more. Replicates of one side: geometric mean. A "
    "pair counts in the quarter in which its last run ended. Useful tokens near 1: the two sides did the same work. Scope "
    "2: the provider's, allocated. The data file has the bounds of the modelled ratios.",
    empty="No pair_key has a compared run on both platforms in this quarter.",
    page_rows=60,
)
