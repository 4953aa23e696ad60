{{ config(materialized='by_month', meta={'empty_without': ['int_power_calibrations']}) }}
{%- set million = 'cast(1000000 as decimal(38, 0))' %}

with run_software as (
    {{ run_software() }}
),

calibrations as (
    select
        *,
        case when coverage_promised is null then 'assumed' else 'calibrated' end as power_confidence,
        cast(least(run_ppm, 1000000) as decimal(38, 0)) as max_below_ppm,
        cast(run_ppm as decimal(38, 0)) as max_above_ppm,
        cast(least(idle_ppm, 1000000) as decimal(38, 0)) as idle_below_ppm,
        cast(idle_ppm as decimal(38, 0)) as idle_above_ppm,
        {{ int_div('cast(mean_uw + 500 as decimal(38, 0))', 'cast(1000 as decimal(38, 0))') }} as mean_mw,
        {{ int_div('cast(busy_uw + 500 as decimal(38, 0))', 'cast(1000 as decimal(38, 0))') }} as max_mw,
        {{ int_div('cast(idle_uw + 500 as decimal(38, 0))', 'cast(1000 as decimal(38, 0))') }} as idle_mw
    from {{ ref('int_power_calibrations') }}
    where refused_reason is null
    -- two kinds of meters on one type: the one with enough workloads, that sees more of the chip, with more windows
    qualify row_number() over (
        partition by usage_month, accelerator_type, sdk_version
        order by case when coverage_promised is null then 1 else 0 end, unmetered_share, window_count desc, source_kind
    ) = 1
),

watts as (
    select
        usage_month,
        accelerator_type,
        sdk_version,
        source_kind,
        power_confidence,
        cast({{ from_units('mean_mw', 3) }} as decimal(18, 3)) as mean_w
        {%- for end in ['idle', 'max'] %}
        {%- set low = 'cast(' ~ end ~ '_mw * (1000000 - ' ~ end ~ '_below_ppm) as decimal(38, 0))' %}
        {%- set high = 'cast(' ~ end ~ '_mw * (1000000 + ' ~ end ~ '_above_ppm) as decimal(38, 0))' %},
        cast({{ from_units(int_div(low, million), 3) }} as decimal(18, 3)) as {{ end }}_w_low,
        cast({{ from_units(end ~ '_mw', 3) }} as decimal(18, 3)) as {{ end }}_w_mid,
        cast({{ from_units(cut_up(high, million), 3) }} as decimal(18, 3)) as {{ end }}_w_high
        {%- endfor %}
    from calibrations
),

-- a run whose software is not recorded, and a machine that runs none, take windows of software that is not known either
places as (
    select distinct
        time.usage_month, training_run_id, time.accelerator_type, coalesce(run_software.sdk_version, '') as sdk_version
    from {{ ref('int_run_chip_time') }} as time
    left join run_software using (training_run_id)
    where time.accelerator_type is not null

    union all

    select usage_month, '' as training_run_id, accelerator_type, sdk_version from watts
    where sdk_version = ''
)

select
    usage_month,
    places.training_run_id,
    accelerator_type,
    sdk_version,
    watts.source_kind,
    watts.power_confidence,
    watts.mean_w
    {%- for end in ['idle', 'max'] %}{% for level in ['low', 'mid', 'high'] %},
    watts.{{ end }}_w_{{ level }}
    {%- endfor %}{% endfor %}
from places
inner join watts using (usage_month, accelerator_type, sdk_version)
