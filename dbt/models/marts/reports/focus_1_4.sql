{{ config(materialized='view') }}
-- Column ids are those of the FOCUS specification, in its spelling.
-- noqa: disable=CP02
{%- set cell_names = 'source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month' %}
{%- set origin = 'row_kind, ' ~ cell_names ~ ', billing_currency, cost_component, provider_model_version' %}
{%- set emissions = {
    'x_ProviderScope2LocationBasedKgco2e': 'provider_scope_2_location_based_kgco2e',
    'x_ProviderScope2MarketBasedKgco2e': 'provider_scope_2_market_based_kgco2e',
    'x_ProviderTotalLocationBasedKgco2e': 'provider_total_location_based_kgco2e',
    'x_ProviderTotalMarketBasedKgco2e': 'provider_total_market_based_kgco2e',
} %}
{%- set costs = 'billed_cost, effective_cost, list_cost, contracted_cost' %}

with currencies as (
    select provider_name, payer_account_id, min(billing_currency) as billing_currency
    from {{ ref('fct_residual_costs') }}
    group by provider_name, payer_account_id
),

-- the parts of an origin are runs and reasons: accelerators of several types are one part
residual_costs as (
    select
        {{ cell_names }}, billing_currency, cost_component, reason,
        {{ sums(['billed_cost', 'effective_cost'], 12) }},
        {{ whole_sums(['list_cost', 'contracted_cost'], 12) }}
    from {{ ref('fct_residual_costs') }}
    group by all
),

-- what runs carry and what no run carries: together the whole bill, and the origin of neither
charges as (
    select
        'cost' as row_kind, {{ cell_names }}, billing_currency, cost_component, '' as provider_model_version,
        training_run_id, attribution_rule, cast(null as string) as reason, {{ costs }}, effective_cost as quantity,
        billing_currency as unit
        {%- for mass in emissions.values() %},
        cast(null as decimal(38, 9)) as {{ mass }}
        {%- endfor %}
    from {{ ref('fct_run_cell_costs') }}

    union all

    select
        'cost' as row_kind, {{ cell_names }}, billing_currency, cost_component, '' as provider_model_version,
        cast(null as string) as training_run_id, cast(null as string) as attribution_rule, reason, {{ costs }},
        effective_cost as quantity, billing_currency as unit
        {%- for mass in emissions.values() %},
        cast(null as decimal(38, 9)) as {{ mass }}
        {%- endfor %}
    from residual_costs
    {%- for table, run, rule, reason in [
        ('fct_run_cell_emissions', 'training_run_id', "'carbon_weight'", 'cast(null as string)'),
        ('fct_residual_emissions', 'cast(null as string)', 'cast(null as string)', 'reason'),
    ] %}

    union all

    -- a provider's carbon has other cells than its bill: rows of their own, which cost nothing
    select
        'emissions' as row_kind, {{ cell_of('masses') }}, coalesce(currencies.billing_currency, 'XXX') as billing_currency,
        '' as cost_component, masses.provider_model_version,
        {{ run }} as training_run_id, {{ rule }} as attribution_rule, {{ reason }} as reason
        {%- for cost in costs.split(', ') %},
        cast(0 as decimal(38, 12)) as {{ cost }}
        {%- endfor %},
        cast(masses.provider_total_location_based_kgco2e as decimal(38, 12)) as quantity, 'kgCO2e' as unit
        {%- for mass in emissions.values() %},
        masses.{{ mass }}
        {%- endfor %}
    from {{ ref(table) }} as masses
    left join currencies using (provider_name, payer_account_id)
    {%- endfor %}
),

origins as (
    select
        {{ origin }},
        count(training_run_id) as run_row_count,
        count(*) - count(quantity) as unknown_count,
        min(quantity) as least_quantity,
        sum(quantity) as origin_quantity
    from charges
    group by {{ origin }}
),

-- ratios are cut at twelve decimals, and the greatest takes what is cut off: they add up to 1
shares as (
    select
        charges.*,
        origins.run_row_count,
        case
            when
                origins.run_row_count > 0 and origins.unknown_count = 0
                and origins.least_quantity >= 0 and origins.origin_quantity > 0
                then cast(floor(
                    cast(charges.quantity as double) / cast(origins.origin_quantity as double) * 1e12
                ) as decimal(38, 0))
        end as share_units
    from charges
    inner join origins using ({{ origin }})
),

ranked as (
    select
        *,
        row_number() over (
            partition by {{ origin }}
            order by share_units desc, coalesce(training_run_id, ''), coalesce(attribution_rule, ''), coalesce(reason, '')
        ) as place,
        sum(share_units) over (partition by {{ origin }}) as all_share_units
    from shares
),

ratios as (
    select
        *,
        case
            when share_units is not null then {{ from_units(
                'cast(share_units + case when place = 1 then 1000000000000 - all_share_units else 0 end as decimal(38, 0))',
                12
            ) }}
        end as allocated_ratio
    from ranked
)

select
    ratios.row_kind || '|' || {{ cell_id('ratios') }} || '|' || ratios.billing_currency || '|' || ratios.cost_component || '|'
    || ratios.provider_model_version || '|' || coalesce(ratios.training_run_id, '~' || ratios.reason) || '|'
    || coalesce(ratios.attribution_rule, '') as x_RowId,
    ratios.row_kind as x_RowKind,
    case
        when ratios.allocated_ratio is not null
            then '{"Elements": [{"AllocatedRatio": ' || cast(ratios.allocated_ratio as string)
                || ', "UsageUnit": "' || ratios.unit || '", "UsageQuantity": ' || cast(ratios.quantity as string) || '}]}'
    end as AllocatedMethodDetails,
    case when ratios.run_row_count > 0 then coalesce(ratios.attribution_rule, 'residual') end as AllocatedMethodId,
    ratios.training_run_id as AllocatedResourceId,
    runs.recorded_id as AllocatedResourceName,
    case
        when ratios.training_run_id is not null then '{'
            {%- for name in ['team', 'model_name', 'workload_key', 'accelerator_type', 'state'] %}
            || '{{ ", " if not loop.first }}"{{ name }}": '
            || coalesce({{ json_string('runs.' ~ name) }}, 'null')
            {%- endfor %}
            || '}'
    end as AllocatedTags,
    ratios.billed_cost as BilledCost,
    ratios.payer_account_id as BillingAccountId,
    payers.account_name as BillingAccountName,
    ratios.billing_currency as BillingCurrency,
    cast(cast(ratios.usage_month + interval 1 month as date) as timestamp) as BillingPeriodEnd,
    cast(ratios.usage_month as timestamp) as BillingPeriodStart,
    case
        when ratios.reason = 'tax' then 'Tax'
        when ratios.reason in ('refund', 'rounding', 'provider_adjustment') then 'Adjustment'
        when ratios.cost_component = 'credit' then 'Credit'
        when ratios.cost_component = 'fee' then 'Purchase'
        else 'Usage'
    end as ChargeCategory,
    cast(null as string) as ChargeClass,
    case when ratios.row_kind = 'cost' then replace(ratios.cost_component, '_', ' ') else 'emissions reported by the provider' end
    || case
        when ratios.training_run_id is not null then ', allocated to a training run'
        else ', carried by no training run: ' || replace(ratios.reason, '_', ' ')
    end as ChargeDescription,
    cast(cast(ratios.usage_month + interval 1 month as date) as timestamp) as ChargePeriodEnd,
    cast(ratios.usage_month as timestamp) as ChargePeriodStart,
    ratios.contracted_cost as ContractedCost,
    ratios.effective_cost as EffectiveCost,
    ratios.provider_name as HostProviderName,
    ratios.provider_name as InvoiceIssuerName,
    ratios.list_cost as ListCost,
    cast(null as decimal(38, 12)) as PricingQuantity,
    cast(null as string) as PricingUnit,
    nullif(ratios.region_id, '') as RegionId,
    regions.region_name as RegionName,
    case
        when ratios.cost_component in ('accelerator', 'host') then 'Compute'
        when ratios.cost_component = 'managed_service_fee' then 'AI and Machine Learning'
        when ratios.cost_component = 'storage' then 'Storage'
        when ratios.cost_component = 'network' then 'Networking'
        when ratios.reason = 'support' then 'Management and Governance'
        else 'Other'
    end as ServiceCategory,
    coalesce(nullif(services.service_name, ''), nullif(ratios.service_code, ''), 'not named') as ServiceName,
    ratios.provider_name as ServiceProviderName,
    case
        when ratios.cost_component in ('accelerator', 'host') then 'Virtual Machines'
        when ratios.cost_component = 'managed_service_fee' then 'AI Platforms'
        when ratios.cost_component = 'storage' then 'Other (Storage)'
        when ratios.cost_component = 'network' then 'Other (Networking)'
        when ratios.reason = 'support' then 'Support'
        else 'Other (Other)'
    end as ServiceSubcategory,
    nullif(ratios.sub_account_id, '') as SubAccountId,
    accounts.account_name as SubAccountName,
    nullif(ratios.cost_component, '') as x_CostComponent,
    ratios.reason as x_ResidualReason,
    ratios.source_name as x_SourceName,
    nullif(ratios.service_code, '') as x_ServiceCode
    {%- for name, mass in emissions.items() %},
    ratios.{{ mass }} as {{ name }}
    {%- endfor %},
    nullif(ratios.provider_model_version, '') as x_ProviderModelVersion,
    case when ratios.row_kind = 'emissions' then cast(1 as bigint) end as x_ReporterScope3Category
from ratios
left join {{ ref('dim_training_runs') }} as runs using (training_run_id)
left join {{ ref('dim_accounts') }} as payers
    on ratios.provider_name = payers.provider_name and ratios.payer_account_id = payers.account_id
left join {{ ref('dim_accounts') }} as accounts
    on ratios.provider_name = accounts.provider_name and ratios.sub_account_id = accounts.account_id
left join {{ ref('dim_services') }} as services
    on ratios.provider_name = services.provider_name and ratios.service_code = services.service_code
left join {{ ref('dim_regions') }} as regions
    on ratios.provider_name = regions.provider_name and ratios.region_id = regions.region_id
