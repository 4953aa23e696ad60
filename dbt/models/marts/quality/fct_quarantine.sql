{%- set carbon_columns = {
    'provider_total_location_based_kgco2e': ['total_lbm_emissions_value', 'total_location_based'],
    'provider_total_market_based_kgco2e': ['total_mbm_emissions_value', 'total_market_based'],
    'provider_scope_1_kgco2e': ['total_scope_1_emissions_value', 'scope1'],
    'provider_scope_2_location_based_kgco2e': ['total_scope_2_lbm_emissions_value', 'scope2_location_based'],
    'provider_scope_2_market_based_kgco2e': ['total_scope_2_mbm_emissions_value', 'scope2_market_based'],
    'provider_scope_3_location_based_kgco2e': ['total_scope_3_lbm_emissions_value', 'total_scope_3_lbm_emissions_value'],
    'provider_scope_3_market_based_kgco2e': ['total_scope_3_mbm_emissions_value', 'total_scope_3_mbm_emissions_value'],
    'provider_scope_3_unsplit_kgco2e': ['scope3', 'scope3'],
} %}
with bill_doubts as (
    select
        reason,
        source_name,
        source_object,
        column_name,
        value,
        min(row_number) as row_number,
        cast(sum(line_count) as bigint) as line_count,
        {{ whole_sums(['hours'], 9) }},
        {{ whole_sums(['list_cost'], 12) }}
    from {{ ref('int_bill_doubts') }}
    group by all
),

-- few rows of many; one of a quarter or a year is in each of its months with a part of its masses
doubtful_carbon_rows as (
    select
        source_name, source_object, row_number, provider_name, payer_account_id, service_code, region_id, provider_model_version,
        is_elected, quarantine_reason,
        {{ whole_sums(mass_names(), 9) }}
    from {{ ref('int_carbon_rows') }}
    where quarantine_reason is not null or not is_elected
    group by all
),

implausible_power as (
    select
        source_name,
        source_object,
        boundary,
        coalesce(host_id, 'run ' || run_key) as machine,
        device_index,
        min(first_reading) as first_reading,
        cast(sum(reading_count) as bigint) as reading_count,
        min(first_us) as first_us,
        max(last_us) as last_us,
        min(least_uw) as least_uw,
        max(most_uw) as most_uw,
        min(band_least_uw) as band_least_uw,
        max(band_most_uw) as band_most_uw
    from {{ ref('int_implausible_power') }}
    group by all
),

-- in another unit they would lie in their band
implausible_units as (
    select
        *,
        case
            when least_uw >= 1000 * band_least_uw and most_uw <= 1000 * band_most_uw
                then 'they are about 1,000 times what it draws, as milliwatts read as watts are'
            when least_uw > 0 and 1000 * least_uw >= band_least_uw and 1000 * most_uw <= band_most_uw
                then 'they are about 0.001 of what it draws, as kilowatts read as watts are'
            else 'look at the meter and at its unit'
        end as guess
    from implausible_power
),

-- a figure of the organisation's own is judged as readings are
implausible_figures as (
    select
        source_name,
        source_object,
        row_number,
        unit,
        'a chip of ' || accelerator_type as drawn_by,
        cast({{ to_units('value', 6) }} as bigint) as mean_uw,
        band_least_uw,
        band_most_uw
    from {{ ref('int_own_figures') }}
    where is_doubted

    union all

    select
        source_name,
        source_object,
        row_number,
        unit,
        'each chip of ' || training_run_id
        || case when basis = 'chip' then '' else ' with its part of the machine' end as drawn_by,
        mean_uw,
        band_least_uw,
        band_most_uw
    from {{ ref('int_judged_energy') }}
    where is_doubted
),

-- the unit in which the figure would lie in its band, one step smaller or greater
implausible_figures_by_unit as (
    select
        *,
        case
            when mean_uw >= 1000 * band_least_uw and mean_uw <= 1000 * band_most_uw
                then case unit
                    when 'GWh' then 'MWh' when 'MWh' then 'kWh' when 'kWh' then 'Wh' when 'kW' then 'W' when 'W' then 'mW'
                end
            when 1000 * mean_uw >= band_least_uw and 1000 * mean_uw <= band_most_uw
                then case unit when 'Wh' then 'kWh' when 'kWh' then 'MWh' when 'MWh' then 'GWh' when 'W' then 'kW' end
        end as probable_unit
    from implausible_figures
)

select source_name, source_object, row_number, column_name, value, reason, remedy
from {{ source('raw', 'quarantine') }}
{% for mass, columns in carbon_columns.items() %}
union all

select
    source_name,
    source_object,
    row_number,
    case when provider_name = 'AWS' then '{{ columns[0] }}' else '{{ columns[1] }}' end as column_name,
    cast({{ mass }} as string) || ' kgCO2e' as value,
    'negative_emission' as reason,
    'the row''s masses stand in quarantined_total; ask the provider for a corrected delivery of the month' as remedy
from doubtful_carbon_rows
where quarantine_reason = 'negative_emission' and {{ mass }} < 0
{% endfor %}
union all

select
    source_name,
    source_object,
    row_number,
    case when provider_name = 'AWS' then 'region_code' else 'location_region' end as column_name,
    region_id as value,
    'unknown_region' as reason,
    'the row''s masses stand in quarantined_total; add the region to the regions seed with its source' as remedy
from doubtful_carbon_rows
where quarantine_reason = 'unknown_region'

union all

select
    source_name,
    source_object,
    row_number,
    column_name,
    value || ' (' || cast(line_count as string) || ' rows)' as value,
    reason,
    'the rows are kept under this code; add the region to the regions seed with its source' as remedy
from bill_doubts
where reason = 'unknown_region'

union all

select
    source_name,
    source_object,
    row_number,
    cast(null as string) as column_name,
    provider_model_version || ' ' || service_code || ' ' || region_id as value,
    'duplicate_row' as reason,
    'an equal row of the month is counted already; the masses of this one stand in quarantined_total, '
    || 'run the month''s backfill again' as remedy
from doubtful_carbon_rows
where quarantine_reason = 'duplicate_row'

union all

-- Google writes a month in one model version; a second one in it is a backfill that did not reach every row
select
    source_name,
    source_object,
    min(row_number) as row_number,
    'carbon_model_version' as column_name,
    provider_model_version || ' (' || cast(count(*) as string) || ' rows)' as value,
    'mixed_versions' as reason,
    'the account''s month stands on a newer version without these rows; run the month''s backfill again' as remedy
from doubtful_carbon_rows
where provider_name = 'Google Cloud' and not is_elected
group by source_name, source_object, payer_account_id, provider_model_version

union all

select
    source_name,
    source_object,
    row_number,
    column_name,
    value || ' (' || cast(line_count as string) || ' rows)' as value,
    reason,
    'the rows are kept as accelerator without a type; add the spelling to int_gcp_skus with its source' as remedy
from bill_doubts
where reason = 'unknown_tpu_sku'

union all

-- known before it is used
select
    source_name,
    source_object,
    row_number,
    'sku.description' as column_name,
    sku_words || ' (' || cast(sku_count as string) || ' SKUs)' as value,
    'unknown_price_sku' as reason,
    doubt || '; before you use it, add the spelling to int_gcp_skus or the type to the catalogue, with its source' as remedy
from {{ ref('int_gcp_price_doubts') }}

union all

select
    source_name,
    source_object,
    row_number,
    column_name,
    coalesce(nullif(value, '') || ': ', '') || coalesce({{ replace_all('cast(hours as string)', '[.]?0+$', '') }} || ' h', 'use')
    || ' at 0 (' || cast(line_count as string) || ' rows), list price '
    || coalesce({{ replace_all('cast(list_cost as string)', '[.]?0+$', '') }}, 'not stated') as value,
    reason,
    'what paid for it is on no bill here: land the months with the fee of its block or plan, or state the grant of its account '
    || 'in user_inputs; until then the effective cost of runs on it is unknown' as remedy
from bill_doubts
where reason = 'zero_priced'

union all

select
    lines.source_name,
    lines.source_object,
    min(lines.row_number) as row_number,
    'reservation_number_of_reservations' as column_name,
    blocks.block_arn || ': ' || {{ replace_all('cast(max(blocks.fee_cost) as string)', '[.]?0+$', '') }} || ' '
    || blocks.billing_currency || ' paid, instances not stated, no hour billed' as value,
    'unknown_block' as reason,
    'what of it is used up is unknown, so its balance in fct_prepaid is null; land the bills that have its hours, '
    || 'or state its instances in user_inputs' as remedy
from {{ ref('int_aws_capacity_blocks') }} as blocks
inner join {{ ref('int_aws_fees_and_hours') }} as lines
    on blocks.block_arn = lines.block_arn and blocks.billing_currency = lines.billing_currency
where blocks.is_open_unknown and lines.is_block_fee
group by lines.source_name, lines.source_object, blocks.block_arn, blocks.billing_currency

union all

select
    source_name,
    source_object,
    row_number,
    'accelerator_type' as column_name,
    accelerator_type as value,
    'unknown_accelerator_type' as reason,
    'runs on it keep its name, chips and hours and have no energy; correct the name, or add the type with its source to the '
    || 'catalogue, which knows ' || known_types as remedy
from {{ ref('int_unknown_types') }}

union all

select
    source_name,
    source_object,
    row_number,
    'training_run_id' as column_name,
    recorded_id as value,
    'ambiguous_run_id' as reason,
    case
        when is_number_unclear then 'several clusters have jobs of such names; give the cluster, as in cluster/' || recorded_id
        else 'another record normalises to ' || training_run_id || ' as well; rename one'
    end || ', until then their rows stay residual' as remedy
from {{ ref('int_run_records') }}
where is_ambiguous

union all

select
    records.source_name,
    records.source_object,
    records.row_number,
    'aliases' as column_name,
    aliases.alias_id as value,
    'ambiguous_run_id' as reason,
    'several clusters have jobs of such names; give the cluster, as in cluster/' || aliases.alias_id
    || ', until then the job is a run of its own' as remedy
from {{ ref('int_run_records') }} as records
inner join {{ ref('stg_training_runs__aliases') }} as aliases using (record_system, recorded_id)
where
    (
        aliases.alias_system = 'slurm'
        and aliases.alias_id not like '%/%'
        and aliases.alias_id <> recorded_id
        and not records.has_one_cluster
    )
    or (
        aliases.alias_system = 'kubernetes'
        and aliases.alias_id not like '%/%/%'
        and record_system = 'run_json'
        and not records.has_one_workload_cluster
        and records.training_run_id not in (
            select workloads.training_run_id from {{ ref('int_run_records') }} as workloads
            where workloads.record_system in ('kubernetes', 'hyperpod')
        )
    )

union all

-- what only logs record; of every other form the connector knows by the file alone
select
    source_name,
    source_object,
    row_number,
    'attempts.nodes' as column_name,
    recorded_id as value,
    'run_without_node' as reason,
    'only tags and job ids give this run a cost; add its nodes in a run.json with its id or alias, or tag the resources' as remedy
from {{ ref('int_run_records') }}
where
    record_rank = 1
    and record_system in ('mlflow', 'ray')
    and training_run_id not in (select nodes.training_run_id from {{ ref('int_recorded_nodes') }} as nodes)

union all

-- a figure of nothing that the ledger knows is nowhere else
select
    source_name,
    source_object,
    row_number,
    'key' as column_name,
    unknown_name as value,
    'unknown_run' as reason,
    'no run of this name was billed or held chips in the month; correct the key or valid_from, or add its record' as remedy
from {{ ref('int_unknown_figures') }}
where is_unknown_run

union all

select
    source_name,
    source_object,
    row_number,
    'key' as column_name,
    unknown_name as value,
    'unknown_key' as reason,
    'no region or accelerator type has this name; correct the key or region_id, until then the figure counts nowhere' as remedy
from {{ ref('int_unknown_figures') }}
where not is_unknown_run

union all

-- one row for each device of an object: its readings are unknown, and the next best evidence counts
select
    source_name,
    source_object,
    cast({{ part_of_place('first_reading', 2) }} as bigint) as row_number,
    {{ part_of_place('first_reading', 3) }} as column_name,
    'count ' || cast(reading_count as string) || ', ' || {{ whole_second('first_us') }} || ' to ' || {{ whole_second('last_us') }}
    || ', ' || {{ watts_in_text('least_uw') }} || ' to ' || {{ watts_in_text('most_uw') }} || ' W' as value,
    'implausible_power' as reason,
    case boundary when 'chip' then 'chip ' || cast(device_index as string) || ' of ' || machine else machine end
    || ' draws ' || {{ watts_in_text('band_least_uw') }} || ' to ' || {{ watts_in_text('band_most_uw') }} || ' W; ' || guess
    || '; until it is corrected these readings are unknown' as remedy
from implausible_units

union all

select
    source_name,
    source_object,
    row_number,
    'value' as column_name,
    {{ watts_in_text('mean_uw') }} || ' W' as value,
    'implausible_power' as reason,
    drawn_by || ' draws ' || {{ watts_in_text('band_least_uw') }} || ' to ' || {{ watts_in_text('band_most_uw') }} || ' W; '
    || coalesce('its unit is probably ' || probable_unit || ', not ' || unit, 'look at the figure and at its unit')
    || '; until it is corrected the figure is unknown' as remedy
from implausible_figures_by_unit
