"""Reference tables (catalogue, prices, regions) and the evidence (input digests, the build)."""

from reports.sections.quality import THIS_BUILD
from reports.sections.sql import within
from reports.sections.tables import chosen

OF_THE_RUNS = "accelerator_type in (select accelerator_type from marts.dim_training_runs)"

CATALOGUE = chosen("catalogue", f"marts.dim_accelerators\nwhere {OF_THE_RUNS}", "accelerator_family, accelerator_type")
PRICES = chosen("prices", f"marts.dim_prices\nwhere {OF_THE_RUNS}")
REGIONS = chosen(
    "regions",
    f"""marts.dim_regions
where (provider_name, region_id) in (select provider_name, region_id from marts.fct_reconciliation where {within()})""",
)
INPUTS = chosen("inputs", "ops.dim_deliveries\nwhere is_elected", "source_name, partition, published_at, content_hash")
BUILD = chosen("build", f"ops.builds\nwhere build_id = {THIS_BUILD}")
