"""What vendors and articles claim, what a run would have cost bought in other ways, and what it would have emitted elsewhere.

Sensitivities and what-ifs only: nothing here is a figure of the book, and nothing is added up.
"""

from reports.sections.tables import chosen, summed
from reports.sections.verdicts import PRIMARY

WINDOW = "window_start = $start and window_end = $end"

VENDOR_CLAIMS = chosen(
    "vendor_claims",
    """marts.rpt_vendor_claims
left join (select claim_id, claimed_value_high, unit as claimed_unit, tested_by from marts.dim_vendor_claims) as claims
    using (claim_id)""",
    """case verdict when 'supported' then 1 when 'contradicted' then 2 when 'undecided' then 3 when 'no_data' then 4 else 5 end,
    left(claim_id, 1) desc, try_cast(regexp_extract(claim_id, '[0-9]+') as integer), claim_id""",
)
ARTICLE_FIGURES = chosen(
    "article_figures",
    "marts.dim_article_figures\nwhere recomputed_as is not null",
    "is_right nulls last, figure_id",
    stated_unit="unit",
)
# prices side by side rank nothing: beside them is the verdict of the workload at what was paid
PURCHASE_OPTIONS = chosen(
    "purchase_options",
    f"""marts.rpt_purchase_options
left join (
    select workload_key, verdict from marts.rpt_trainium_vs_tpu
    where {WINDOW} and kpi in {PRIMARY}
    qualify row_number() over (partition by workload_key order by verdict = 'not_comparable', kpi desc) = 1
) as verdicts using (workload_key)""",
    "cost_per_run is null, workload_key, accelerator_type desc, region_id, cost_per_run, purchase_option",
    option_cost="cast(cost_per_run as decimal(38, 12))",
)
WHAT_IF_SPAN = summed(
    "what_if_span",
    "marts.rpt_region_what_if",
    "workload_key, accelerator_type desc, provider_name",
    run_count="max(run_count)",
    own_regions="string_agg(region_id, ', ' order by region_id) filter (where is_where_it_ran)",
    own_kgco2e="max(what_if_location_based_kgco2e) filter (where is_where_it_ran)",
    least_region_id="min_by(region_id, (what_if_location_based_kgco2e, region_id))",
    least_kgco2e="min(what_if_location_based_kgco2e)",
    most_region_id="max_by(region_id, (what_if_location_based_kgco2e, region_id))",
    most_kgco2e="max(what_if_location_based_kgco2e)",
    without_figure="count(*) filter (where what_if_location_based_kgco2e is null)",
)
WHAT_IF = chosen(
    "what_if_regions",
    "marts.rpt_region_what_if",
    "workload_key, accelerator_type desc, what_if_location_based_kgco2e nulls last, region_id",
    region_pue="pue_ratio",
)

TABLES = (VENDOR_CLAIMS, PURCHASE_OPTIONS, WHAT_IF_SPAN, WHAT_IF, ARTICLE_FIGURES)
TITLE = "Claims, ways to buy, and other regions"
LEAD = (
    "Claims of vendors and public articles beside what this ledger measures; without data there is no verdict, and what no "
    "ledger can test is named. Below are "
    "sensitivities: what a run would have cost bought otherwise, and what it would have emitted elsewhere. They are no figures "
    "of the ledger and of no inventory."
)
