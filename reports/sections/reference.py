"""Reference tables (catalogue, prices, regions) and the evidence (input digests, the build)."""

from reports.model import Column, TableSpec, columns
from reports.sections.quality import THIS_BUILD
from reports.sections.sql import within

SOURCED = columns(source="Source", source_date="Dated", confidence="Confidence")
NO_FIGURE = "no published figure"

CATALOGUE = TableSpec(
    id="catalogue",
    title="Accelerator catalogue: the types in this file's runs",
    sql="""select accelerator_type, accelerator_family, chip_name, chips_per_node, peak_bf16_tflops, chip_power_idle_w,
    chip_power_max_w, power_confidence, source, source_date, confidence
from marts.dim_accelerators
where accelerator_type in (select accelerator_type from marts.dim_training_runs)
order by accelerator_family, accelerator_type""",
    columns=(
        *columns(accelerator_type="Type", accelerator_family="Platform", chip_name="Chip"),
        *columns(note="sold in several shapes", chips_per_node="Chips per node"),
        Column("peak_bf16_tflops", "Peak BF16", "number", unit="TFLOPS", note=NO_FIGURE),
        Column("chip_power_idle_w", "Idle power", "number", unit="W", note=NO_FIGURE),
        Column("chip_power_max_w", "Greatest power", "number", unit="W", note=NO_FIGURE),
        *columns(note=NO_FIGURE, power_confidence="Power from"),
        *SOURCED,
    ),
    key=("accelerator_type",),
    method="Chosen values; the ledger also keeps every published value of every source, where sources disagree.",
    empty="The catalogue has none of the accelerator types of the runs.",
)

PRICES = TableSpec(
    id="prices",
    title="List prices of accelerators",
    sql="""select price_id, accelerator_type, region_id, purchase_option, price_per_unit, unit, currency, valid_from,
    source, source_date, confidence
from marts.dim_prices
where accelerator_type in (select accelerator_type from marts.dim_training_runs)
order by price_id""",
    columns=(
        *columns(accelerator_type="Type", region_id="Region", purchase_option="Option"),
        *columns("number", price_per_unit="Price"),
        *columns(unit="per", currency="Currency", valid_from="From"),
        *SOURCED,
    ),
    key=("price_id",),
    method="Reference only: no figure of this report uses them; list cost is the bill's own public on-demand cost.",
    empty="The file has no price of the accelerator types of the runs.",
)

REGIONS = TableSpec(
    id="regions",
    title="Regions",
    sql=f"""select provider_name, region_id, region_name, country_code, grid_zone, source, source_date, confidence
from marts.dim_regions
where (provider_name, region_id) in (
    select provider_name, region_id from marts.fct_reconciliation where {within()}
)
order by provider_name, region_id""",
    columns=(
        *columns(provider_name="Provider", region_id="Region", region_name="Name", country_code="Country"),
        *columns(note="not mapped", grid_zone="Grid zone"),
        *SOURCED,
    ),
    key=("provider_name", "region_id"),
    method="As the providers spell them. Usage of no region has no row here.",
    empty="No region of this quarter is in the table of regions.",
)

INPUTS = TableSpec(
    id="inputs",
    title="Digests of the inputs",
    sql="""select source_name, kind, partition, published_at, rows, content_hash
from ops.dim_deliveries
where is_elected
order by source_name, partition, published_at, content_hash""",
    columns=(
        *columns(source_name="Source", kind="Kind", partition="Partition"),
        *columns(published_at="Published (UTC)", rows="Rows", content_hash="Content hash"),
    ),
    key=("source_name", "partition", "content_hash"),
    method="The landing keeps each delivery with the sha256 of every source object in its _generation.json; the content "
    "hash names it.",
    empty="No delivery has landed.",
    page_rows=30,
)

BUILD = TableSpec(
    id="build",
    title="Code and fingerprint of the published build",
    sql=f"""select code_version, fingerprint
from ops.builds
where build_id = {THIS_BUILD}
order by code_version, fingerprint""",
    columns=columns(code_version="Code version", fingerprint="Fingerprint of all build units"),
    key=("fingerprint",),
    method="The fingerprint hashes the elected deliveries, seeds, settings and code of every provider and month.",
    empty="The published file holds no build.",
)
