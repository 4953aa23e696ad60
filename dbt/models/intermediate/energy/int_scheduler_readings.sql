{{ config(meta={'empty_without': ['stg_training_runs__readings']}) }}
{%- set reading = 'training_run_id, meter, named_resource, from_us, to_us, energy_j, first_reading' %}

with records as (
    select distinct record_system, record_run_id, training_run_id
    from {{ ref('int_run_records') }}
    where not is_ambiguous
),

readings as (
    select
        records.training_run_id,
        readings.meter,
        coalesce(readings.resource_id, '') as named_resource,
        readings.from_us,
        readings.to_us,
        readings.energy_j,
        min({{ reading_place("'energy_j'", of='readings.') }}) as first_reading
    from {{ ref('stg_training_runs__readings') }} as readings
    inner join records using (record_system, record_run_id)
    group by all
),

widest as (
    select
        max(node_least_uw) as node_least_uw,
        max(node_most_uw) as node_most_uw,
        max(least_chips) as least_chips,
        max(most_chips) as most_chips
    from {{ ref('int_power_bands') }}
    where band = ''
),

holdings as (
    select
        bands.training_run_id,
        bands.resource_id,
        bands.machine_name,
        bands.held_from_us,
        bands.held_to_us,
        coalesce(bands.node_least_uw, widest.node_least_uw * widest.least_chips) as node_least_uw,
        coalesce(bands.node_most_uw, widest.node_most_uw * widest.most_chips) as node_most_uw
    from {{ ref('int_holding_bands') }} as bands
    cross join widest
    where bands.resource_id is not null and coalesce(bands.node_count, 1) = 1
),

-- a run's own record may name its machines otherwise than its scheduler does: then all that it holds in that time
meetings as (
    select
        readings.*,
        holdings.resource_id,
        holdings.node_least_uw,
        holdings.node_most_uw,
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
    select
        {{ reading }}, resource_id, min(met_from_us) as met_from_us, max(met_to_us) as met_to_us,
        min(node_least_uw) as node_least_uw, max(node_most_uw) as node_most_uw
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

-- spread evenly, so the mean is that of each machine: it has the band that holds for all of them
levels as (
    select
        *,
        {{ int_div('energy_uw_us', 'all_us') }} as power_uw,
        min(node_least_uw) over (partition by {{ reading }}) as band_least_uw,
        max(node_most_uw) over (partition by {{ reading }}) as band_most_uw
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
    case when power_uw <= band_most_uw then cast(power_uw{{ part['more'] }} as bigint) end as power_uw,
    case when power_uw > band_most_uw then cast(least(power_uw, 9000000000000000000) as bigint) end as doubted_uw,
    power_uw < band_least_uw as is_below_band,
    band_least_uw,
    band_most_uw,
    first_reading
from cuts
where {{ part['from'] }} < {{ part['to'] }}
{%- if not loop.last %}

union all
{% endif %}
{%- endfor %}
