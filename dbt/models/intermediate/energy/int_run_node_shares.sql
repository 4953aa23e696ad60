with spans as (
    select
        spans.*,
        spans.span_to_us - spans.span_from_us as span_us,
        coalesce(types.accelerator_family = 'tpu', false) as is_tpu
    from {{ ref('int_node_spans') }} as spans
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    where not spans.is_ambiguous
),

-- whether a run's telemetry is its own is asked where it shares the node: samples of another time are no evidence of this one
spans_with_keyed_samples as (
    select distinct spans.usage_month, spans.training_run_id, spans.resource_id, spans.span_from_us
    from spans
    inner join {{ ref('int_run_samples') }} as samples using (usage_month, training_run_id, resource_id)
    where
        spans.holder_count > 1
        and samples.is_keyed
        and samples.sample_from_us < spans.span_to_us
        and samples.sample_to_us > spans.span_from_us
),

spans_with_share as (
    select
        spans.*,
        -- several runs on a node whose samples nobody keyed, or more chips promised than the node has: each run has a part of the
        -- whole node
        spans.span_chips > spans.node_chips
        or (spans.holder_count > 1 and spans_with_keyed_samples.span_from_us is null) as is_shared
    from spans
    left join spans_with_keyed_samples using (usage_month, training_run_id, resource_id, span_from_us)
)

select
    *,
    case when is_shared then node_chips else run_chips end as counted_chips,
    case when is_shared then run_chips else 1 end as share_numerator,
    case when is_shared then greatest(node_chips, span_chips) else 1 end as share_denominator
from spans_with_share
