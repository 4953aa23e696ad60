with run_keys as (
    {{ run_keys() }}
),

-- a record without an end proves a holding until it was written, or until the last sample of the run
records_seen as (
    select training_run_id, max({{ instant_us('published_at') }}) as seen_us
    from {{ ref('int_run_records') }}
    group by all
),

samples_seen as (
    select run_keys.training_run_id, max(samples.sample_to_us) as seen_us
    from {{ ref('int_telemetry_samples') }} as samples
    inner join run_keys using (run_key)
    group by all
),

month_holdings as (
    select
        holdings.*,
        {{ instant_us('holdings.held_from') }} as held_from_us,
        case
            when holdings.is_open
                then least({{ instant_us('holdings.held_to') }}, coalesce(
                    greatest(coalesce(records_seen.seen_us, samples_seen.seen_us), coalesce(samples_seen.seen_us, records_seen.seen_us)),
                    {{ instant_us('holdings.held_from') }}
                ))
            else {{ instant_us('holdings.held_to') }}
        end as held_to_us
    from {{ ref('int_month_holdings') }} as holdings
    left join records_seen using (training_run_id)
    left join samples_seen using (training_run_id)
    where holdings.resource_id is not null
),

slices as (
    {{ slices('month_holdings', 'usage_month, resource_id', 'held_from_us', 'held_to_us') }}
),

held_spans as (
    select
        usage_month,
        resource_id,
        slices.slice_from as span_from_us,
        slices.slice_to as span_to_us,
        month_holdings.training_run_id,
        bool_or(month_holdings.is_ambiguous) as is_ambiguous,
        -- chips of two types under one name have no common power
        case
            when min(month_holdings.accelerator_type) = max(month_holdings.accelerator_type)
                then min(month_holdings.accelerator_type)
        end as accelerator_type,
        max(month_holdings.machine_chips) as machine_chips,
        max(month_holdings.node_chips) as node_chips,
        -- half a number of chips is not a number of chips
        case when count(*) = count(month_holdings.held_chips) then cast(sum(month_holdings.held_chips) as bigint) end as run_chips
    from slices
    inner join month_holdings using (usage_month, resource_id)
    where month_holdings.held_from_us <= slices.slice_from and month_holdings.held_to_us >= slices.slice_to
    group by all
)

select
    *,
    cast(sum(coalesce(run_chips, node_chips)) over (partition by usage_month, resource_id, span_from_us) as bigint) as span_chips,
    cast(count(*) over (partition by usage_month, resource_id, span_from_us) as bigint) as holder_count
from held_spans
