{%- set never = "timestamp '9999-01-01 00:00:00'" %}
{{ config(materialized='by_month', meta={'empty_without': ['int_run_holdings where ended_at = ' ~ never]}) }}
{%- set holding = 'usage_month, training_run_id, resource_id, started_at' %}

with run_keys as (
    {{ run_keys() }}
),

months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

open_holdings as (
    select distinct
        months.usage_month,
        holdings.training_run_id,
        coalesce(holdings.resource_id, '') as resource_id,
        holdings.started_at,
        {{ instant_us('holdings.started_at') }} as started_us,
        {{ instant_us('holdings.started_at') }} >= months.month_from_us as is_first_month,
        months.month_from_us,
        months.month_to_us
    from {{ ref('int_run_holdings') }} as holdings
    inner join months on {{ instant_us('holdings.started_at') }} < months.month_to_us
    where holdings.ended_at = {{ never }}
),

samples as (
    select samples.*, run_keys.training_run_id as keyed_run_id
    from {{ ref('int_telemetry_samples') }} as samples
    left join run_keys using (run_key)
    where {{ in_build_months('samples.usage_month') }} and not samples.is_filled
),

own_samples as (
    select
        usage_month,
        open_holdings.training_run_id,
        open_holdings.resource_id,
        open_holdings.started_at,
        min(samples.sample_from_us) as first_us,
        max(samples.sample_to_us) as last_us
    from open_holdings
    inner join samples using (usage_month)
    where
        samples.keyed_run_id = open_holdings.training_run_id
        and samples.sample_to_us > greatest(open_holdings.started_us, open_holdings.month_from_us)
        and samples.sample_from_us < open_holdings.month_to_us
    group by all
),

-- a later month holds what samples with the run's key show of it, and nothing else
begun as (
    select
        open_holdings.*,
        case
            when open_holdings.is_first_month then open_holdings.started_us
            else greatest(own_samples.first_us, open_holdings.month_from_us)
        end as from_us,
        own_samples.last_us
    from open_holdings
    left join own_samples using ({{ holding }})
    where open_holdings.is_first_month or own_samples.last_us is not null
),

unkeyed_samples as (
    select
        usage_month, begun.training_run_id, begun.resource_id, begun.started_at, begun.from_us, samples.sample_from_us,
        samples.sample_to_us, samples.minute_samples
    from begun
    inner join samples using (usage_month)
    where
        begun.is_first_month
        and {{ machine_name('begun.resource_id') }} = {{ machine_name('samples.host_id') }}
        and samples.run_key is null
        and samples.sample_to_us > begun.from_us
        and samples.sample_from_us < begun.month_to_us
),

minutes_opened as (
    select {{ holding }}, from_us, {{ each_of('minute_samples') }} as one_sample
    from unkeyed_samples
    where minute_samples is not null
),

single_samples as (
    select {{ holding }}, sample_from_us, sample_to_us from unkeyed_samples
    where minute_samples is null

    union all

    select {{ holding }}, one_sample.sample_from_us, one_sample.sample_to_us
    from minutes_opened
    where one_sample.sample_to_us > from_us
),

-- a sample of the node that carries no run's key, at a time when no other run held the node
node_samples as (
    select
        samples.usage_month,
        samples.training_run_id,
        samples.resource_id,
        samples.started_at,
        max(samples.sample_to_us) as last_us
    from single_samples as samples
    left join {{ ref('int_run_holdings') }} as others
        on
            samples.resource_id = others.resource_id
            and samples.training_run_id <> others.training_run_id
            and others.ended_at < {{ never }}
            and {{ instant_us('others.started_at') }} < samples.sample_to_us
            and {{ instant_us('others.ended_at') }} > samples.sample_from_us
    where others.training_run_id is null
    group by all
),

next_holdings as (
    select
        begun.usage_month,
        begun.training_run_id,
        resource_id,
        begun.started_at,
        min({{ instant_us('others.started_at') }}) as next_us
    from begun
    inner join {{ ref('int_run_holdings') }} as others using (resource_id)
    where
        {{ instant_us('others.started_at') }} > begun.from_us and {{ instant_us('others.started_at') }} < begun.month_to_us
    group by all
),

-- the first stretch of hours billed from about then on; one that lasts to the month's end states nothing
billed_ends as (
    select
        usage_month,
        begun.training_run_id,
        resource_id,
        begun.started_at,
        min({{ instant_us('billed.billed_to') }}) as billed_us
    from begun
    inner join {{ ref('int_billed_times') }} as billed using (usage_month, resource_id)
    where
        {{ instant_us('billed.billed_to') }} > begun.from_us
        and {{ instant_us('billed.billed_from') }} <= begun.from_us + 3600000000
        and {{ instant_us('billed.billed_to') }} < begun.month_to_us
    group by all
),

decided as (
    select
        begun.*,
        least(
            coalesce(next_holdings.next_us, begun.month_to_us + 1),
            case
                when begun.last_us is null and node_samples.last_us is null then begun.month_to_us + 1
                else least(greatest(coalesce(begun.last_us, 0), coalesce(node_samples.last_us, 0)), begun.month_to_us)
            end,
            coalesce(billed_ends.billed_us, begun.month_to_us + 1)
        ) as to_us
    from begun
    left join node_samples using ({{ holding }})
    left join next_holdings using ({{ holding }})
    left join billed_ends using ({{ holding }})
)

select
    usage_month,
    training_run_id,
    resource_id,
    started_at,
    {{ timestamp_of('from_us') }} as held_from,
    -- null: still billed at the end of the month, and nothing shows more
    case when to_us <= month_to_us then {{ timestamp_of('to_us') }} end as held_to
from decided
