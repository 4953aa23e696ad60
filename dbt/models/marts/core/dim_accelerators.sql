-- One row per accelerator type with the values the ledger uses; what every source says is in dim_accelerator_sources.
select * from {{ ref('accelerator_types') }}
