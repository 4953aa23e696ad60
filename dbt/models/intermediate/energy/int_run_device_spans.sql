{{ config(materialized='by_month') }}
{%- set device = 'usage_month, training_run_id, resource_id, device_id' %}

with samples_with_reach as (
    select
        *,
        max(sample_to_us) over (
            partition by {{ device }} order by sample_from_us, sample_to_us rows between unbounded preceding and 1 preceding
        ) as reached_us
    from {{ ref('int_run_samples') }}
    where {{ in_build_months() }}
),

samples_with_cluster as (
    select
        *,
        sum(case when reached_us is null or sample_from_us >= reached_us then 1 else 0 end) over (
            partition by {{ device }} order by sample_from_us, sample_to_us rows between unbounded preceding and current row
        ) as cluster
    from samples_with_reach
),

cluster_samples as (
    select
        *,
        count(*) over (partition by {{ device }}, cluster) as sample_count,
        min(sample_from_us) over (partition by {{ device }}, cluster) as cluster_from_us,
        min(case when sample_from_us >= reached_us then reached_us end) over (partition by {{ device }}, cluster) as before_us
    from samples_with_cluster
),

gapless_samples as (
    select
        {{ device }},
        cluster,
        sample_count,
        case
            when sample_from_us = cluster_from_us and cluster_from_us - before_us <= {{ telemetry_gap_us() }} then before_us
            else sample_from_us
        end as sample_from_us,
        sample_to_us,
        is_measured,
        utilisation_ppm
    from cluster_samples
),

overlapping_samples as (
    select
        *,
        max(sample_to_us - sample_from_us) over (partition by {{ device }}, cluster) as bucket_us
    from gapless_samples
    where sample_count > 1
),

bucketed_samples as (
    {{ bucketed('overlapping_samples', 'sample_from_us', 'sample_to_us') }}
),

slices as (
    {{ slices('overlapping_samples', device ~ ', cluster, bucket_us', 'sample_from_us', 'sample_to_us') }}
)

select {{ device }}, sample_from_us as observed_from_us, sample_to_us as observed_to_us, is_measured, utilisation_ppm
from gapless_samples
where sample_count = 1

union all

select
    {{ device }},
    slices.slice_from as observed_from_us,
    slices.slice_to as observed_to_us,
    bool_or(bucketed_samples.is_measured) as is_measured,
    {{ use_together() }} as utilisation_ppm
from slices
inner join bucketed_samples using ({{ device }}, cluster, bucket_us)
where
    {{ bucket_of('slices.slice_from') }} = bucketed_samples.bucket
    and bucketed_samples.sample_from_us <= slices.slice_from
    and bucketed_samples.sample_to_us >= slices.slice_to
group by all
