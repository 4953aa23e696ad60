with spans as (
    select
        spans.*,
        spans.span_to_us - spans.span_from_us as span_us,
        coalesce(types.accelerator_family = 'tpu', false) as is_tpu
    from {{ ref('int_node_spans') }} as spans
    left join {{ ref('accelerator_types') }} as types on spans.accelerator_type = types.accelerator_type
    where not spans.is_ambiguous
),

-- whether a run's telemetry is its own is asked where it shares the node: samples of another time say nothing about now
keyed as (
    select distinct spans.usage_month, spans.training_run_id, spans.resource_id, spans.span_from_us
    from spans
    inner join {{ ref('int_run_samples') }} as samples
        on
            spans.usage_month = samples.usage_month
            and spans.training_run_id = samples.training_run_id
            and spans.resource_id = samples.resource_id
            and samples.sample_from_us < spans.span_to_us
            and samples.sample_to_us > spans.span_from_us
    where spans.holder_count > 1 and samples.is_keyed
),

shares as (
    select
        spans.*,
        -- several runs on a node whose samples nobody keyed, or more chips promised than the node has: everybody has his part of the whole node
        spans.span_chips > spans.node_chips or (spans.holder_count > 1 and keyed.span_from_us is null) as is_shared
    from spans
    left join keyed
        on
            spans.usage_month = keyed.usage_month
            and spans.training_run_id = keyed.training_run_id
            and spans.resource_id = keyed.resource_id
            and spans.span_from_us = keyed.span_from_us
)

select
    *,
    case when is_shared then node_chips else run_chips end as counted_chips,
    case when is_shared then run_chips else 1 end as share_numerator,
    case when is_shared then greatest(node_chips, span_chips) else 1 end as share_denominator
from shares
