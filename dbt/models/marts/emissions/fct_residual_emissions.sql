{{ config(materialized='by_month') }}

with spreads as (
    select
        {{ cell() }}, provider_model_version, reason,
        {{ whole_sums(['location_based_kgco2e', 'market_based_kgco2e'], 9) }}
    from {{ ref('int_idle_emission_shares') }}
    group by all
)

select
    {{ cell_of('residuals') }},
    residuals.provider_model_version,
    residuals.reason,
    {{ masses('residuals') }}
    {%- for method in ['location', 'market'] %},
    case
        when spreads.reason is not null then spreads.{{ method }}_based_kgco2e
        when residuals.provider_total_{{ method }}_based_kgco2e is not null then cast(0 as decimal(38, 9))
    end as spread_{{ method }}_based_kgco2e
    {%- endfor %}
from {{ ref('int_residual_emissions') }} as residuals
left join spreads using ({{ cell() }}, provider_model_version, reason)
where residuals.is_elected
