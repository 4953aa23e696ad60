with booked as (
    {%- for book, keys in [
        ('costs', 'training_run_id, usage_month, billing_currency, cost_component, attribution_rule'),
        ('emissions', 'training_run_id, usage_month'),
    ] %}
    select
        cells.source_name,
        usage_month,
        case when bool_or(months.status <> 'final') then 'preliminary' else 'final' end as state
    from {{ ref('fct_run_cell_' ~ book) }} as cells
    inner join {{ ref('fct_training_run_' ~ book) }} as months using ({{ keys }})
    {{ of_quarters() }}
    group by all
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

states as (
    select distinct
        source_name,
        usage_month,
        coalesce(booked.state, 'landed') as state
    from {{ ref('delivered_partitions') }}
    left join booked using (source_name, usage_month)
    where usage_month is not null
),

quarantined as (
    select
        source_name,
        try_cast(nullif(regexp_extract(source_object, '(20[0-9]{2}-[0-9]{2})', 1), '') || '-01' as date) as usage_month,
        sum(count(*)) over (partition by source_name) as row_count
    from {{ ref('fct_quarantine') }}
    group by source_name, usage_month
),

sources as (
    select
        source_name,
        kind
    from {{ source('ops', 'listed_objects') }}

    union

    select
        source_name,
        kind
    from {{ source('ops', 'dim_deliveries') }}
    where is_elected
)

select
    quarters.quarter,
    source_name,
    kind,
    {%- for month in ['month_1', 'month_2', 'month_3'] %}
    coalesce(
        max(states.state) filter (where states.usage_month = quarters.{{ month }}),
        case when bool_or(quarantined.usage_month = quarters.{{ month }}) then 'quarantined' end,
        {{ nothing_delivered() }}
    ) as {{ month }},
    {%- endfor %}
    coalesce(max(quarantined.row_count), 0) as quarantined_rows
from sources
cross join {{ ref('report_quarters') }} as quarters
left join states using (source_name)
left join quarantined using (source_name)
group by all
