{{ config(materialized='by_month', meta={'empty_without': ['int_run_holdings']}) }}
{%- set never = "timestamp '9999-01-01 00:00:00'" %}
{%- set machine = 'usage_month, machine_name' %}

with months as (
    select
        usage_month, cast(usage_month as timestamp) as month_from, cast(usage_month as timestamp) + interval 1 month as month_to
    from ({{ months_to_build() }}) as months_to_build
),

-- whose chips are all of the machine's by the record alone, so that whatever is billed of it is theirs whole
holdings as (
    select
        months.usage_month,
        months.month_from,
        months.month_to,
        {{ machine_name('holdings.resource_id') }} as machine_name,
        holdings.training_run_id,
        greatest(holdings.started_at, months.month_from) as held_from,
        least(holdings.ended_at, months.month_to) as held_to,
        holdings.ended_at < {{ never }}
        and not coalesce(holdings.accelerator_type in ('v5e', 'v6e'), false)
        and case
            when holdings.chips_per_node is null then holdings.held_chips is null
            else holdings.held_chips >= holdings.chips_per_node * holdings.node_count
        end as is_whole
    from {{ ref('int_run_holdings') }} as holdings
    inner join months on holdings.started_at < months.month_to and holdings.ended_at > months.month_from
    where holdings.resource_id is not null
),

-- while one holds a machine, the sum of the numbers of who holds it is its number
numbered as (
    select
        *,
        cast(row_number() over (
            partition by {{ machine }} order by held_from, held_to, training_run_id, is_whole
        ) as bigint) as holder
    from holdings
),

-- of a run that lost an attempt each row is of one attempt, and of what was kept of it or was not: fct_lost_work
attempts as (
    select
        training_run_id,
        started_at,
        coalesce(
            ended_at, lead(started_at) over (partition by training_run_id order by started_at, attempt_id), {{ never }}
        ) as ended_at,
        kept_until
    from {{ ref('int_attempt_losses') }}
    qualify bool_or(state in ('failed', 'interrupted')) over (partition by training_run_id)
),

cuts as (
    select training_run_id, started_at as cut_at from attempts
    union
    select training_run_id, ended_at as cut_at from attempts
    union
    select training_run_id, kept_until as cut_at from attempts
    where kept_until is not null
),

machines as (
    select distinct {{ machine }}, month_from, month_to from holdings
),

holders_of_machines as (
    select distinct {{ machine }}, training_run_id, month_from, month_to from holdings
),

events as (
    select {{ machine }}, held_from as happens_at, 1 as holders, holder from numbered
    union all
    select {{ machine }}, held_to as happens_at, -1 as holders, -holder as holder from numbered
    union all
    select {{ machine }}, month_from as happens_at, 0 as holders, 0 as holder from machines
    union all
    select {{ machine }}, month_to as happens_at, 0 as holders, 0 as holder from machines
    union all
    -- lost work is counted by weeks
    {%- for week in range(1, 6) %}
    select {{ machine }}, date_trunc('week', month_from) + interval {{ 7 * week }} day as happens_at, 0 as holders, 0 as holder
    from machines
    where date_trunc('week', month_from) + interval {{ 7 * week }} day < month_to
    union all
    {%- endfor %}
    select {{ machine }}, cuts.cut_at as happens_at, 0 as holders, 0 as holder
    from holders_of_machines as held
    inner join cuts
        on held.training_run_id = cuts.training_run_id and cuts.cut_at > held.month_from and cuts.cut_at < held.month_to
),

instants as (
    select {{ machine }}, happens_at, sum(holders) as holders, cast(sum(holder) as bigint) as holder
    from events
    group by all
),

segments as (
    select
        {{ machine }},
        happens_at as segment_from,
        lead(happens_at) over (partition by {{ machine }} order by happens_at) as segment_to,
        sum(holders) over (
            partition by {{ machine }} order by happens_at rows between unbounded preceding and current row
        ) as holders,
        cast(sum(holder) over (
            partition by {{ machine }} order by happens_at rows between unbounded preceding and current row
        ) as bigint) as holder
    from instants
),

held_segments as (
    select segments.*, numbered.training_run_id
    from segments
    left join numbered
        on
            segments.usage_month = numbered.usage_month
            and segments.machine_name = numbered.machine_name
            and segments.holder = numbered.holder
    where
        segments.segment_to is not null
        and (segments.holders = 0 or (segments.holders = 1 and numbered.is_whole))
        -- a line is a whole hour at least: of attempts of 55 minutes none has one
        and date_trunc('hour', segments.segment_to) - interval 1 hour >= segments.segment_from
),

lost_runs as (
    select distinct training_run_id from attempts
),

-- between two attempts of such a run a row is of the nearer, which is another one from hour to hour
attempt_segments as (
    select distinct held_segments.*
    from held_segments
    inner join attempts
        on
            held_segments.training_run_id = attempts.training_run_id
            and held_segments.segment_from >= attempts.started_at
            and held_segments.segment_to <= attempts.ended_at
),

whole_segments as (
    select held_segments.*
    from held_segments
    left join lost_runs on held_segments.training_run_id = lost_runs.training_run_id
    where lost_runs.training_run_id is null

    union all

    select * from attempt_segments
)

-- a row for each day, by which a line finds its own among the very many of a machine
select {{ machine }}, {{ each_day('segment_from', 'segment_to') }} as segment_day, segment_from, segment_to, training_run_id
from whole_segments
