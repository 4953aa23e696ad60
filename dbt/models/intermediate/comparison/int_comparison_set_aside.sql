{%- set row = 'quarter_end, workload_key, kpi, factor_view' %}

with ends as (
    select distinct window_end as quarter_end from {{ ref('int_report_windows') }}
),

-- pairs that were settled by then, and why they do not decide
settled as (
    select
        ends.quarter_end,
        pairs.workload_key,
        pairs.kpi,
        pairs.factor_view,
        pairs.use = 'decides' as is_deciding,
        case
            when pairs.use <> 'decides' then pairs.use_reason
            when coalesce(pairs.basis_class, '') <> decisions.basis_class then 'other_basis_class'
        end as use_reason,
        pairs.log_ratio is not null or pairs.use_reason = 'promise_broken' as is_shown
    from ends
    inner join {{ ref('int_comparison_pairs') }} as pairs on cast(ends.quarter_end as timestamp) > pairs.settled_at
    left join {{ ref('int_comparison_decisions') }} as decisions
        on
            ends.quarter_end = decisions.quarter_end and pairs.workload_key = decisions.workload_key
            and pairs.kpi = decisions.kpi and pairs.factor_view = decisions.factor_view
    where pairs.setting = '' and pairs.factor_view = 'chip'
),

reasons as (
    select
        {{ row }},
        use_reason,
        count(*) as pair_count,
        count(case when is_deciding then 1 end) as deciding_count,
        case
            when use_reason in ('labelled_later', 'promise_unknown', 'assumed_power', 'mixed_basis', 'promise_broken')
                then count(case when is_shown then 1 end)
            else 0
        end as shown_count
    from settled
    group by {{ row }}, use_reason
),

ranked as (
    select
        *,
        row_number() over (
            partition by {{ row }}
            order by shown_count desc, case use_reason
                when 'labelled_later' then 1 when 'promise_unknown' then 2 when 'assumed_power' then 3
                when 'mixed_basis' then 4 when 'promise_broken' then 5
            end, use_reason
        ) as place
    from reasons
)

select
    {{ row }},
    cast(sum(deciding_count) as bigint) as deciding_count,
    cast(sum(case when use_reason is not null then pair_count else 0 end) as bigint) as set_aside_count,
    {{ in_one_text("case when use_reason is not null then use_reason || ' ' || cast(pair_count as string) end") }}
        as set_aside_because,
    max(case when place = 1 and shown_count > 0 then use_reason end) as main_reason,
    bool_or(coalesce(use_reason = 'currency', false)) as is_in_two_currencies
from ranked
group by {{ row }}
