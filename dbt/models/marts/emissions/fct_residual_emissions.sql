with spreads as (
    select
        {{ cell() }}, provider_model_version, reason,
        {{ whole_sum('location_based_kgco2e', 'decimal(38, 9)') }} as location_based_kgco2e,
        {{ whole_sum('market_based_kgco2e', 'decimal(38, 9)') }} as market_based_kgco2e
    from {{ ref('int_idle_emission_shares') }}
    group by {{ cell() }}, provider_model_version, reason
)

select
    {{ cell_of('residuals') }},
    residuals.provider_model_version,
    residuals.reason
    {%- for mass in mass_names() %},
    residuals.{{ mass }}
    {%- endfor %},
    case
        when spreads.reason is not null then spreads.location_based_kgco2e
        when residuals.provider_total_location_based_kgco2e is not null then cast(0 as decimal(38, 9))
    end as spread_location_based_kgco2e,
    case
        when spreads.reason is not null then spreads.market_based_kgco2e
        when residuals.provider_total_market_based_kgco2e is not null then cast(0 as decimal(38, 9))
    end as spread_market_based_kgco2e
from {{ ref('int_residual_emissions') }} as residuals
left join spreads using ({{ cell() }}, provider_model_version, reason)
where residuals.is_elected
