{{ config(materialized='view') }}
-- Column ids are those of the FOCUS specification, in its spelling.
-- noqa: disable=CP02
{%- set cell_names = 'source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month' %}
{%- set commitment = 'commitment_id, commitment_kind, commitment_part, is_recurring' %}
{%- set origin = cell_names ~ ', billing_currency, cost_component, ' ~ commitment %}

-- what runs carry and what no run carries: together the whole bill, and the origin of neither
with origins as (
    select
        {{ origin }},
        count(training_run_id) as run_row_count,
        min(effective_cost) as least_cost,
        sum(effective_cost) as origin_cost
    from {{ ref('fct_costs_by_commitment') }}
    group by {{ origin }}
),

-- ratios are cut at twelve decimals, and the greatest takes what is cut off: they add up to 1
shares as (
    select
        charges.*,
        origins.run_row_count,
        case
            when origins.run_row_count > 0 and origins.least_cost >= 0 and origins.origin_cost > 0
                then cast(floor(
                    cast(charges.effective_cost as double) / cast(origins.origin_cost as double) * 1e12
                ) as decimal(38, 0))
        end as share_units
    from {{ ref('fct_costs_by_commitment') }} as charges
    inner join origins using ({{ origin }})
),

ranked as (
    select
        *,
        row_number() over (partition by {{ origin }} order by share_units desc, part_id) as place,
        sum(share_units) over (partition by {{ origin }}) as all_share_units
    from shares
),

-- Of rows that add up many prices the list price is known where each has one. Where one has none, and of what is no use of a
-- service, the specification takes the billed cost.
charges as (
    select
        *,
        case
            when share_units is not null then {{ from_units(
                'cast(share_units + case when place = 1 then 1000000000000 - all_share_units else 0 end as decimal(38, 0))',
                12
            ) }}
        end as allocated_ratio,
        case
            when commitment_part = 'purchase' then 'Purchase'
            when commitment_part <> '' then 'Usage'
            when reason = 'tax' then 'Tax'
            when reason in ('refund', 'rounding', 'provider_adjustment') then 'Adjustment'
            when cost_component = 'credit' then 'Credit'
            else 'Usage'
        end as charge_category,
        commitment_part in ('', 'used')
        and cost_component not in ('credit', 'fee')
        and coalesce(reason not in ('tax', 'refund', 'rounding', 'provider_adjustment'), true) as is_of_a_price,
        case commitment_part when '' then null else nullif(commitment_id, '') end as named_commitment_id
    from ranked
),

priced as (
    select
        *,
        is_of_a_price and list_cost is not null as is_list_cost_known,
        is_of_a_price and contracted_cost is not null as is_contracted_cost_known,
        case when is_of_a_price then coalesce(list_cost, billed_cost) else billed_cost end as focus_list_cost
    from charges
)

select
    case
        when priced.allocated_ratio is not null
            then '{"Elements": [{"AllocatedRatio": ' || cast(priced.allocated_ratio as string)
                || ', "UsageUnit": "' || priced.billing_currency
                || '", "UsageQuantity": ' || cast(priced.effective_cost as string) || '}]}'
    end as AllocatedMethodDetails,
    case when priced.run_row_count > 0 then coalesce(priced.attribution_rule, 'residual') end as AllocatedMethodId,
    priced.training_run_id as AllocatedResourceId,
    runs.recorded_id as AllocatedResourceName,
    case
        when priced.training_run_id is not null then '{'
            {%- for name in ['team', 'model_name', 'workload_key', 'accelerator_type', 'state'] %}
            || '{{ ", " if not loop.first }}"{{ name }}": '
            || coalesce({{ json_string('runs.' ~ name) }}, 'null')
            {%- endfor %}
            || '}'
    end as AllocatedTags,
    priced.billed_cost as BilledCost,
    priced.payer_account_id as BillingAccountId,
    coalesce(payers.account_name, priced.payer_account_id) as BillingAccountName,
    case priced.provider_name when 'AWS' then 'Payer Account' else 'Billing Account' end as BillingAccountType,
    priced.billing_currency as BillingCurrency,
    cast(cast(priced.usage_month + interval 1 month as date) as timestamp) as BillingPeriodEnd,
    cast(priced.usage_month as timestamp) as BillingPeriodStart,
    case when priced.commitment_kind = 'capacity_block' then priced.named_commitment_id end as CapacityReservationId,
    case
        when priced.commitment_kind <> 'capacity_block' or priced.named_commitment_id is null then null
        when priced.commitment_part = 'used' then 'Used'
        when priced.commitment_part = 'unused' then 'Unused'
    end as CapacityReservationStatus,
    priced.charge_category as ChargeCategory,
    cast(null as string) as ChargeClass,
    replace(priced.cost_component, '_', ' ')
    || case priced.commitment_part
        when 'purchase' then ', bought ahead: its cost is in the use that it pays for'
        when 'used' then ', under a commitment'
        when 'unused' then ', committed to and not used'
        else ''
    end
    || case
        when priced.training_run_id is not null then ', allocated to a training run'
        else ', carried by no training run: ' || replace(priced.reason, '_', ' ')
    end as ChargeDescription,
    case
        when priced.commitment_part = 'purchase' then case when priced.is_recurring then 'Recurring' else 'One-Time' end
        when priced.reason = 'support' then 'Recurring'
        when priced.charge_category = 'Usage' then 'Usage-Based'
        else 'One-Time'
    end as ChargeFrequency,
    cast(cast(priced.usage_month + interval 1 month as date) as timestamp) as ChargePeriodEnd,
    cast(priced.usage_month as timestamp) as ChargePeriodStart,
    case
        when priced.named_commitment_id is not null then case when priced.is_spend_based then 'Spend' else 'Usage' end
    end as CommitmentDiscountCategory,
    priced.named_commitment_id as CommitmentDiscountId,
    cast(null as string) as CommitmentDiscountName,
    case
        when priced.named_commitment_id is null then null
        when priced.commitment_part = 'purchase' then priced.billed_cost
        else priced.effective_cost
    end as CommitmentDiscountQuantity,
    case
        when priced.named_commitment_id is null then null
        when priced.commitment_part = 'used' then 'Used'
        when priced.commitment_part = 'unused' then 'Unused'
    end as CommitmentDiscountStatus,
    case
        when priced.named_commitment_id is not null
            then case priced.commitment_kind
                when 'savings_plan' then 'Savings Plan'
                when 'reservation' then 'Reserved Instance'
                when 'capacity_block' then 'Capacity Block'
                else 'Committed Use Discount'
            end
    end as CommitmentDiscountType,
    case when priced.named_commitment_id is not null then priced.billing_currency end as CommitmentDiscountUnit,
    case when priced.is_contracted_cost_known then priced.contracted_cost else priced.focus_list_cost end as ContractedCost,
    priced.effective_cost as EffectiveCost,
    priced.provider_name as HostProviderName,
    priced.provider_name as InvoiceIssuerName,
    priced.focus_list_cost as ListCost,
    case
        when priced.charge_category not in ('Usage', 'Purchase') then null
        when priced.charge_category = 'Purchase' then 'Standard'
        when priced.named_commitment_id is not null then 'Committed'
        else 'Other'
    end as PricingCategory,
    case when priced.charge_category in ('Usage', 'Purchase') then priced.focus_list_cost end as PricingQuantity,
    case when priced.charge_category in ('Usage', 'Purchase') then priced.billing_currency end as PricingUnit,
    nullif(priced.region_id, '') as RegionId,
    case when priced.region_id <> '' then coalesce(regions.region_name, priced.region_id) end as RegionName,
    case when priced.commitment_part in ('purchase', 'unused') then priced.named_commitment_id end as ResourceId,
    cast(null as string) as ResourceName,
    case
        when priced.commitment_part in ('purchase', 'unused') and priced.named_commitment_id is not null then 'Commitment'
    end as ResourceType,
    coalesce(categories.service_category, 'Other') as ServiceCategory,
    coalesce(nullif(services.service_name, ''), nullif(priced.service_code, ''), 'not named') as ServiceName,
    priced.provider_name as ServiceProviderName,
    coalesce(categories.service_subcategory, 'Other (Other)') as ServiceSubcategory,
    nullif(priced.sub_account_id, '') as SubAccountId,
    case when priced.sub_account_id <> '' then coalesce(accounts.account_name, priced.sub_account_id) end as SubAccountName,
    case
        when priced.sub_account_id <> '' then case priced.provider_name when 'AWS' then 'Account' else 'Project' end
    end as SubAccountType,
    case
        when priced.is_contracted_cost_known then 'contracted price'
        when priced.is_list_cost_known then 'list price'
        else 'billed cost'
    end as x_ContractedCostBasis,
    nullif(priced.cost_component, '') as x_CostComponent,
    case when priced.is_list_cost_known then 'list price' else 'billed cost' end as x_ListCostBasis,
    priced.reason as x_ResidualReason,
    {{ cell_id('priced') }} || '|' || priced.billing_currency || '|' || priced.cost_component || '|'
    || priced.commitment_id || '|' || priced.commitment_kind || '|' || priced.commitment_part || '|'
    || case when priced.is_recurring then '1' else '0' end || '|' || priced.part_id as x_RowId,
    nullif(priced.service_code, '') as x_ServiceCode,
    priced.source_name as x_SourceName
from priced
left join {{ ref('dim_training_runs') }} as runs using (training_run_id)
left join {{ ref('dim_accounts') }} as payers
    on priced.provider_name = payers.provider_name and priced.payer_account_id = payers.account_id
left join {{ ref('dim_accounts') }} as accounts
    on priced.provider_name = accounts.provider_name and priced.sub_account_id = accounts.account_id
left join {{ ref('dim_services') }} as services
    on priced.provider_name = services.provider_name and priced.service_code = services.service_code
left join {{ ref('dim_service_categories') }} as categories
    on
        priced.provider_name = categories.provider_name
        and case priced.provider_name when 'AWS' then priced.service_code else services.service_name end = categories.service
left join {{ ref('dim_regions') }} as regions
    on priced.provider_name = regions.provider_name and priced.region_id = regions.region_id
