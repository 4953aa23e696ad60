-- of several statements of one time the one published last counts
with ranked as (
    select
        *,
        {{ capacity_key('capacity_id') }} as capacity_key,
        row_number() over (
            partition by {{ capacity_key('capacity_id') }}, started_at, ended_at
            order by published_at desc, source_name desc, source_object desc, row_number desc
        ) as place,
        max(published_at) over (partition by {{ capacity_key('capacity_id') }}) as last_published_at
    from {{ ref('stg_user_inputs__capacities') }}
)

select
    capacity_key,
    max(case when published_at = last_published_at then instance_count end) as instance_count,
    min(started_at) as started_at,
    max(ended_at) as ended_at,
    -- a plan may be two blocks with a time between them
    cast(sum(instance_count * {{ microseconds('started_at', 'ended_at') }}) as decimal(38, 0)) as paid_us
from ranked
where place = 1
group by capacity_key
