with parts as (
    select * from {{ ref('emission_parts') }}
),

complete as (
    select
        quarter,
        provider_name,
        bool_and(has_carbon) as has_carbon
    from {{ ref('payers_by_month') }}
    group by all
),

scopes as (
    {%- for scope, location, market in [
        ('Provider Scope 1', 'scope_1', 'scope_1'),
        ('Provider Scope 2', 'scope_2_location_based', 'scope_2_market_based'),
        ('Provider Scope 3', 'scope_3_location_based', 'scope_3_market_based'),
        ('Provider Scope 3, not split by method', 'scope_3_unsplit', 'scope_3_unsplit'),
        ('Provider total', 'total_location_based', 'total_market_based'),
    ] %}
    select
        quarter,
        {{ loop.index0 }} as position,
        '{{ scope }}' as scope,
        provider_name,
        is_run,
        provider_{{ location }}_kgco2e as location_based,
        provider_{{ market }}_kgco2e as market_based
    from parts
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)

select
    quarter,
    provider_name,
    scope,
    {{ by_method('location_based', 'market_based') }},
    scope = 'Provider total' as is_total,
    position
from scopes
inner join complete using (quarter, provider_name)
group by all
having scope not like 'Provider Scope 3%' or count(location_based) + count(market_based) > 0
