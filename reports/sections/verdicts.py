"""Trainium and TPU side by side: the verdicts, what they rest on, and what would change them. No statistics here."""

from collections.abc import Iterable
from urllib.parse import quote

from reports.door import Row
from reports.model import Section, Sentence, Table, answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import compared
from reports.sections.charts import ratio_chart
from reports.sections.tables import chosen, declared

TITLE = "Trainium and TPU side by side"
KPIS = {
    "cost_per_run_to_target": "Cost per run to target",
    "cost_per_run_of_fixed_work": "Cost per run of fixed work",
    "cost_per_million_tokens": "Cost per 1M useful tokens",
    "cost_per_exaflop": "Cost per useful EFLOP",
    "energy_kwh_per_million_tokens": "Energy per 1M useful tokens",
    "location_based_gco2e_per_million_tokens": "Location-based per 1M useful tokens",
    "market_based_gco2e_per_million_tokens": "Market-based per 1M useful tokens",
    "sci_gco2e_per_million_tokens": "SCI, operational, per 1M useful tokens",
    "mfu_ratio": "Model FLOP utilisation",
    "held_time_utilisation_ratio": "Utilisation of held time",
    "goodput_ratio": "Goodput",
}
PRIMARY = ("cost_per_run_to_target", "cost_per_run_of_fixed_work")
SPAN = "case when window_start = $start then 'quarter' else 'four quarters' end"
WINDOWS = "window_end = $end and window_start in ($start, cast($end - interval 1 year as date))"
YEAR = "window_end = $end and window_start = cast($end - interval 1 year as date)"  # the four quarters to the end of this
WHEN = " ".join(f"when '{key}' then '{words}'" for key, words in KPIS.items())
MEASURE = f"case kpi {WHEN} end"
POSITION = f"list_position({list(KPIS)}, kpi)"  # in reading order

# of a workload the one figure that its runs promised
VERDICTS = chosen(
    "verdicts",
    f"""marts.rpt_trainium_vs_tpu
where {WINDOWS} and kpi in {PRIMARY} and (window_start = $start or pair_count > 0)
qualify row_number() over (
    partition by workload_key, window_start order by verdict = 'not_comparable', pair_count desc, kpi desc
) = 1""",
    "workload_key, window_start desc",
    measure=MEASURE,
    span=SPAN,
)
MODELLED_VERDICTS = chosen(
    "modelled_verdicts",
    f"""marts.rpt_trainium_vs_tpu
where {YEAR} and factor_view = 'chip' and pair_count > 0
    and kpi in ('energy_kwh_per_million_tokens', 'location_based_gco2e_per_million_tokens')""",
    f"workload_key, {POSITION}",
    measure=MEASURE,
)
BY_KPI = chosen(
    "verdicts_by_kpi",
    f"marts.rpt_trainium_vs_tpu\nwhere {WINDOWS} and (window_start = $start or pair_count > 0)",
    f"workload_key, {POSITION}, factor_view, window_start desc",
    measure=MEASURE,
    span=SPAN,
)
STRATA = chosen(
    "comparison_strata",
    f"marts.rpt_comparison_strata\nwhere window_end = $end and kpi in {PRIMARY} and is_different",
    "workload_key, stratum_kind, stratum",
)
SENSITIVITIES = chosen(
    "comparison_sensitivities",
    f"marts.rpt_comparison_sensitivities\nwhere {YEAR}",
    f"workload_key, {POSITION}, setting",
    measure=MEASURE,
)
# by the newest verdict, so in the report of its window alone; of a workload that is not decided the reason, once
BREAK_EVEN = chosen(
    "break_even",
    f"""marts.rpt_break_even
where (saving_per_run > 0 or (saving_per_run is null and from_family = 'trainium')) and workload_key in (
    select workload_key from marts.rpt_trainium_vs_tpu
    where kpi in {PRIMARY} and factor_view = 'chip' and pair_count > 0
    group by workload_key
    having max(window_end) = $end
)""",
    "workload_key, from_family",
)
PAIRS = chosen(
    "pair_ratios",
    f"marts.rpt_comparison_pairs\nwhere {YEAR} and factor_view = 'chip' and setting = '' and ratio is not null",
    f"workload_key, {POSITION}, pair_key",
    measure=MEASURE,
)
LEAD = (
    "Compared are whole runs with all their attempts, matched by pair key; below 1 the TPU side took less. A side is "
    "named over six closed halves of a quarter or more, by pairs that were registered before their later side began, where the "
    "power of the chips is not assumed, and less is left without a run than the sides differ."
)
WORDS = declared()["verdict_sentences"]


def verdict_sentences(table: Table) -> tuple[Sentence, ...]:
    """One for each workload, decided ones first, with the reason as the table has it: of four quarters, else of the quarter."""
    rows: dict[str, Row] = {}
    for row in sorted(table.rows, key=lambda row: (row["span"] == "quarter", row["verdict"] == "not_comparable")):
        rows.setdefault(str(row["workload_key"]), row)
    return tuple(
        Sentence(f"verdict,{quote(name)}", (f"{name}, {row['measure'].lower()}: {WORDS[row['verdict']]}. {row['reason']}",))
        for name, row in sorted(rows.items(), key=lambda one: ([*WORDS].index(one[1]["verdict"]), one[0]))
    )


DISAGREEMENT = f"""select allocated.workload_key, allocated.pair_count as allocated_pairs, modelled.pair_count as modelled_pairs,
    allocated.geometric_mean_ratio as allocated_ratio, modelled.geometric_mean_ratio as modelled_ratio
from marts.rpt_comparison_sensitivities as allocated
inner join marts.rpt_comparison_sensitivities as modelled using (window_start, window_end, workload_key, kpi)
where allocated.setting = 'factors: allocated by the provider' and modelled.setting = 'factors: each its own region'
    and {YEAR}
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


def side_by_side(
    tables: dict[str, Table], lead: str, apart: Iterable[Row], span: str = " in four quarters", absent: str = ""
) -> Section:
    """The chapter of these tables: the chart of the pairs of a span of time, and where two ways of counting disagree."""
    pairs = tables[PAIRS.id].rows if PAIRS.id in tables else ()
    # beside the pairs of a chart stand the figures of its span: of the two of a quarterly report the four quarters
    rated = (row for row in tables[BY_KPI.id].rows if row["factor_view"] == "chip" and row["span"] != "quarter") if pairs else ()
    drawn = ratio_chart(pairs, tuple(rated), span)
    charts = {VERDICTS.id: drawn} if drawn else {}
    return Section("side_by_side", TITLE, lead, tuple(tables.values()), charts, absent, tuple(map(disagreement, apart)))


def section(publication: Publication, quarter: Quarter) -> Section:
    """The chapter. With one platform or none, the reason why it is empty."""
    specs = (VERDICTS, MODELLED_VERDICTS, BY_KPI, STRATA, SENSITIVITIES, BREAK_EVEN, PAIRS)
    tables = answered(publication, quarter, *specs, compared.WHAT_WAS_COMPARED, compared.RESIDUAL_SHARES)
    made = tables.get(compared.WHAT_WAS_COMPARED.id)
    if not made:
        return side_by_side({}, "", ())
    families = {str(row["accelerator_family"]) for row in made.rows}
    if not {"trainium", "tpu"} <= families:
        there = f"only on {families.pop()}" if families else "on neither"
        absent = f"Nothing is compared: it takes runs that ended on Trainium and on TPU, and in this quarter they ended {there}."
        return side_by_side({made.id: made} if made.rows else {}, "", (), absent=absent)
    return side_by_side(tables, LEAD, publication.rows_if_there(quarter.fill(DISAGREEMENT)))
