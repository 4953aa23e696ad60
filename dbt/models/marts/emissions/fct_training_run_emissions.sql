with masses as (
    select
        training_run_id,
        usage_month,
        provider_name,
        min(provider_model_version) as provider_model_version,
        count(distinct provider_model_version) as version_count,
        max(case when service_code = 'Other' then 1 else 0 end) as is_other
        {%- for mass in mass_names() %},
        {{ whole_sum(mass, 'decimal(38, 9)') }} as {{ mass }}
        {%- endfor %}
    from {{ ref('fct_run_cell_emissions') }}
    group by training_run_id, usage_month, provider_name
),

idle_shares as (
    select
        training_run_id,
        usage_month,
        provider_name,
        {{ whole_sum('location_based_kgco2e', 'decimal(38, 9)') }} as location_based_kgco2e,
        {{ whole_sum('market_based_kgco2e', 'decimal(38, 9)') }} as market_based_kgco2e
    from {{ ref('int_idle_emission_shares') }}
    where is_elected
    group by training_run_id, usage_month, provider_name
),

run_month_masses as (
    select
        run_months.training_run_id,
        run_months.usage_month,
        run_months.provider_name,
        run_months.is_carbon_published,
        run_months.is_carbon_final,
        masses.training_run_id is not null as has_cell,
        -- two payers may have two versions: their masses never meet in one sum
        run_months.is_carbon_published and coalesce(masses.version_count, 0) = 1 as is_known,
        masses.is_other,
        masses.provider_model_version,
        idle_shares.training_run_id is not null as has_idle_share,
        idle_shares.location_based_kgco2e as idle_location_based_kgco2e,
        idle_shares.market_based_kgco2e as idle_market_based_kgco2e
        {%- for mass in mass_names() %},
        masses.{{ mass }}
        {%- endfor %}
    from {{ ref('int_run_months') }} as run_months
    left join masses using (training_run_id, usage_month, provider_name)
    left join idle_shares using (training_run_id, usage_month, provider_name)
)

select
    training_run_id,
    usage_month,
    provider_name,
    case when is_known then provider_model_version end as provider_model_version
    {%- for mass in mass_names() %},
    case when is_known then {{ mass }} end as {{ mass }}
    {%- endfor %},
    case
        when is_known and has_idle_share then idle_location_based_kgco2e
        when is_known and provider_total_location_based_kgco2e is not null then cast(0 as decimal(38, 9))
    end as idle_share_location_based_kgco2e,
    case
        when is_known and has_idle_share then idle_market_based_kgco2e
        when is_known and provider_total_market_based_kgco2e is not null then cast(0 as decimal(38, 9))
    end as idle_share_market_based_kgco2e,
    cast(3 as bigint) as reporter_scope,
    cast(1 as bigint) as reporter_scope_3_category,
    -- products inside Other are divided by a key AWS does not publish
    case when coalesce(is_other, 1) = 1 then 'low' else 'medium' end as allocation_confidence,
    case
        when not is_carbon_published then 'not_published'
        when not has_cell then 'no_cell'
        when is_carbon_final then 'final'
        else 'preliminary'
    end as status
from run_month_masses
