{{ config(materialized='by_month', meta={'empty_without': ['int_own_figures']}) }}

with figures as (
    select
        valid_from as usage_month,
        training_run_id,
        region_id,
        basis,
        value,
        unit,
        stated_by,
        figure_id,
        source_name,
        source_object,
        row_number,
        -- 1e-9 kWh are 3.6e9 x 1e-12 J
        cast({{ to_units('value', 9) }} * 3600000000 as decimal(38, 0)) as value_uw_us
    from {{ ref('int_own_figures') }}
    where kind = 'measured_energy' and {{ in_build_months('valid_from') }}
),

types as (
    select accelerator_type from {{ ref('accelerator_types') }}
),

beyond_nodes as (
    select {{ to_units('value', 6) }} as most_ppm
    from {{ ref('power_doubts') }}
    where doubt = 'beyond_node_most_share'
),

chip_time as (
    select
        time.usage_month,
        time.training_run_id,
        regions.region_id,
        time.accelerator_type,
        bool_and(time.is_chips_known) as is_chips_known,
        cast(sum({{ int_div(
            'cast(time.reserved_us * time.share_numerator as decimal(38, 0))', 'cast(time.share_denominator as decimal(38, 0))'
        ) }}) as decimal(38, 0)) as chip_us
    from {{ ref('int_run_chip_time') }} as time
    inner join {{ ref('int_resource_regions') }} as regions using (usage_month, resource_id, training_run_id)
    where {{ in_build_months('time.usage_month') }}
    group by all
),

-- what its chips can draw in the time for which the run holds them, inside the meter
drawable as (
    select
        figures.figure_id,
        bool_and(chip_time.is_chips_known) as is_chips_known,
        cast(sum(chip_time.chip_us) as decimal(38, 0)) as chip_us,
        cast(sum(
            case figures.basis when 'chip' then bands.chip_least_uw else bands.node_least_uw end * chip_time.chip_us
        ) as decimal(38, 0)) as least_uw_us,
        cast(sum({{ int_div(
            "cast(case figures.basis when 'chip' then bands.chip_most_uw else bands.node_most_uw end"
            ~ " * case when figures.basis in ('it', 'facility') then beyond_nodes.most_ppm else 1000000 end"
            ~ " as decimal(38, 0))", '1000000'
        ) }} * chip_time.chip_us) as decimal(38, 0)) as most_uw_us
    from figures
    inner join chip_time
        on
            figures.usage_month = chip_time.usage_month
            and figures.training_run_id = chip_time.training_run_id
            and chip_time.region_id = coalesce(figures.region_id, chip_time.region_id)
    left join types on chip_time.accelerator_type = types.accelerator_type
    inner join {{ ref('int_power_bands') }} as bands
        on bands.band = coalesce(types.accelerator_type, {{ accelerator_family('chip_time.accelerator_type') }}, '')
    cross join beyond_nodes
    group by figures.figure_id
),

known as (
    select * from drawable
    where is_chips_known and chip_us > 0
)

select
    figures.usage_month,
    figures.training_run_id,
    figures.region_id,
    figures.basis,
    figures.value,
    figures.unit,
    figures.stated_by,
    figure_id,
    figures.source_name,
    figures.source_object,
    figures.row_number,
    -- as a mean of each chip, its part of the machine included where that is inside the meter
    cast({{ int_div('figures.value_uw_us', 'known.chip_us') }} as bigint) as mean_uw,
    cast({{ int_div('known.least_uw_us', 'known.chip_us') }} as bigint) as band_least_uw,
    cast({{ int_div('known.most_uw_us', 'known.chip_us') }} as bigint) as band_most_uw,
    -- energy of chips whose time or number is not known cannot be judged
    coalesce(figures.value_uw_us < known.least_uw_us or figures.value_uw_us > known.most_uw_us, false) as is_doubted
from figures
left join known using (figure_id)
