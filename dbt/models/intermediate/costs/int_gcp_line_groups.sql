{{ config(materialized='by_month') }}
{#- every name of a line under which a record may hold its machine -#}
{%- set names = {
    'resource_name': machine_name('lines.resource_name'),
    'resource_path_end': 'lines.resource_path_end',
    'job_id': 'lines.job_id',
    'node_pool_name': 'lines.node_pool_name',
    'reservation_name': 'lines.reservation_name',
    'cluster_name': 'lines.cluster_name',
} %}

with months as (
    select
        usage_month, cast(usage_month as timestamp) as month_from, cast(usage_month as timestamp) + interval 1 month as month_to
    from ({{ months_to_build() }}) as months_to_build
),

held_names as (
    select distinct
        months.usage_month,
        coalesce(nullif({{ place_name('holdings.resource_id') }}, ''), {{ machine_name('holdings.resource_id') }}) as name
    from {{ ref('int_run_holdings') }} as holdings
    inner join months on holdings.started_at < months.month_to and holdings.ended_at > months.month_from
    where holdings.resource_id is not null
),

-- which hours a commitment covers matters only where hours are committed to, and not money alone
hours_sold as (
    select distinct usage_month, source_name, payer_account_id
    from {{ ref('stg_gcp_billing__lines') }}
    where lower(sku_description) like 'commitment%' and lower(sku_description) not like 'commitment - dollar%'
),

-- files are numbered by kind of source: two exports of one bill have the same numbers
credits as (
    select
        source_name,
        position,
        sum(case when is_price then credit_amount else 0 end) as price_credit,
        sum(case when is_price then 0 else credit_amount end) as promotion_credit,
        bool_or(not is_price) as has_promotion,
        bool_or(credit_type in ('COMMITTED_USAGE_DISCOUNT', 'COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE')) as has_commitment_credit,
        bool_or(credit_type = 'COMMITTED_USAGE_DISCOUNT') as has_resource_credit,
        sum(case when credit_type = 'COMMITTED_USAGE_DISCOUNT' then credit_amount else 0 end) as resource_credit,
        sum(case when credit_type = 'COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE' then credit_amount else 0 end) as spend_credit,
        bool_or(credit_type = 'FEE_UTILIZATION_OFFSET') as has_fee_offset
    from {{ ref('stg_gcp_billing__credits') }}
    group by source_name, position
),

-- a row of its own: what time or the machine decides about (what records hold, the tagged use of accelerators), and what is
-- rounded line by line: shares of commitments, and accelerators that are priced by the hour
lines as (
    select
        lines.*,
        lines.is_book and (
            {%- for name in names %}
            held_{{ name }}.name is not null or
            {%- endfor %}
            coalesce(credits.spend_credit < 0, false)
            or (
                hours_sold.usage_month is not null
                and {{ as_double('lines.priced_usage') }} > 0
                and (coalesce(credits.has_commitment_credit, false) or lines.subscription_id is not null)
            )
            or (
                skus.is_accelerator_type
                and (
                    lines.run_tag is not null
                    or skus.purchase_mode <> 'on_demand'
                    or {{ as_double('lines.cost_at_list') }} is null
                )
            )
        ) as is_single,
        -- hours of accelerators that cost nothing are counted, and are in no sum with paid ones
        skus.is_accelerator_type
        and coalesce({{ as_double('lines.cost') }} = 0, false)
        and coalesce(credits.price_credit, 0) = 0 as is_free,
        -- of what a run may carry, and of what nobody asked for, the hour is read
        lines.is_book and (
            lines.run_tag is not null
            or lines.job_id is not null
            or lines.pipeline_id is not null
            or lines.pod_allocation in ('pod', 'unallocated')
        ) as is_of_an_hour,
        credits.price_credit,
        credits.promotion_credit,
        coalesce(credits.has_promotion, false) as has_promotion,
        coalesce(credits.has_commitment_credit, false) as has_commitment_credit,
        coalesce(credits.has_resource_credit, false) as has_resource_credit,
        credits.resource_credit,
        credits.spend_credit,
        coalesce(credits.has_fee_offset, false) as has_fee_offset,
        coalesce({{ as_double('lines.cost') }}, 0) + coalesce(
            cast(case when lines.is_net_of_credits then -credits.promotion_credit else credits.price_credit end as double), 0
        ) < 0 as is_negative
    from {{ ref('stg_gcp_billing__lines') }} as lines
    inner join {{ ref('int_gcp_skus') }} as skus using (service_code, service_description, sku_description)
    left join hours_sold
        on
            lines.usage_month = hours_sold.usage_month
            and lines.source_name = hours_sold.source_name
            and lines.payer_account_id = hours_sold.payer_account_id
    left join credits on lines.source_name = credits.source_name and lines.position = credits.position
    {%- for name, value in names.items() %}
    left join held_names as held_{{ name }}
        on lines.usage_month = held_{{ name }}.usage_month and {{ value }} = held_{{ name }}.name
    {%- endfor %}
),

line_groups as (
    select
        source_name, provider_name, delivery_content_hash, source_object, is_book, is_net_of_credits, payer_account_id,
        project_number, project_id, account_name,
        service_code, service_description, sku_id, sku_description,
        region_id,
        usage_month,
        billing_currency,
        cost_type,
        adjustment_type,
        invoice_month,
        pod_allocation,
        run_tag, job_id, pipeline_id, workload_path, jobset_path,
        subscription_id,
        has_usage_amount,
        pricing_unit,
        originating_sku_id,
        is_unused_reservation,
        has_promotion, has_commitment_credit, has_resource_credit, has_fee_offset,
        is_negative,
        is_free,
        {{ as_double('cost_at_list') }} is not null as is_list_cost_stated,
        {{ as_double('cost_at_contract') }} is not null as is_contracted_cost_stated,
        is_single,
        {%- for x in ['charge_period_start', 'charge_period_end'] %}
        case when is_single or is_of_an_hour then {{ x }} end as {{ x }},
        {%- endfor %}
        {%- for x in [
            'resource_name', 'resource_path_end', 'zone', 'cluster_name', 'cluster_location', 'node_pool_name', 'reservation_name',
            'reservation_project_id',
        ] %}
        case when is_single then {{ x }} end as {{ x }},
        {%- endfor %}
        case when is_single then row_number end as own_row_number,
        -- the first row of a group gives it its name
        min(row_number) as row_number,
        cast(sum(coalesce(line_count, 1)) as bigint) as line_count,
        {{ exact_total('cost', 'cost__text', 12) }} as stated_cost,
        {{ exact_total('cost_at_list', 'cost_at_list__text', 12) }} as cost_at_list,
        {{ exact_total('cost_at_contract', 'cost_at_contract__text', 12) }} as cost_at_contract,
        {{ exact_total('priced_usage', 'priced_usage__text', 9) }} as priced_usage
        {%- for credit in ['price_credit', 'promotion_credit', 'resource_credit', 'spend_credit'] %},
        cast(coalesce(sum({{ credit }}), 0) as decimal(38, 12)) as {{ credit }}
        {%- endfor %}
    from lines
    group by all
)

select
    *,
    {{ exact_sum(['stated_cost'] + [
        'case when is_net_of_credits then -price_credit else 0 end',
        'case when is_net_of_credits then -promotion_credit else 0 end',
    ], 12) }} as cost
from line_groups
