"""What vendors and articles claim, what a run would have cost bought in other ways, and what it would have emitted elsewhere.

Sensitivities and what-ifs only: nothing here is a figure of the book, and nothing is added up.
"""

from reports.model import Column, Section, TableSpec, answered, bounded, columns, data_only
from reports.publication import Publication
from reports.quarter import Quarter

NO_FIGURE = "the claim has no figure"
CLAIMED, BETWEEN = "Claimed", "Between"
VENDOR_CLAIMS = TableSpec(
    id="vendor_claims",
    title="Claims of vendors and articles, and what the ledger says of them",
    sql="""select found.claim_id, found.claim, found.verdict, found.claimed_value, claims.claimed_value_high,
    claims.unit as claimed_unit, found.measured_value, found.measured_low, found.measured_high, found.reason, claims.tested_by,
    found.stated_by, found.source
from marts.rpt_vendor_claims as found
left join marts.dim_vendor_claims as claims on found.claim_id = claims.claim_id
order by
    case found.verdict when 'supported' then 1 when 'contradicted' then 2 when 'undecided' then 3 else 4 end,
    left(found.claim_id, 1) desc, try_cast(regexp_extract(found.claim_id, '[0-9]+') as integer), found.claim_id""",
    columns=(
        *columns("code", claim_id="Claim"),
        *columns("text", claim="In our words"),
        *columns("state", verdict="Verdict"),
        *columns("statistic", note=NO_FIGURE, group=CLAIMED, claimed_value="Value"),
        *columns("statistic", note="the claim is no range", group=CLAIMED, claimed_value_high="To"),
        *columns("text", note=NO_FIGURE, group=CLAIMED, claimed_unit="Unit"),
        Column("measured_value", "Measured", "statistic", note="not measured, the reason says why"),
        *columns("statistic", note="no interval", group=BETWEEN, measured_low="Low", measured_high="High"),
        *columns("text", reason="Why", stated_by="Whose figure"),
        *data_only(*columns("text", tested_by="Tested by", source="Source")),
    ),
    key=("claim_id",),
    method="Measured: the same quantity in this ledger. Of pairs: the 98 % interval of the geometric mean of matched pairs of "
    "runs to target, from five pairs on, at both corners of the power bounds. Supported: all of it reaches the claim. "
    "Contradicted: none of it does; an 'up to' only where there is no advantage at all. A ratio of 2 is twice as much, a share "
    "of 0.5 half less. A1 to A5 are public articles; the data file names them with their dates.",
    empty="No claim is in the file.",
)

ARTICLE_FIGURES = TableSpec(
    id="article_figures",
    title="Figures of the articles, computed again",
    sql="""select figure_id, item, stated_value, unit as stated_unit, recomputed_value, recomputed_as, is_right, note, source
from marts.dim_article_figures
where recomputed_as is not null
order by is_right nulls last, figure_id""",
    columns=(
        *columns("code", figure_id="Figure"),
        *columns("text", item="Of what"),
        *columns("statistic", note="the article states no figure", stated_value="Stated"),
        *columns("text", stated_unit="Unit"),
        *columns("statistic", recomputed_value="Computed again"),
        *columns("text", recomputed_as="As"),
        *columns("flag", note="another quantity", is_right="Right"),
        Column("note", "Note", "text", note="nothing to add"),
        *data_only(*columns("text", source="Source")),
    ),
    key=("figure_id",),
    method="The arithmetic of the articles with their own figures. Values on which articles disagree are in dim_article_figures.",
    empty="No figure of an article is in the file.",
)

PURCHASE_OPTIONS = TableSpec(
    id="purchase_options",
    title="A run to target under other ways to buy its hours",
    sql="""select workload_key, accelerator_type, region_id, purchase_option, billing_currency,
    cast(cost_per_run as decimal(38, 12)) as option_cost, price_source, price_date
from marts.rpt_purchase_options
order by cost_per_run is null, workload_key, accelerator_type desc, region_id, cost_per_run, purchase_option""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        *columns(accelerator_type="Accelerator", region_id="Region", purchase_option="Bought"),
        *columns(billing_currency="Currency"),
        *columns("money", note="no price is known, or not the hours", option_cost="Per run"),
        *columns("text", price_source="Price from"),
        *columns(price_date="Dated"),
    ),
    key=("workload_key", "accelerator_type", "region_id", "purchase_option"),
    method="A sensitivity and no cost of the ledger: median chip-hours or instance-hours of the runs to target times the price. "
    "Of several quotes the provider's own list counts, then the surer, the newer, the dearer. SageMaker: on demand and the most "
    "that claim C8 adds.",
    empty="No run reached its target.",
    page_rows=24,
)

WHAT_IF_SPAN = TableSpec(
    id="what_if_span",
    title="What a run would have emitted in another region: where it ran, the least and the most",
    sql="""select workload_key, accelerator_type, provider_name, max(run_count) as run_count,
    string_agg(region_id, ', ' order by region_id) filter (where is_where_it_ran) as own_regions,
    max(what_if_location_based_kgco2e) filter (where is_where_it_ran) as own_kgco2e,
    min_by(region_id, (what_if_location_based_kgco2e, region_id)) as least_region_id,
    min(what_if_location_based_kgco2e) as least_kgco2e,
    max_by(region_id, (what_if_location_based_kgco2e, region_id)) as most_region_id,
    max(what_if_location_based_kgco2e) as most_kgco2e,
    count(*) filter (where what_if_location_based_kgco2e is null) as without_figure
from marts.rpt_region_what_if
group by workload_key, accelerator_type, provider_name
order by workload_key, accelerator_type desc, provider_name""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        *columns(accelerator_type="Accelerator"),
        *columns("text", provider_name="Cloud"),
        *columns(run_count="Runs"),
        *columns("text", note="billed in several regions or none", group="Where it ran", own_regions="Region"),
        *columns("mass", note="no factor there", group="Where it ran", own_kgco2e="Modelled, the most"),
        *columns("code", note="no factor anywhere", group="Least", least_region_id="Region"),
        *columns("mass", note="no factor anywhere", group="Least", least_kgco2e="Modelled"),
        *columns("code", note="no factor anywhere", group="Most", most_region_id="Region"),
        *columns("mass", note="no factor anywhere", group="Most", most_kgco2e="Modelled"),
        *columns("count", without_figure="Regions without figure"),
    ),
    key=("workload_key", "accelerator_type", "provider_name"),
    method="Hypothetical, outside the inventory: median IT energy of a run to target times PUE and location-based factor of the "
    "region, by the rules and the year of the runs. Whether the accelerator is sold there is not asked. Never added up.",
    empty="No run reached its target.",
)

WHAT_IF = TableSpec(
    id="what_if_regions",
    title="What a run would have emitted in each region of its cloud",
    sql="""select workload_key, accelerator_type, provider_name, region_id, is_where_it_ran, run_count,
    it_energy_kwh, it_energy_kwh_low, it_energy_kwh_high, pue_ratio as region_pue, pue_year,
    is_pue_of_fleet, factor_id,
    what_if_location_based_kgco2e, what_if_location_based_kgco2e_low, what_if_location_based_kgco2e_high, not_available_reason
from marts.rpt_region_what_if
order by workload_key, accelerator_type desc, what_if_location_based_kgco2e nulls last, region_id""",
    columns=(
        Column("workload_key", "Workload", "code", is_quiet_when_repeated=True),
        *columns(accelerator_type="Accelerator"),
        *columns("text", provider_name="Cloud"),
        *columns(region_id="Region"),
        *columns("flag", is_where_it_ran="Ran there"),
        *columns("count", run_count="Runs"),
        *bounded("it_energy_kwh", "IT energy of a run", "energy", "the energy of a run is not known"),
        *columns("statistic", note="no PUE is known", region_pue="PUE"),
        *columns("year", note="no PUE is known", pue_year="of"),
        *columns("flag", note="no PUE is known", is_pue_of_fleet="of the fleet"),
        *columns(note="no factor", factor_id="Factor"),
        *bounded("what_if_location_based_kgco2e", "Modelled, location-based", "mass", "a part is not known"),
        *columns("text", note="the figure is there", not_available_reason="Why none"),
    ),
    key=("workload_key", "accelerator_type", "provider_name", "region_id"),
    method=WHAT_IF_SPAN.method,
    empty="No run reached its target.",
    page_rows=12,
)

TABLES = (VENDOR_CLAIMS, PURCHASE_OPTIONS, WHAT_IF_SPAN, WHAT_IF, ARTICLE_FIGURES)
TITLE = "Claims, ways to buy, and other regions"
LEAD = (
    "Claims of vendors and public articles beside what this ledger measures; without data there is no verdict. Below are "
    "sensitivities: what a run would have cost bought otherwise, and what it would have emitted elsewhere. They are no figures "
    "of the ledger and of no inventory."
)

ALL_RUNS = "Here over all runs of the publication, not of the quarter alone."


def section(publication: Publication, quarter: Quarter) -> Section:
    """The whole section, over all runs of the publication; empty where an older file has none of its tables."""
    tables = tuple(answered(publication, quarter, *TABLES).values())
    return Section("claims", TITLE, f"{LEAD} {ALL_RUNS}" if tables else "", tables)
