"""What vendors and articles claim, what a run would have cost bought in other ways, and what it would have emitted elsewhere.

Sensitivities and what-ifs only: nothing here is a figure of the book, and nothing is added up.
"""

from reports.sections.tables import table

VENDOR_CLAIMS = table("vendor_claims").answered_by("""\
select found.claim_id, found.claim, found.verdict, found.claimed_value, claims.claimed_value_high,
    claims.unit as claimed_unit, found.measured_value, found.measured_low, found.measured_high, found.reason, claims.tested_by,
    found.stated_by, found.source
from marts.rpt_vendor_claims as found
left join marts.dim_vendor_claims as claims on found.claim_id = claims.claim_id
order by
    case found.verdict when 'supported' then 1 when 'contradicted' then 2 when 'undecided' then 3 else 4 end,
    left(found.claim_id, 1) desc, try_cast(regexp_extract(found.claim_id, '[0-9]+') as integer), found.claim_id""")

ARTICLE_FIGURES = table("article_figures").answered_by("""\
select figure_id, item, stated_value, unit as stated_unit, recomputed_value, recomputed_as, is_right, note, source
from marts.dim_article_figures
where recomputed_as is not null
order by is_right nulls last, figure_id""")

PURCHASE_OPTIONS = table("purchase_options").answered_by("""\
select workload_key, accelerator_type, region_id, purchase_option, billing_currency,
    cast(cost_per_run as decimal(38, 12)) as option_cost, price_source, price_date
from marts.rpt_purchase_options
order by cost_per_run is null, workload_key, accelerator_type desc, region_id, cost_per_run, purchase_option""")

WHAT_IF_SPAN = table("what_if_span").answered_by("""\
select workload_key, accelerator_type, provider_name, max(run_count) as run_count,
    string_agg(region_id, ', ' order by region_id) filter (where is_where_it_ran) as own_regions,
    max(what_if_location_based_kgco2e) filter (where is_where_it_ran) as own_kgco2e,
    min_by(region_id, (what_if_location_based_kgco2e, region_id)) as least_region_id,
    min(what_if_location_based_kgco2e) as least_kgco2e,
    max_by(region_id, (what_if_location_based_kgco2e, region_id)) as most_region_id,
    max(what_if_location_based_kgco2e) as most_kgco2e,
    count(*) filter (where what_if_location_based_kgco2e is null) as without_figure
from marts.rpt_region_what_if
group by workload_key, accelerator_type, provider_name
order by workload_key, accelerator_type desc, provider_name""")

WHAT_IF = table("what_if_regions").answered_by("""\
select workload_key, accelerator_type, provider_name, region_id, is_where_it_ran, run_count,
    it_energy_kwh, it_energy_kwh_low, it_energy_kwh_high, pue_ratio as region_pue, pue_year,
    is_pue_of_fleet, factor_id,
    what_if_location_based_kgco2e, what_if_location_based_kgco2e_low, what_if_location_based_kgco2e_high, not_available_reason
from marts.rpt_region_what_if
order by workload_key, accelerator_type desc, what_if_location_based_kgco2e nulls last, region_id""")

TABLES = (VENDOR_CLAIMS, PURCHASE_OPTIONS, WHAT_IF_SPAN, WHAT_IF, ARTICLE_FIGURES)
TITLE = "Claims, ways to buy, and other regions"
LEAD = (
    "Claims of vendors and public articles beside what this ledger measures; without data there is no verdict. Below are "
    "sensitivities: what a run would have cost bought otherwise, and what it would have emitted elsewhere. They are no figures "
    "of the ledger and of no inventory."
)
