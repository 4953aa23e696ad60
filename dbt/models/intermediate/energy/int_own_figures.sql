{{ config(meta={'empty_without': ['stg_user_inputs__figures']}) }}

with run_keys as (
    {{ run_keys() }}
),

types as (
    select accelerator_type from {{ ref('accelerator_types') }}
),

figures as (
    select
        stated.kind,
        coalesce(run_keys.training_run_id, stated.run_key) as training_run_id,
        stated.region_id,
        stated.accelerator_type,
        stated.basis,
        stated.value,
        stated.unit,
        stated.valid_from,
        stated.valid_to,
        stated.source,
        stated.source_date,
        stated.stated_by,
        -- named by what it is of, so that it is the same in whatever order the rows of the file stand
        'user:' || stated.kind || ':' || stated.key
        || case when stated.kind = 'measured_energy' then '' else coalesce(':run=' || stated.run_key, '') end
        || case when stated.kind in ('pue', 'factor') then '' else coalesce(':region=' || stated.region_id, '') end
        || coalesce(':' || cast(stated.valid_from as string), '') as figure_id,
        stated.source_name,
        stated.source_object,
        stated.row_number
    from {{ ref('stg_user_inputs__figures') }} as stated
    left join run_keys using (run_key)
    -- what a port takes once and a year's inventory are no figures of a run, region or type: see dim_porting_costs and
    -- dim_own_inventory; prices are in int_own_prices
    where stated.kind not like 'porting%' and stated.kind not like 'own%' and stated.kind <> 'price'
    -- of two files that say the same thing the later one counts
    qualify row_number() over (
        partition by
            stated.kind, coalesce(run_keys.training_run_id, stated.run_key), stated.region_id, stated.accelerator_type,
            stated.valid_from
        order by stated.published_at desc, stated.source_name, stated.source_object, stated.row_number desc
    ) = 1
)

-- watts of a chip are judged as readings of one are; energy where the chip time is known (int_judged_energy)
select
    figures.*,
    bands.chip_least_uw as band_least_uw,
    bands.chip_most_uw as band_most_uw,
    coalesce(
        {{ to_units('figures.value', 6) }} < bands.chip_least_uw or {{ to_units('figures.value', 6) }} > bands.chip_most_uw, false
    ) as is_doubted
from figures
left join types on figures.accelerator_type = types.accelerator_type
left join {{ ref('int_power_bands') }} as bands
    on
        bands.band = case
            when figures.kind in ('idle_power', 'max_power')
                then coalesce(types.accelerator_type, {{ accelerator_family('figures.accelerator_type') }}, '')
        end
