{{ config(materialized='view') }}
-- Column ids are those of focus_1_4 where both have a column; no specification has emissions yet.
-- noqa: disable=CP02
{%- set cell_names = 'source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month' %}
{%- set origin = cell_names ~ ', provider_model_version' %}
{%- set emissions = {
    'x_ProviderScope2LocationBasedKgco2e': 'provider_scope_2_location_based_kgco2e',
    'x_ProviderScope2MarketBasedKgco2e': 'provider_scope_2_market_based_kgco2e',
    'x_ProviderTotalLocationBasedKgco2e': 'provider_total_location_based_kgco2e',
    'x_ProviderTotalMarketBasedKgco2e': 'provider_total_market_based_kgco2e',
} %}

with masses as (
    {%- for table, run, reason in [
        ('fct_run_cell_emissions', 'training_run_id', 'cast(null as string)'),
        ('fct_residual_emissions', 'cast(null as string)', 'reason'),
    ] %}
    select
        {{ origin }}, {{ run }} as training_run_id, {{ reason }} as reason, {{ emissions.values() | join(', ') }}
    from {{ ref(table) }}
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

origins as (
    select {{ origin }}, count(training_run_id) as run_row_count
    from masses
    group by {{ origin }}
)

select
    case
        when origins.run_row_count = 0 then null
        when masses.training_run_id is not null then 'carbon_weight'
        else 'residual'
    end as AllocatedMethodId,
    masses.training_run_id as AllocatedResourceId,
    runs.recorded_id as AllocatedResourceName,
    masses.payer_account_id as BillingAccountId,
    cast(cast(masses.usage_month + interval 1 month as date) as timestamp) as ChargePeriodEnd,
    cast(masses.usage_month as timestamp) as ChargePeriodStart,
    masses.provider_name as HostProviderName,
    nullif(masses.region_id, '') as RegionId,
    case when masses.region_id <> '' then coalesce(regions.region_name, masses.region_id) end as RegionName,
    coalesce(nullif(services.service_name, ''), nullif(masses.service_code, ''), 'not named') as ServiceName,
    nullif(masses.sub_account_id, '') as SubAccountId,
    case when masses.sub_account_id <> '' then coalesce(accounts.account_name, masses.sub_account_id) end as SubAccountName,
    masses.provider_model_version as x_ProviderModelVersion
    {%- for name, mass in emissions.items() %},
    masses.{{ mass }} as {{ name }}
    {%- endfor %},
    cast(1 as bigint) as x_ReporterScope3Category,
    masses.reason as x_ResidualReason,
    {{ cell_id('masses') }} || '|' || masses.provider_model_version || '|'
    || coalesce(masses.training_run_id, '~' || masses.reason) as x_RowId,
    nullif(masses.service_code, '') as x_ServiceCode,
    masses.source_name as x_SourceName
from masses
inner join origins using ({{ origin }})
left join {{ ref('dim_training_runs') }} as runs using (training_run_id)
left join {{ ref('dim_accounts') }} as accounts
    on masses.provider_name = accounts.provider_name and masses.sub_account_id = accounts.account_id
left join {{ ref('dim_services') }} as services
    on masses.provider_name = services.provider_name and masses.service_code = services.service_code
left join {{ ref('dim_regions') }} as regions
    on masses.provider_name = regions.provider_name and masses.region_id = regions.region_id
