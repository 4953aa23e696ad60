{{ config(meta={'empty_without': ['int_claim_members']}) }}
{#- the figure of each test: what a launch took, and the work of one that reached its target; of each, less is better -#}
{%- set tests = {
    'paired_cost': {'amount': 'effective_cost', 'bounds': [], 'work': '1', 'unit': 'billing_currency'},
    'paired_energy': {'amount': 'kwh', 'bounds': ['_low', '_high'], 'work': 'exaflop', 'unit': "'kWh'"},
    'paired_chip_time': {'amount': 'chip_hours', 'bounds': [], 'work': 'exaflop', 'unit': "'h'"},
} %}
{%- set ends = ['', '_low', '_high'] %}
{%- set roles = ['side', 'baseline'] %}
{%- set planned = 'cast(max(planned_tokens) as decimal(19, 0))' %}
{%- set within_5_percent = 'greatest(max({0}), ' ~ planned ~ ') * cast(100 as decimal(3, 0))'
    ~ ' <= least(min({0}), ' ~ planned ~ ') * cast(105 as decimal(3, 0))' %}
{%- set reached = "cast(case when is_reached then {0} end as decimal(19, 0))" %}

-- without promotions; no cost where a month is not billed, where no bill has a row, where the bills are in two currencies, or
-- where a part has no price
with run_costs as (
    select
        training_run_id,
        min(case when status <> 'no_cell' then billing_currency end) as billing_currency,
        {{ whole_sum('effective_cost', 'decimal(38, 9)') }} as effective_cost
    from {{ ref('fct_training_run_costs') }}
    where cost_component <> 'credit'
    group by training_run_id
    having count(distinct case when status <> 'no_cell' then billing_currency end) = 1 and bool_and(status <> 'not_published')
),

run_energy as (
    select
        training_run_id,
        {%- for end in ends %}
        case
            when count(*) = count(chip_host_energy_kwh{{ end }}) then cast(sum(chip_host_energy_kwh{{ end }}) as decimal(38, 9))
        end as kwh{{ end }},
        {%- endfor %}
        case when count(*) = count(reserved_chip_hours) then cast(sum(reserved_chip_hours) as decimal(38, 9)) end as chip_hours,
        min(case when energy_basis = 'measured' then 'measured' else 'modelled' end) as first_basis,
        max(case when energy_basis = 'measured' then 'measured' else 'modelled' end) as last_basis,
        bool_or(coalesce(power_confidence, 'assumed') = 'assumed') as is_assumed
    from {{ ref('fct_training_run_energy') }}
    group by training_run_id
),

members as (
    {%- for test, of in tests.items() %}
    select
        members.*,
        {{ of.unit }} as unit,
        {%- for end in ends %}
        {{ of.amount ~ (end if end in of.bounds else '') }} as amount{{ end }},
        {%- endfor %}
        case when members.is_reached then cast({{ of.work }} as decimal(38, 9)) end as work,
        {{ "run_energy.first_basis" if of.bounds else "''" }} as first_basis,
        {{ "run_energy.last_basis" if of.bounds else "''" }} as last_basis,
        {{ 'coalesce(run_energy.is_assumed, true)' if of.bounds else 'false' }} as is_assumed
    from {{ ref('int_claim_members') }} as members
    {%- set amounts = 'run_costs' if test == 'paired_cost' else 'run_energy' %}
    left join {{ amounts }} on members.training_run_id = {{ amounts }}.training_run_id
    where members.test = '{{ test }}'
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

-- of each side all its launches, those that failed too, and the work of those that reached the target
pairs as (
    select
        claim_id,
        workload_key,
        pair_key,
        {%- for role in roles %}
        min(case when role = '{{ role }}' and is_reached then ended_at end) as {{ role }}_reached_at,
        min(case when role = '{{ role }}' then ended_at end) as {{ role }}_ended_at,
        coalesce(sum(case when role = '{{ role }}' then work end), 0) as {{ role }}_work,
        bool_and(case
            when role = '{{ role }}'
                then amount_low is not null and amount_high is not null and (work is not null or not is_reached)
        end) as {{ role }}_is_known,
        {%- for end in ends %}
        sum(case when role = '{{ role }}' then amount{{ end }} end) as {{ role }}_amount{{ end }},
        {%- endfor %}
        {%- endfor %}
        count(*) > count(ended_at) as is_running,
        case when min(unit) = max(unit) then min(unit) end as unit,
        count(distinct unit) > 1 as is_of_two_units,
        count(*) = count(model_name) and min(model_name) = max(model_name) as is_of_one_model,
        -- to a target the same on both sides and in the plan; else the same work, tokens where a record has no useful ones
        case
            when bool_or(promise = 'to_target')
                then count(*) = count(target) and min(target) = max(target) and not bool_or(is_other_than_planned)
            {%- for tokens in ['useful_tokens', 'tokens'] %}
            when count(case when is_reached then 1 end) = nullif(count(case when is_reached then {{ tokens }} end), 0)
                then {{ within_5_percent.format(reached.format(tokens)) }}
            {%- endfor %}
            else
                max(planned_tokens) is not null
                and {{ within_5_percent.format(reached.format('coalesce(useful_tokens, tokens)')) }}
        end as is_promise_kept,
        case when min(first_basis) = max(last_basis) then min(first_basis) else 'mixed' end as basis_class,
        bool_or(is_assumed) as is_assumed
    from members
    group by claim_id, workload_key, pair_key
),

-- the currency of most pairs of a workload: of another one the sum would be of two currencies
units as (
    select
        claim_id,
        workload_key,
        unit,
        row_number() over (partition by claim_id, workload_key order by count(*) desc, unit) as place
    from pairs
    where unit is not null
    group by claim_id, workload_key, unit
),

settled as (
    select
        pairs.*,
        coalesce(pairs.unit <> units.unit, false) as is_of_other_unit,
        -- what is launched later moves it nowhere
        case
            when pairs.side_ended_at is not null and pairs.baseline_ended_at is not null
                then cast(greatest(
                    coalesce(pairs.side_reached_at, pairs.side_ended_at),
                    coalesce(pairs.baseline_reached_at, pairs.baseline_ended_at)
                ) as date)
        end as settled_on
    from pairs
    left join units on pairs.claim_id = units.claim_id and pairs.workload_key = units.workload_key and units.place = 1
),

ends as (
    select max(window_end) as last_end from {{ ref('int_report_windows') }}
),

quarters as (
    select
        settled.*,
        ends.last_end,
        -- half a calendar quarter: to the 15th of its second month, and from the 16th on
        case
            when settled.settled_on < cast(date_trunc('quarter', settled.settled_on) + interval 1 month + interval 15 day as date)
                then cast(date_trunc('quarter', settled.settled_on) as date)
            else cast(date_trunc('quarter', settled.settled_on) + interval 1 month + interval 15 day as date)
        end as cluster_start,
        cast(date_trunc('quarter', settled.settled_on) + interval 3 month as date) as closed_on
    from settled
    cross join {{ ref('int_asked_window') }} as asked
    cross join ends
    where settled.is_running or (settled.settled_on >= asked.window_start and settled.settled_on < asked.window_end)
),

judged as (
    select
        quarters.*,
        case
            when quarters.is_running then 'a launch of it still runs'
            when quarters.is_of_two_units then 'its sides are billed in two currencies'
            when not (quarters.side_is_known and quarters.baseline_is_known) then 'a figure of it is not known'
            when quarters.is_of_other_unit then 'it is billed in another currency than most pairs of its workload'
            when not coalesce(quarters.is_of_one_model and quarters.is_promise_kept, false)
                then 'its sides did not state the same model with the same target or the same work'
            when quarters.basis_class = 'mixed' then 'it is measured on one side and modelled on the other'
            when quarters.is_assumed then 'power of one side is assumed, and no verdict rests on that'
            when not coalesce(registrations.is_registered, false) then 'it was not registered before its later side began'
        end as set_aside_because,
        -- a registered pair that keeps its promise and lacks a figure on one side
        case
            when
                not quarters.is_running and quarters.is_of_one_model and quarters.is_promise_kept and registrations.is_registered
                and quarters.side_is_known <> quarters.baseline_is_known
                then case when quarters.baseline_is_known then 'side' else 'baseline' end
        end as missing_role,
        -- a registered pair that settled, of which a launch goes on and will change its half quarter: that waits
        bool_or(coalesce(
            quarters.is_running and quarters.is_of_one_model and quarters.is_promise_kept and registrations.is_registered, false
        )) over (partition by quarters.claim_id, quarters.workload_key, quarters.cluster_start) as is_held_up,
        coalesce(quarters.closed_on <= quarters.last_end, false) as is_over
    from quarters
    left join {{ ref('dim_comparison_registrations') }} as registrations using (workload_key, pair_key)
)

select
    claim_id,
    workload_key,
    pair_key,
    cluster_start,
    closed_on,
    is_over and not is_held_up as is_closed,
    is_over and is_held_up as is_waiting,
    basis_class,
    set_aside_because,
    missing_role
    {%- for role in roles %},
    cast({{ role }}_work as decimal(38, 9)) as {{ role }}_work
    {%- for end in ends %},
    cast({{ role }}_amount{{ end }} as decimal(38, 9)) as {{ role }}_amount{{ end }}
    {%- endfor %}
    {%- endfor %}
from judged
