with holdings as (
    select
        *,
        chips_per_node * node_count as node_chips,
        -- a managed job's machines of several kinds share its one name, so their chips add up
        case
            when is_managed_job then sum(held_chips) over (partition by training_run_id, resource_id, started_at, ended_at)
            else held_chips
        end as record_chips,
        {{ instant_us('started_at') }} as held_from_us,
        case when ended_at < timestamp '9999-01-01 00:00:00' then {{ instant_us('ended_at') }} end as end_us
    from {{ ref('int_run_holdings') }}
    where resource_id is not null
),

run_keys as (
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

holdings_with_end as (
    select
        holdings.*,
        coalesce(
            holdings.end_us,
            greatest(coalesce(records_seen.seen_us, samples_seen.seen_us), coalesce(samples_seen.seen_us, records_seen.seen_us))
        ) as held_to_us
    from holdings
    left join records_seen using (training_run_id)
    left join samples_seen using (training_run_id)
),

-- a node has the chips of its type, or the most that one record held there
nodes as (
    select
        resource_id,
        cast(greatest(max(coalesce(node_chips, record_chips)), max(coalesce(record_chips, node_chips))) as bigint) as node_chips
    from holdings_with_end
    group by all
),

months as (
    {{ month_bounds() }}
    from (select distinct usage_month from {{ source('raw', 'months') }}) as known_months
),

month_holdings as (
    select
        months.usage_month,
        holdings.training_run_id,
        holdings.is_ambiguous,
        holdings.resource_id,
        holdings.accelerator_type,
        holdings.held_chips,
        holdings.chips_per_node as machine_chips,
        greatest(holdings.held_from_us, months.month_from_us) as held_from_us,
        least(holdings.held_to_us, months.month_to_us) as held_to_us
    from holdings_with_end as holdings
    inner join months on holdings.held_from_us < months.month_to_us and holdings.held_to_us > months.month_from_us
    where holdings.held_to_us > holdings.held_from_us
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
        -- half a number of chips is not a number of chips
        case when count(*) = count(month_holdings.held_chips) then cast(sum(month_holdings.held_chips) as bigint) end as run_chips
    from slices
    inner join month_holdings using (usage_month, resource_id)
    where month_holdings.held_from_us <= slices.slice_from and month_holdings.held_to_us >= slices.slice_to
    group by all
)

select
    held_spans.*,
    nodes.node_chips,
    cast(
        sum(coalesce(held_spans.run_chips, nodes.node_chips))
            over (partition by held_spans.usage_month, held_spans.resource_id, held_spans.span_from_us)
        as bigint
    ) as span_chips,
    cast(count(*) over (partition by held_spans.usage_month, held_spans.resource_id, held_spans.span_from_us) as bigint)
        as holder_count
from held_spans
inner join nodes using (resource_id)
