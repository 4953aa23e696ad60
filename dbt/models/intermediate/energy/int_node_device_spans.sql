{{ config(materialized='by_month', meta={'empty_without': ['int_node_samples'], 'by_day': 'usage_day'}) }}
{%- set device = 'usage_month, usage_day, resource_id, device_id' %}
{%- set piece = device ~ ', host_key, span_from_us, is_own_view' %}
{%- set slice_columns %}
        {{- piece }}, slice_from, slice_to,
        is_measured, is_filled, utilisation_ppm, used_ppm_us, owner_run_id,
        power_uw, power_low_uw, power_high_uw,
        driver_ppm, driver_low_ppm, driver_high_ppm
{%- endset %}
{#- several samples may be alike after they are cut -#}
{%- set in_order = 'piece_from_us, piece_to_us, sample_from_us, sample_to_us, keyed_run_id, is_filled' %}
{%- set greatest_use = 'case when slice_samples.utilisation_ppm = slice_samples.owner_use then slice_samples.owner_run_id end' %}

with samples_with_reach as (
    select
        *,
        -- a window of power alone hides no gap between samples of use, and reaches no further than itself
        max(case when not {{ is_power_alone() }} then sample_to_us end) over (
            partition by {{ device }} order by sample_from_us range between unbounded preceding and 1 preceding
        ) as reached_us
    from {{ ref('int_node_samples') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

gapless_samples as (
    select
        {{ device }},
        keyed_run_id,
        is_measured,
        is_filled,
        utilisation_ppm,
        used_ppm_us,
        power_uw, power_low_uw, power_high_uw,
        driver_ppm, driver_low_ppm, driver_high_ppm,
        case
            when
                sample_from_us > reached_us
                and sample_from_us - reached_us <= {{ telemetry_gap_us() }}
                and not {{ is_power_alone() }}
                then reached_us
            else sample_from_us
        end as sample_from_us,
        sample_to_us
    from samples_with_reach
),

-- where a run holds the node, samples that carry the key of a run that does not are of another time or machine
held_pieces as (
    select
        samples.*,
        times.span_from_us,
        greatest(samples.sample_from_us, times.span_from_us) as piece_from_us,
        least(samples.sample_to_us, times.span_to_us) as piece_to_us,
        -- alone on the node a run has what was measured there, whoever wrote it; of too few chips no run has some of its own
        case when times.holder_count > 1 and not times.is_oversubscribed then samples.keyed_run_id end as owner_run_id,
        coalesce(
            times.holder_count > 1 and not times.is_oversubscribed and views.chips <= holders.run_chips, false
        ) as is_own_view
    from gapless_samples as samples
    inner join {{ ref('int_node_times') }} as times using (usage_month, usage_day, resource_id)
    left join {{ ref('int_node_spans') }} as holders
        on
            samples.usage_month = holders.usage_month
            and samples.resource_id = holders.resource_id
            and times.span_from_us = holders.span_from_us
            and samples.keyed_run_id = holders.training_run_id
    -- how many chips a key's samples show
    left join {{ ref('int_key_chips') }} as views
        on
            samples.usage_month = views.usage_month
            and samples.usage_day = views.usage_day
            and samples.resource_id = views.resource_id
            and samples.keyed_run_id = views.keyed_run_id
    where
        samples.sample_from_us < times.span_to_us
        and samples.sample_to_us > times.span_from_us
        and (samples.keyed_run_id is null or holders.training_run_id is not null or times.holder_count = 0)
),

-- a key that shows no more chips than its run holds shows that run's chips, whatever numbers its container gives them;
-- one that shows more shows the node, and the same number is the same chip under every key
pieces as (
    select
        usage_month,
        usage_day,
        resource_id,
        case when is_own_view then device_id || '|' || owner_run_id else device_id end as device_id,
        {{ host_of_device() }} as host_key,
        span_from_us,
        is_own_view,
        piece_from_us,
        piece_to_us,
        sample_from_us,
        sample_to_us,
        keyed_run_id,
        owner_run_id,
        is_measured,
        is_filled,
        utilisation_ppm,
        used_ppm_us,
        power_uw, power_low_uw, power_high_uw,
        driver_ppm, driver_low_ppm, driver_high_ppm
    from held_pieces
),

pieces_with_reach as (
    select
        *,
        max(piece_to_us) over (
            partition by {{ piece }} order by {{ in_order }} rows between unbounded preceding and 1 preceding
        ) as reached_us
    from pieces
),

pieces_with_cluster as (
    select
        *,
        sum(case when reached_us is null or piece_from_us >= reached_us then 1 else 0 end) over (
            partition by {{ piece }} order by {{ in_order }} rows between unbounded preceding and current row
        ) as cluster
    from pieces_with_reach
),

cluster_pieces as (
    select
        *,
        count(*) over (partition by {{ piece }}, cluster) as piece_count,
        max(piece_to_us - piece_from_us) over (partition by {{ piece }}, cluster) as bucket_us,
        -- where two samples of one time may not be simply one
        bool_or(is_filled or owner_run_id is not null) over (partition by {{ piece }}, cluster) as is_judged
    from pieces_with_cluster
),

overlapping_pieces as (
    select * from cluster_pieces
    where piece_count > 1
),

bucketed_pieces as (
    {{ bucketed('overlapping_pieces', 'piece_from_us', 'piece_to_us') }}
),

slices as (
    {{ slices('overlapping_pieces', piece ~ ', cluster, bucket_us', 'piece_from_us', 'piece_to_us') }}
),

slice_pieces as (
    select
        slices.*,
        bucketed_pieces.is_measured,
        bucketed_pieces.is_filled,
        bucketed_pieces.utilisation_ppm,
        -- of a minute beside readings of power the sum is with its first slice
        case when bucketed_pieces.piece_from_us = slices.slice_from then 1 else 0 end * bucketed_pieces.used_ppm_us
            as used_ppm_us,
        bucketed_pieces.power_uw, bucketed_pieces.power_low_uw, bucketed_pieces.power_high_uw,
        bucketed_pieces.driver_ppm, bucketed_pieces.driver_low_ppm, bucketed_pieces.driver_high_ppm,
        bucketed_pieces.owner_run_id,
        bucketed_pieces.is_judged
    from slices
    inner join bucketed_pieces using ({{ piece }}, cluster, bucket_us)
    where
        {{ bucket_of('slices.slice_from') }} = bucketed_pieces.bucket
        and bucketed_pieces.piece_from_us <= slices.slice_from
        and bucketed_pieces.piece_to_us >= slices.slice_to
),

judged_pieces as (
    select *, bool_and(is_filled) over (partition by {{ piece }}, cluster, slice_from) as is_all_filled
    from slice_pieces
    where is_judged
),

-- what was seen comes before what is filled
slice_samples as (
    select
        {{ slice_columns }},
        max(case when owner_run_id is not null then utilisation_ppm end) over (
            partition by {{ piece }}, cluster, slice_from
        ) as owner_use
    from judged_pieces
    where is_filled = is_all_filled

    union all

    select
        {{ slice_columns }},
        cast(null as bigint) as owner_use
    from slice_pieces
    where not is_judged
)

select
    {{ piece }},
    piece_from_us as observed_from_us,
    piece_to_us as observed_to_us,
    is_measured,
    is_filled,
    utilisation_ppm,
    used_ppm_us,
    power_uw, power_low_uw, power_high_uw,
    driver_ppm, driver_low_ppm, driver_high_ppm,
    owner_run_id
from cluster_pieces
where piece_count = 1

union all

select
    {{ piece }},
    slice_from as observed_from_us,
    slice_to as observed_to_us,
    bool_or(is_measured) as is_measured,
    bool_and(is_filled) as is_filled,
    {{ use_together() }} as utilisation_ppm,
    max(used_ppm_us) as used_ppm_us,
    {{ greatest_readings() }},
    -- monitors of two runs list all chips of a machine: a chip is the run's under whose key it was used more
    case
        when min(owner_run_id) = max(owner_run_id) then min(owner_run_id)
        when min({{ greatest_use }}) = max({{ greatest_use }}) then min({{ greatest_use }})
    end as owner_run_id
from slice_samples
group by {{ piece }}, slice_from, slice_to
