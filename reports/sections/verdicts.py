"""Trainium and TPU side by side: the verdicts, what they rest on, and what would change them. No statistics here."""

from dataclasses import replace

from reports.model import Column, Section, Sentence, Table, TableSpec, answered, bounded, columns
from reports.publication import Publication, Row
from reports.quarter import Quarter
from reports.sections import compared
from reports.sections.charts import ratio_chart

TITLE = "Trainium and TPU side by side"
KPIS = {
    "cost_per_run_to_target": "Cost per run to target",
    "cost_per_million_tokens": "Cost per 1M useful tokens",
    "cost_per_exaflop": "Cost per useful EFLOP",
    "energy_kwh_per_million_tokens": "Energy per 1M useful tokens",
    "location_based_gco2e_per_million_tokens": "Location-based per 1M useful tokens",
    "market_based_gco2e_per_million_tokens": "Market-based per 1M useful tokens",
    "sci_gco2e_per_million_tokens": "SCI, operational, per 1M useful tokens",
    "mfu_ratio": "Model FLOP utilisation",
    "goodput_ratio": "Goodput",
}
PRIMARY = "cost_per_run_to_target"
SPAN = "case when window_start = $start then 'quarter' else 'four quarters' end"
WINDOWS = "window_end = $end and window_start in ($start, cast($end - interval 1 year as date))"


def _kpi(column: str = "kpi") -> str:
    """The KPI in words, and its place in reading order."""
    names = " ".join(f"when '{key}' then '{words}'" for key, words in KPIS.items())
    places = " ".join(f"when '{key}' then {place}" for place, key in enumerate(KPIS))
    return f"case {column} {names} end as measure, case {column} {places} end as position"


MEDIANS = columns("statistic", note="no run with the figure whole", trainium_median="Trainium median", tpu_median="TPU median")
RATIO = bounded("ratio", "Ratio", "ratio_of", "no pair, or strata that disagree", mid="geometric_mean_ratio")
CORNERS = columns(
    "ratio_of", note="not modelled, or fewer than five pairs", ratio_corner_low="At the low corner", ratio_corner_high="high"
)
NEEDED = Column("pairs_needed", "More pairs", "count", note="more pairs would not decide")
METHOD = (
    "Ratio: TPU ÷ Trainium, geometric mean over matched pairs of finished runs, replicates averaged first; with its 98 % t "
    "interval from "
    "five pairs. Cost: strict effective cost of whole runs with all their attempts. More pairs: how many would decide, at the "
    "spread observed."
)
VERDICTS = TableSpec(
    id="verdicts",
    title="Cost per run to target: what the pairs say",
    sql=f"""select workload_key, {SPAN} as span, pair_count, trainium_median, tpu_median, geometric_mean_ratio, ratio_low,
    ratio_high,
    verdict, reason, pairs_needed
from marts.rpt_trainium_vs_tpu
where {WINDOWS} and kpi = '{PRIMARY}' and (window_start = $start or pair_count > 0)
order by workload_key, window_start desc""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        *columns(span="Ended in", pair_count="Pairs"),
        *MEDIANS,
        *RATIO,
        Column("verdict", "Verdict", "state"),
        *columns(reason="Reason"),
        NEEDED,
    ),
    key=("workload_key", "span"),
    method=METHOD,
    empty="No workload has finished runs on both platforms.",
)
MODELLED_VERDICTS = TableSpec(
    id="modelled_verdicts",
    title="Energy and location-based emissions per 1M useful tokens: what the pairs say",
    sql=f"""select workload_key, {_kpi()}, pair_count, geometric_mean_ratio, ratio_corner_low, ratio_corner_high, verdict, reason,
    pairs_needed
from marts.rpt_trainium_vs_tpu
where window_end = $end and window_start = cast($end - interval 1 year as date) and factor_view = 'chip' and pair_count > 0
    and kpi in ('energy_kwh_per_million_tokens', 'location_based_gco2e_per_million_tokens')
order by workload_key, position""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        Column("measure", "Figure"),
        *columns(pair_count="Pairs"),
        Column("geometric_mean_ratio", "Ratio", "ratio_of", note="no pair, or strata that disagree"),
        *CORNERS,
        Column("verdict", "Verdict", "state"),
        *columns(reason="Reason"),
        NEEDED,
    ),
    key=("workload_key", "measure"),
    method="Modelled from power, with the same PUE and grid on both sides; pairs whose last run ended in the four quarters to "
    "the end of $quarter. A verdict must hold at both corners: the 98 % interval moved to the low bound of one side with the "
    "high one of the other.",
    is_dropped_when_empty=True,
)
BY_KPI = TableSpec(
    id="verdicts_by_kpi",
    title="Every figure that is compared",
    sql=f"""select workload_key, {_kpi()}, {SPAN} as span, factor_view, pair_count, trainium_median, tpu_median,
    geometric_mean_ratio, ratio_low, ratio_high, ratio_corner_low, ratio_corner_high, verdict, reason, pairs_needed
from marts.rpt_trainium_vs_tpu
where {WINDOWS} and (window_start = $start or pair_count > 0)
order by workload_key, position, factor_view, window_start desc""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        Column("measure", "Figure", is_quiet_when_repeated=True),
        *columns("text", factor_view="View", span="Ended in"),
        *columns(pair_count="Pairs"),
        *MEDIANS,
        *RATIO,
        *CORNERS,
        Column("verdict", "Verdict", "state"),
        *columns(reason="Reason"),
        NEEDED,
    ),
    key=("workload_key", "measure", "factor_view", "span"),
    method=f"{METHOD} All but the cost per run to target are corrected for each other (Holm). Chip view: the same PUE (1, "
    f"energy at the IT "
    "boundary) and grid (AWS us-east-1) on both sides; deployed: each run's own region, never a verdict. A verdict on energy "
    "or emissions must "
    "hold at both corners: the interval moved to the low bound of one side with the high one of the other. SCI: operational "
    "only, with idle share; "
    "no embodied figure is published for Trainium. Utilisation: useful FLOP over the bf16 peak of the chip hours held.",
    empty="No workload has finished runs on both platforms.",
    page_rows=120,
)
STRATA = TableSpec(
    id="comparison_strata",
    title="The same by accelerator and region of both sides: cost per run to target",
    sql=f"""select workload_key, {SPAN} as span, trainium_accelerator_type, trainium_region_id, tpu_accelerator_type,
    tpu_region_id,
    pair_count, geometric_mean_ratio
from marts.rpt_comparison_strata
where {WINDOWS} and kpi = '{PRIMARY}'
order by workload_key, window_start desc, trainium_accelerator_type, trainium_region_id, tpu_accelerator_type, tpu_region_id""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        Column("span", "Ended in"),
        *columns("code", group="Trainium", trainium_accelerator_type="Accelerator", trainium_region_id="Region"),
        *columns("code", group="TPU", tpu_accelerator_type="Accelerator", tpu_region_id="Region"),
        *columns(pair_count="Pairs"),
        Column("geometric_mean_ratio", "Ratio", "ratio_of"),
    ),
    key=("workload_key", "span", "trainium_accelerator_type", "trainium_region_id", "tpu_accelerator_type", "tpu_region_id"),
    method="Where strata lie on different sides of 1 no ratio of all is shown. How a run was bought is not on record and no "
    "stratum.",
    is_dropped_when_empty=True,
)
SENSITIVITIES = TableSpec(
    id="comparison_sensitivities",
    title="Whether the ranking survives other assumptions",
    sql=f"""select workload_key, {_kpi()}, setting, pair_count, stated_ratio, geometric_mean_ratio, is_ranking_kept
from marts.rpt_comparison_sensitivities
where window_end = $end and window_start = cast($end - interval 1 year as date)
order by workload_key, position, setting""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        Column("measure", "Figure", is_quiet_when_repeated=True),
        *columns("text", setting="Changed"),
        *columns(pair_count="Pairs"),
        *columns("ratio_of", stated_ratio="Ratio as stated", geometric_mean_ratio="Ratio changed"),
        Column("is_ranking_kept", "Same side of 1", "flag"),
    ),
    key=("workload_key", "measure", "setting"),
    method="Pairs whose last run ended in the four quarters to the end of $quarter, those with both figures; chip view but "
    "for what is changed.",
    is_dropped_when_empty=True,
    page_rows=80,
)
BREAK_EVEN_RUNS = bounded(
    "break_even_runs", "Pays after", "statistic", "no saving is shown, or the cost of the port is not known"
)
BREAK_EVEN = TableSpec(
    id="break_even",
    title="After how many runs a port has paid for itself",
    sql="""select workload_key, from_family, to_family, billing_currency, saving_per_run, saving_low, saving_high, one_time_cost,
    break_even_runs, break_even_runs_low, break_even_runs_high, reason
from marts.rpt_break_even
where saving_per_run > 0
order by workload_key, from_family""",
    columns=(
        Column("workload_key", "Workload", "code"),
        *columns("text", from_family="From", to_family="to"),
        *columns(billing_currency="Currency"),
        *bounded("saving", "Saving per run", "statistic", "fewer than five pairs", mid="saving_per_run"),
        Column("one_time_cost", "Port, once", "money", note="not stated in user_inputs"),
        *(replace(column, unit="runs") for column in BREAK_EVEN_RUNS),
        *columns(reason="Reason"),
    ),
    key=("workload_key", "from_family", "to_family"),
    method="All matched pairs there are; the saving with its 98 % t interval. One-time cost divided by the saving; where the "
    "interval includes 0 "
    "there is no break-even.",
    is_dropped_when_empty=True,
)
PAIRS = TableSpec(
    id="pair_ratios",
    title="Matched pairs: TPU ÷ Trainium",
    sql=f"""select workload_key, pair_key, {_kpi()}, unit, trainium_run_count, tpu_run_count, trainium_value, trainium_value_low,
    trainium_value_high, tpu_value, tpu_value_low, tpu_value_high, ratio, ratio_corner_low, ratio_corner_high
from marts.rpt_comparison_pairs
where window_end = $end and window_start = cast($end - interval 1 year as date) and factor_view = 'chip' and setting = ''
order by workload_key, position, pair_key""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        Column("measure", "Figure", is_quiet_when_repeated=True),
        Column("pair_key", "Pair", "code"),
        Column("unit", "in", "code"),
        *columns(group="Trainium", trainium_run_count="Runs"),
        *bounded("trainium_value", "Figure", "statistic", "not modelled", "Trainium"),
        *columns(group="TPU", tpu_run_count="Runs"),
        *bounded("tpu_value", "Figure", "statistic", "not modelled", "TPU"),
        Column("ratio", "Ratio", "ratio_of"),
        *CORNERS,
    ),
    key=("workload_key", "measure", "pair_key"),
    method="Pairs whose last run ended in the four quarters to the end of $quarter. Replicates of one side: geometric mean. "
    "Chip view.",
    is_dropped_when_empty=True,
    page_rows=60,
)
DISAGREEMENT = """select allocated.workload_key, allocated.pair_count as allocated_pairs, modelled.pair_count as modelled_pairs,
    allocated.geometric_mean_ratio as allocated_ratio, modelled.geometric_mean_ratio as modelled_ratio
from marts.rpt_comparison_sensitivities as allocated
inner join marts.rpt_comparison_sensitivities as modelled using (window_start, window_end, workload_key, kpi)
where allocated.setting = 'factors: allocated by the provider' and modelled.setting = 'factors: each its own region'
    and window_end = $end and window_start = cast($end - interval 1 year as date)
    and (allocated.geometric_mean_ratio < 1) <> (modelled.geometric_mean_ratio < 1)
order by allocated.workload_key"""


def disagreement(row: Row) -> Sentence:
    words = (
        f"{row['workload_key']}: location-based emissions per 1M useful tokens on TPU are {row['allocated_ratio']:.2f} times "
        f"Trainium's as the "
        f"providers allocate them ({row['allocated_pairs']} pairs) and {row['modelled_ratio']:.2f} times as modelled from "
        f"power, each in its own "
        f"region ({row['modelled_pairs']} pairs): providers allocate by list price, which does not see how busy a chip was or "
        f"what it "
        "draws; the model does not see what else they allocate. Neither is a verdict."
    )
    return Sentence(f"ratios_disagree,{row['workload_key']}", (words,))


def section(publication: Publication, quarter: Quarter) -> Section:
    """The chapter. With one platform or none, the reason why it is empty."""
    specs = (
        VERDICTS,
        MODELLED_VERDICTS,
        BY_KPI,
        STRATA,
        SENSITIVITIES,
        BREAK_EVEN,
        PAIRS,
        compared.WHAT_WAS_COMPARED,
        compared.RESIDUAL_SHARES,
    )
    tables = answered(publication, quarter, *specs)
    made = tables.get(compared.WHAT_WAS_COMPARED.id)
    if not made:
        return Section("side_by_side", TITLE)
    families = {str(row["accelerator_family"]) for row in made.rows}
    if not {"trainium", "tpu"} <= families:
        there = f"only on {families.pop()}" if families else "on neither"
        absent = f"Nothing is compared: it takes runs that ended on Trainium and on TPU, and in this quarter they ended {there}."
        return Section("side_by_side", TITLE, tables=(made,) if made.rows else (), absent=absent)
    drawn = {VERDICTS.id: ratio_chart(tables[PAIRS.id].rows, _rated(tables[BY_KPI.id]))} if PAIRS.id in tables else {}
    query = quarter.fill(DISAGREEMENT)
    apart = () if publication.missing(query) else tuple(disagreement(row) for row in publication.rows(query))
    return Section(
        "side_by_side",
        TITLE,
        lead="Compared are whole runs with all their attempts, matched by pair key; below 1 the TPU side took less. A side is "
        "named where five "
        "pairs or more agree, the power of the chips is not assumed, and less is left without a run than the sides differ.",
        tables=tuple(tables.values()),
        charts=drawn,
        sentences=apart,
    )


def _rated(table: Table) -> tuple[Row, ...]:
    """The rows that stand beside the pairs of a chart: the four quarters, in the chip view."""
    return tuple(row for row in table.rows if row["span"] == "four quarters" and row["factor_view"] == "chip")
