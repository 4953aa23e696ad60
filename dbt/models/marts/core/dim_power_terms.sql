-- factors by accelerator type, as logarithms: of the terms that have none for all types, from the tables of power
with types as (
    select
        power.accelerator_type,
        types.accelerator_family,
        cast(hosts.chips_per_node as double) * cast(power.chip_power_mean_w as double) as chips_w,
        cast(hosts.host_power_w_low as double) as host_low_w,
        cast(hosts.host_power_w_mid as double) as host_mid_w,
        cast(hosts.host_power_w_high as double) as host_high_w,
        overhead.network_storage_share_low as share_low,
        overhead.network_storage_share_mid as share_mid,
        overhead.network_storage_share_high as share_high
    from {{ ref('accelerator_power') }} as power
    inner join {{ ref('dim_accelerators') }} as types on power.accelerator_type = types.accelerator_type
    left join {{ ref('host_power') }} as hosts on power.accelerator_type = hosts.accelerator_type
    left join {{ ref('it_overhead') }} as overhead
        on overhead.provider_name = case types.accelerator_family when 'trainium' then 'AWS' when 'tpu' then 'Google Cloud' end
    where types.accelerator_family in ('trainium', 'tpu')
),

rails as (
    select distinct accelerator_type from {{ ref('power_rails') }}
),

factors as (
    select
        types.accelerator_type,
        terms.term,
        coalesce(terms.basis_class, '') as basis_class,
        terms.place,
        case terms.term
            when 'overhead' then (1e0 + cast(types.share_low as double)) / (1e0 + cast(types.share_mid as double))
            when 'host_share' then (types.chips_w + types.host_low_w) / (types.chips_w + types.host_mid_w)
            when 'rails' then case when rails.accelerator_type is not null then terms.low_factor end
            else terms.low_factor
        end as low_factor,
        case terms.term
            when 'overhead' then (1e0 + cast(types.share_high as double)) / (1e0 + cast(types.share_mid as double))
            when 'host_share' then (types.chips_w + types.host_high_w) / (types.chips_w + types.host_mid_w)
            when 'rails' then case when rails.accelerator_type is not null then terms.high_factor end
            else terms.high_factor
        end as high_factor
    from types
    cross join {{ ref('power_terms') }} as terms
    left join rails on types.accelerator_type = rails.accelerator_type
)

select
    factors.accelerator_type,
    factors.term,
    factors.basis_class,
    factors.place,
    terms.is_shared,
    -- what is not known of a type is its own
    {{ significant('coalesce(factors.low_factor, 1e0)') }} as low_factor,
    {{ significant('coalesce(factors.high_factor, 1e0)') }} as high_factor,
    terms.source,
    terms.confidence
from factors
inner join {{ ref('power_terms') }} as terms on factors.term = terms.term
where factors.term <> 'own'
