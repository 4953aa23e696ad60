"""Section 8 and 9: reference tables (catalogue, prices, regions) and the evidence (input digests, the build)."""

from reports.model import Column, TableSpec, columns
from reports.quarter import Quarter
from reports.sections.quality import THIS_BUILD
from reports.sections.sql import within

SOURCED = (*columns(source="Source", source_date="Dated"), Column("confidence", "Confidence", "state"))
NO_FIGURE = "no published figure"


def catalogue(quarter: Quarter) -> TableSpec:
    """Accelerator types of this quarter's runs, as far as the catalogue knows them."""
    return TableSpec(
        id="catalogue",
        title="Accelerator catalogue: the types in this file's runs",
        sql="""select accelerator_type, accelerator_family, chip_name, chips_per_node, peak_bf16_tflops, chip_power_idle_w,
    chip_power_max_w, power_confidence, source, source_date, confidence
from marts.dim_accelerators
where accelerator_type in (select accelerator_type from marts.dim_training_runs)
order by accelerator_family, accelerator_type""",
        columns=(
            *columns(accelerator_type="Type", accelerator_family="Platform", chip_name="Chip"),
            Column("chips_per_node", "Chips per node", "count", note="sold in several shapes"),
            Column("peak_bf16_tflops", "Peak BF16", "number", unit="TFLOPS", note=NO_FIGURE),
            Column("chip_power_idle_w", "Idle power", "number", unit="W", note=NO_FIGURE),
            Column("chip_power_max_w", "Greatest power", "number", unit="W", note=NO_FIGURE),
            Column("power_confidence", "Power from", "state", note=NO_FIGURE),
            *SOURCED,
        ),
        key=("accelerator_type",),
        method="Chosen values. marts.dim_accelerator_sources keeps every published value of every source, also where sources "
        "disagree.",
        empty="The catalogue has none of the accelerator types of the runs.",
    )


def prices(quarter: Quarter) -> TableSpec:
    """List prices beside the bill, for orientation."""
    return TableSpec(
        id="prices",
        title="List prices of accelerators",
        sql="""select price_id, accelerator_type, region_id, purchase_option, price_per_unit, unit, currency, valid_from,
    source, source_date, confidence
from marts.dim_prices
where accelerator_type in (select accelerator_type from marts.dim_training_runs)
order by price_id""",
        columns=(
            *columns(accelerator_type="Type", region_id="Region"),
            Column("purchase_option", "Option", "state"),
            Column("price_per_unit", "Price", "number"),
            Column("unit", "per"),
            Column("currency", "Currency", "code"),
            Column("valid_from", "From", "date"),
            *SOURCED,
        ),
        key=("price_id",),
        method="Reference only: no figure of this report uses them; list cost is the bill's own public on-demand cost.",
        empty="The file has no price of the accelerator types of the runs.",
    )


def regions(quarter: Quarter) -> TableSpec:
    """The regions with emissions in this quarter and how they were read."""
    return TableSpec(
        id="regions",
        title="Regions",
        sql=f"""select provider_name, region_id, region_name, country_code, grid_zone, source, source_date, confidence
from marts.dim_regions
where (provider_name, region_id) in (
    select provider_name, region_id from marts.fct_reconciliation where {within(quarter)}
)
order by provider_name, region_id""",
        columns=(
            *columns(provider_name="Provider", region_id="Region", region_name="Name", country_code="Country"),
            Column("grid_zone", "Grid zone", "code", note="not mapped"),
            *SOURCED,
        ),
        key=("provider_name", "region_id"),
        method="As the providers spell them. Global is not a region.",
        empty="No region of this quarter is in the table of regions.",
    )


def inputs(quarter: Quarter) -> TableSpec:
    """Every elected delivery with its digests."""
    return TableSpec(
        id="inputs",
        title="Digests of the inputs",
        sql="""select source_name, kind, partition, published_at, rows, content_hash
from ops.dim_deliveries
where is_elected
order by source_name, partition, published_at, content_hash""",
        columns=(
            Column("source_name", "Source"),
            *columns("code", kind="Kind", partition="Partition"),
            Column("published_at", "Published (UTC)", "time"),
            Column("rows", "Rows", "count"),
            Column("content_hash", "Content hash", "digest"),
        ),
        key=("source_name", "partition", "content_hash"),
        method="The landing keeps each delivery with the sha256 of every source object in its _generation.json; the content "
        "hash names it.",
        empty="No delivery has landed.",
        page_rows=30,
    )


def build(quarter: Quarter) -> TableSpec:
    """Which code and which inputs made the marts."""
    return TableSpec(
        id="build",
        title="Code and fingerprint of the published build",
        sql=f"""select code_version, fingerprint
from ops.builds
where build_id = {THIS_BUILD}
order by code_version, fingerprint""",
        columns=(Column("code_version", "Code version", "code"), Column("fingerprint", "Fingerprint of all build units", "code")),
        key=("fingerprint",),
        method="The fingerprint hashes the elected deliveries, seeds, settings and code of every provider and month.",
        empty="The published file holds no build.",
    )
