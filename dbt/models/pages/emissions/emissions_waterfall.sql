{%- set location, market = 'provider_total_location_based_kgco2e', 'provider_total_market_based_kgco2e' %}
{%- set book = 'source_name, provider_name, payer_account_id, usage_month, provider_model_version' %}
with parts as (
    select * from {{ ref('emission_parts') }}
),

steps as (
    select
        quarter,
        usage_month,
        case when is_run then 'Runs on ' || accelerator_family else {{ residual_step() }} end as part,
        {{ location }},
        {{ market }}
    from parts
    left join {{ ref('dim_training_runs') }} using (training_run_id)
    {%- for part, total, rows in [
        ('Quarantined', 'quarantined_total', 'quarantined_total <> 0'), ('Provider total', 'provider_total', 'true')
    ] %}

    union all

    select
        quarter,
        usage_month,
        '{{ part }}' as part,
        case when measure = '{{ location }}' then {{ total }} else 0 end as {{ location }},
        case when measure = '{{ market }}' then {{ total }} else 0 end as {{ market }}
    from {{ ref('fct_reconciliation') }}
    {{ of_quarters() }}
    where
        method = 'conservation'
        and measure in ('{{ location }}', '{{ market }}')
        and {{ rows }}
        and ({{ book }}) in (select ({{ book }}) from parts)
    {%- endfor %}
),

months_with_carbon as (
    select
        quarter,
        month_1,
        month_2,
        month_3,
        {%- for month in ['month_1', 'month_2', 'month_3'] %}
        coalesce(bool_and(has_carbon) filter (where usage_month = {{ month }}), true) as has_carbon_{{ month }},
        {%- endfor %}
        coalesce(bool_and(has_carbon), true) as has_carbon_quarter
    from {{ ref('report_quarters') }}
    left join {{ ref('payers_by_month') }} using (quarter)
    group by all
)

select
    quarter,
    part,
    {{ by_period(location, 'location_based_kgco2e', 'has_carbon') }},
    {{ by_period(market, 'market_based_kgco2e', 'has_carbon') }},
    part = 'Provider total' as is_total,
    {{ step_position() }} as position
from steps
inner join months_with_carbon using (quarter)
group by all
