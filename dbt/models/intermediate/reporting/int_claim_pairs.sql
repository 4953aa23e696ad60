{#- the figure of each test: what a launch took, and the work of one that reached its target; of each, less is better -#}
{%- set tests = {
    'paired_cost': {'amount': 'effective_cost', 'bounds': [], 'work': '1', 'unit': 'billing_currency'},
    'paired_energy': {'amount': 'kwh', 'bounds': ['_low', '_high'], 'work': 'exaflop', 'unit': "'kWh'"},
    'paired_chip_time': {'amount': 'chip_hours', 'bounds': [], 'work': 'exaflop', 'unit': "'h'"},
} %}
{%- set ends = ['', '_low', '_high'] %}
with launches as (
    select
        runs.*,
        runs.state = 'succeeded' and coalesce(runs.is_target_reached, true) as is_reached,
        runs.target_metric || ' ' || coalesce(runs.target_direction, '') || ' ' || cast(runs.target_value as string) as target,
        cast(coalesce(runs.useful_tokens, runs.tokens) as double) as work_tokens,
        case when runs.model_flops > 0 then cast(runs.model_flops / 1e18 as decimal(38, 9)) end as exaflop
    from {{ ref('dim_training_runs') }} as runs
    cross join {{ ref('int_asked_window') }} as asked
    where
        runs.workload_key is not null and runs.pair_key is not null and runs.accelerator_type is not null
        and not runs.is_multi_accelerator
        and runs.started_at < asked.window_end
),

-- a claim names a family (trainium), that of one cloud (AWS/gpu), a type (v5e), an EC2 family (p4d) or a generation (p5)
run_groups as (
    select training_run_id, accelerator_family as type_group from launches

    union

    select training_run_id, provider_name || '/' || accelerator_family as type_group from launches

    union

    select training_run_id, accelerator_type as type_group from launches

    union

    select training_run_id, regexp_extract(accelerator_type, '^([^.]+)', 1) as type_group from launches

    union

    select training_run_id, regexp_extract(accelerator_type, '^([a-z]+[0-9]+)', 1) as type_group from launches
),

-- without promotions; no cost where a month is not billed or the bills are in two currencies
run_costs as (
    select
        training_run_id,
        min(billing_currency) as billing_currency,
        cast(sum(effective_cost) as decimal(38, 9)) as effective_cost
    from {{ ref('fct_training_run_costs') }}
    where cost_component <> 'credit'
    group by training_run_id
    having count(distinct billing_currency) = 1 and bool_and(status <> 'not_published')
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

run_amounts as (
    {%- for test, of in tests.items() %}
    select
        launches.training_run_id,
        '{{ test }}' as test,
        {{ of.unit }} as unit,
        {%- for end in ends %}
        {{ of.amount ~ (end if end in of.bounds else '') }} as amount{{ end }},
        {%- endfor %}
        case when launches.is_reached then cast({{ of.work }} as decimal(38, 9)) end as work,
        {{ "run_energy.first_basis" if of.bounds else "''" }} as first_basis,
        {{ "run_energy.last_basis" if of.bounds else "''" }} as last_basis,
        {{ 'coalesce(run_energy.is_assumed, true)' if of.bounds else 'false' }} as is_assumed
    from launches
    left join {{ 'run_costs' if test == 'paired_cost' else 'run_energy' }} using (training_run_id)
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

roles as (
    select claim_id, test, 'side' as role, side as type_group from {{ ref('dim_vendor_claims') }}

    union all

    select claim_id, test, 'baseline' as role, baseline as type_group from {{ ref('dim_vendor_claims') }}
),

-- of each side all its launches, those that failed too, and the work of those that reached the target
pairs as (
    select
        roles.claim_id,
        launches.workload_key,
        launches.pair_key,
        {%- for role in ['side', 'baseline'] %}
        min(case when roles.role = '{{ role }}' and launches.is_reached then launches.ended_at end) as {{ role }}_reached_at,
        max(case when roles.role = '{{ role }}' then launches.ended_at end) as {{ role }}_ended_at,
        coalesce(sum(case when roles.role = '{{ role }}' then amounts.work end), 0) as {{ role }}_work,
        {%- for end in ends %}
        sum(case when roles.role = '{{ role }}' then amounts.amount{{ end }} end) as {{ role }}_amount{{ end }},
        {%- endfor %}
        {%- endfor %}
        count(*) > count(launches.ended_at) as is_running,
        count(*) = count(amounts.amount_low)
        and count(amounts.work) = count(case when launches.is_reached then 1 end)
        and min(amounts.unit) = max(amounts.unit) as is_known,
        count(*) = count(launches.model_name) and min(launches.model_name) = max(launches.model_name)
        and (
            (count(*) = count(launches.target) and min(launches.target) = max(launches.target))
            or (
                count(launches.target) = 0
                and max(case when launches.is_reached then launches.work_tokens end)
                <= 1.05e0 * min(case when launches.is_reached then launches.work_tokens end)
            )
        ) as is_promise_kept,
        case
            when min(amounts.first_basis) = max(amounts.last_basis) then min(amounts.first_basis) else 'mixed'
        end as basis_class,
        bool_or(amounts.is_assumed) as is_assumed
    from roles
    inner join run_groups using (type_group)
    inner join launches using (training_run_id)
    inner join run_amounts as amounts using (training_run_id, test)
    group by roles.claim_id, launches.workload_key, launches.pair_key
    having count(distinct roles.role) = 2
),

settled as (
    select
        *,
        case
            when not is_running
                then cast(greatest(
                    coalesce(side_reached_at, side_ended_at), coalesce(baseline_reached_at, baseline_ended_at)
                ) as date)
        end as settled_on
    from pairs
),

quarters as (
    select
        settled.*,
        cast(date_trunc('quarter', settled.settled_on) as date) as quarter_start
    from settled
    cross join {{ ref('int_asked_window') }} as asked
    where settled.is_running or (settled.settled_on >= asked.window_start and settled.settled_on < asked.window_end)
)

select
    quarters.claim_id,
    quarters.workload_key,
    quarters.pair_key,
    -- half a calendar quarter: to the 15th of its second month, and from the 16th on
    case
        when quarters.settled_on < cast(quarters.quarter_start + interval 1 month + interval 15 day as date)
            then quarters.quarter_start
        else cast(quarters.quarter_start + interval 1 month + interval 15 day as date)
    end as cluster_start,
    cast(quarters.quarter_start + interval 3 month as date) as closed_on,
    quarters.basis_class,
    case
        when quarters.is_running then 'a launch of it still runs'
        when not quarters.is_known then 'a figure of it is not known, or is in two currencies'
        when not coalesce(quarters.is_promise_kept, false)
            then 'its sides did not state the same model with the same target or the same work'
        when quarters.basis_class = 'mixed' then 'it is measured on one side and modelled on the other'
        when quarters.is_assumed then 'power of one side is assumed, and no verdict rests on that'
        when not coalesce(registrations.is_registered, false) then 'it was not registered before its later side began'
    end as set_aside_because
    {%- for role in ['side', 'baseline'] %},
    cast(quarters.{{ role }}_work as decimal(38, 9)) as {{ role }}_work
    {%- for end in ends %},
    cast(quarters.{{ role }}_amount{{ end }} as decimal(38, 9)) as {{ role }}_amount{{ end }}
    {%- endfor %}
    {%- endfor %}
from quarters
left join {{ ref('dim_comparison_registrations') }} as registrations using (workload_key, pair_key)
