"""Reference tables (catalogue, prices, regions) and the evidence (input digests, the build)."""

from reports.sections.quality import THIS_BUILD
from reports.sections.sql import within
from reports.sections.tables import table

CATALOGUE = table("catalogue").answered_by("""\
select accelerator_type, accelerator_family, chip_name, chips_per_node, peak_bf16_tflops, chip_power_idle_w,
    chip_power_max_w, power_confidence, source, source_date, confidence
from marts.dim_accelerators
where accelerator_type in (select accelerator_type from marts.dim_training_runs)
order by accelerator_family, accelerator_type""")

PRICES = table("prices").answered_by("""\
select price_id, accelerator_type, region_id, purchase_option, price_per_unit, unit, currency, valid_from,
    source, source_date, confidence
from marts.dim_prices
where accelerator_type in (select accelerator_type from marts.dim_training_runs)
order by price_id""")

REGIONS = table("regions").answered_by(f"""\
select provider_name, region_id, region_name, country_code, grid_zone, source, source_date, confidence
from marts.dim_regions
where (provider_name, region_id) in (
    select provider_name, region_id from marts.fct_reconciliation where {within()}
)
order by provider_name, region_id""")

INPUTS = table("inputs").answered_by("""select source_name, kind, partition, published_at, rows, content_hash
from ops.dim_deliveries
where is_elected
order by source_name, partition, published_at, content_hash""")

BUILD = table("build").answered_by(f"""select code_version, fingerprint
from ops.builds
where build_id = {THIS_BUILD}
order by code_version, fingerprint""")
