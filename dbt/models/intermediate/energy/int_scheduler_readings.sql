{%- set reading = 'training_run_id, meter, named_resource, from_us, to_us, energy_j' %}

with records as (
    select distinct record_system, record_run_id, training_run_id
    from {{ ref('int_run_records') }}
    where not is_ambiguous
),

readings as (
    select distinct
        records.training_run_id,
        readings.meter,
        coalesce(readings.resource_id, '') as named_resource,
        readings.from_us,
        readings.to_us,
        readings.energy_j
    from {{ ref('stg_training_runs__readings') }} as readings
    inner join records using (record_system, record_run_id)
),

holdings as (
    select distinct
        training_run_id,
        resource_id,
        {{ machine_name('resource_id') }} as machine_name,
        {{ instant_us('started_at') }} as held_from_us,
        {{ instant_us('ended_at') }} as held_to_us
    from {{ ref('int_run_holdings') }}
    where resource_id is not null and coalesce(node_count, 1) = 1
),

-- a run's own record may name its machines otherwise than its scheduler does: then all that it holds in that time
meetings as (
    select
        readings.*,
        holdings.resource_id,
        case when holdings.machine_name = {{ machine_name('readings.named_resource') }} then 1 else 0 end as is_named,
        greatest(readings.from_us, holdings.held_from_us) as met_from_us,
        least(readings.to_us, holdings.held_to_us) as met_to_us
    from readings
    inner join holdings using (training_run_id)
    where holdings.held_from_us < readings.to_us and holdings.held_to_us > readings.from_us
),

best_meetings as (
    select *, max(is_named) over (partition by {{ reading }}) as has_named
    from meetings
),

-- a machine that a run holds twice at once is one machine
machines as (
    select {{ reading }}, resource_id, min(met_from_us) as met_from_us, max(met_to_us) as met_to_us
    from best_meetings
    where is_named = has_named
    group by all
),

-- joules as microwatts times microseconds, evenly over the machines and the time they were held
shares as (
    select
        *,
        -- in two steps: in one, 278 MWh of a large job would not fit
        cast(
            cast({{ to_units('energy_j', 6) }} as decimal(31, 0)) * cast(1e6 as decimal(7, 0)) as decimal(38, 0)
        ) as energy_uw_us,
        cast(sum(met_to_us - met_from_us) over (partition by {{ reading }}) as decimal(38, 0)) as all_us,
        cast(sum(met_to_us - met_from_us) over (
            partition by {{ reading }} order by resource_id, met_from_us rows between unbounded preceding and current row
        ) - (met_to_us - met_from_us) as decimal(38, 0)) as before_us
    from machines
),

levels as (
    select *, {{ int_div('energy_uw_us', 'all_us') }} as power_uw
    from shares
),

-- what is left of a whole microwatt is one microwatt more for as long as it lasts, so that no joule is lost
cuts as (
    select
        *,
        met_from_us + cast(
            least(greatest(energy_uw_us - power_uw * all_us - before_us, 0), met_to_us - met_from_us) as bigint
        ) as cut_us
    from levels
)

{% for part in [
    {'from': 'met_from_us', 'to': 'cut_us', 'more': ' + 1'},
    {'from': 'cut_us', 'to': 'met_to_us', 'more': ''},
] %}
select
    resource_id as host_id,
    training_run_id as run_key,
    meter,
    {{ part['from'] }} as sample_from_us,
    {{ part['to'] }} as sample_to_us,
    cast(power_uw{{ part['more'] }} as bigint) as power_uw
from cuts
where {{ part['from'] }} < {{ part['to'] }}
{%- if not loop.last %}

union all
{% endif %}
{%- endfor %}
