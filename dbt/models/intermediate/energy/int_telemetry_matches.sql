{%- set interval = 'usage_month, host, run_key, sample_from_us, sample_to_us' %}
{%- set stated = [
    'source_name', 'host_id', 'run_key', 'accelerator_type', 'device_count', 'region_id', 'device_index', 'is_measured',
    'sample_from_us', 'sample_to_us',
] %}
{%- set counted = [
    'usage_month', 'source_name', 'host', 'run_key', 'machine_name', 'accelerator_type', 'device_count', 'region_id', 'is_document',
    'device_index', 'is_measured', 'sample_from_us', 'sample_to_us', 'sample_count', 'observed_us',
] %}
{%- set power_models = [
    'stg_xprof__samples', 'stg_neuron_power__samples', 'stg_gpu_monitoring__samples', 'stg_power_meters__readings',
    'stg_prometheus__samples', 'stg_wandb__samples',
] %}
{%- set other_models = ['int_device_minutes', 'stg_tpu_monitoring__samples'] %}
{{ config(materialized='by_month', meta={'empty_without': power_models + other_models}) }}

-- a name counts as a run's in the months in which that run was there
with keys_of_month as (
    select usage_month, run_key, training_run_id as keyed_run_id from ({{ run_keys_of_month() }}) as run_keys_of_month
),

months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

delivered as (
    select {{ stated | join(', ') }}, false as is_document from {{ ref('stg_tpu_monitoring__samples') }}
),

delivered_readings as (
    {%- for model in power_models %}
    select {{ stated | join(', ') }}, false as is_document, meter from {{ ref(model) }}
    where meter <> 'cloud_tpu'  -- delivered above
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

-- what the points of a gauge cover
covered as (
    select distinct usage_month, host_id, device_index, is_measured, sample_from_us, sample_to_us
    from {{ ref('int_gauge_intervals') }}
),

covered_readings as (
    select
        usage_month, meter, coalesce(host_id, '') as host, coalesce(device_index, 0) as device_index, sample_to_us,
        min(sample_from_us) as sample_from_us
    from {{ ref('int_power_readings') }}
    where is_point
    group by all
),

-- each sample in the month in which it ends: one that ends at midnight lies in the month before
samples_with_time as (
    select
        months.usage_month,
        {%- for name in stated %}
        delivered.{{ name }},
        {%- endfor %}
        delivered.is_document,
        covered.sample_from_us as covered_from_us,
        1 as sample_count,
        cast(null as bigint) as observed_us,
        null as minute_samples
    from delivered
    inner join months
        on delivered.sample_to_us > months.month_from_us and delivered.sample_to_us <= months.month_to_us
    left join covered
        on
            months.usage_month = covered.usage_month
            and delivered.host_id = covered.host_id
            and delivered.device_index = covered.device_index
            and delivered.is_measured = covered.is_measured
            and delivered.sample_to_us = covered.sample_to_us

    union all

    select
        months.usage_month,
        {%- for name in stated %}
        readings.{{ name }},
        {%- endfor %}
        readings.is_document,
        covered.sample_from_us as covered_from_us,
        1 as sample_count,
        cast(null as bigint) as observed_us,
        null as minute_samples
    from delivered_readings as readings
    inner join months
        on readings.sample_to_us > months.month_from_us and readings.sample_to_us <= months.month_to_us
    left join covered_readings as covered
        on
            months.usage_month = covered.usage_month
            and readings.meter = covered.meter
            and coalesce(readings.host_id, '') = covered.host
            and readings.device_index = covered.device_index
            and readings.sample_to_us = covered.sample_to_us

    union all

    select
        usage_month,
        {%- for name in stated %}
        minutes.{{ name }},
        {%- endfor %}
        true as is_document,
        cast(null as bigint) as covered_from_us,
        minutes.sample_count,
        minutes.observed_us,
        minutes.minute_samples
    from {{ ref('int_device_minutes') }} as minutes
    inner join months using (usage_month)
    where minutes.sample_to_us > months.month_from_us and minutes.sample_to_us <= months.month_to_us
),

samples_and_minutes as (
    select
        usage_month,
        source_name,
        coalesce(host_id, '') as host,
        coalesce(run_key, '') as run_key,
        {{ machine_name("coalesce(host_id, '')") }} as machine_name,
        accelerator_type,
        device_count,
        region_id,
        is_document,
        device_index,
        is_measured,
        coalesce(sample_from_us, covered_from_us, sample_to_us) as sample_from_us,
        sample_to_us,
        sample_count,
        observed_us,
        minute_samples
    from samples_with_time
),

holdings as (
    select distinct
        holdings.usage_month,
        holdings.training_run_id,
        coalesce({{ machine_name('holdings.resource_id') }}, '') as machine_name,
        {{ instant_us('holdings.held_from') }} - {{ telemetry_gap_us() }} as held_from_us,
        coalesce({{ instant_us('holdings.held_to') }}, months.month_to_us) + {{ telemetry_gap_us() }} as held_to_us
    from {{ ref('int_machine_holdings') }} as holdings
    inner join months using (usage_month)
    where not holdings.is_ambiguous
),

seen_machines as (
    select distinct usage_month, machine_name, true as is_seen from samples_and_minutes
),

-- machines of runs that no sample names
unseen_holdings as (
    select holdings.*
    from holdings
    left join seen_machines using (usage_month, machine_name)
    where seen_machines.is_seen is null
),

-- minutes in which a run begins or ends, sample by sample
minute_times as (
    select distinct {{ interval }}, minutes.machine_name, keys_of_month.keyed_run_id
    from samples_and_minutes as minutes
    left join keys_of_month using (usage_month, run_key)
    where minutes.minute_samples is not null
),

cut_times as (
    select distinct {{ interval }}, true as is_cut
    from (
        select
            minute_times.usage_month, minute_times.host, minute_times.run_key, minute_times.sample_from_us,
            minute_times.sample_to_us, holdings.held_from_us, holdings.held_to_us
        from minute_times
        inner join holdings using (usage_month, machine_name)
        union all
        select
            minute_times.usage_month, minute_times.host, minute_times.run_key, minute_times.sample_from_us,
            minute_times.sample_to_us, holdings.held_from_us, holdings.held_to_us
        from minute_times
        inner join holdings
            on minute_times.usage_month = holdings.usage_month and minute_times.keyed_run_id = holdings.training_run_id
    ) as held_times
    where
        (held_from_us > sample_from_us and held_from_us < sample_to_us)
        or (held_to_us > sample_from_us and held_to_us < sample_to_us)
),

cut_minutes as (
    select samples_and_minutes.*, {{ each_of('minute_samples') }} as one_sample
    from samples_and_minutes
    inner join cut_times using ({{ interval }})
),

samples as (
    select {{ counted | join(', ') }}
    from samples_and_minutes
    left join cut_times using ({{ interval }})
    where samples_and_minutes.minute_samples is null or cut_times.is_cut is null

    union all

    select
        {%- for name in counted[:11] %}
        {{ name }},
        {%- endfor %}
        one_sample.sample_from_us,
        one_sample.sample_to_us,
        1 as sample_count,
        one_sample.observed_us
    from cut_minutes
),

intervals as (
    select distinct {{ interval }}, samples.machine_name, keys_of_month.keyed_run_id
    from samples
    left join keys_of_month using (usage_month, run_key)
),

meetings as (
    select {{ interval }}, holdings.training_run_id, machine_name
    from intervals
    inner join holdings using (usage_month, machine_name)
    where
        intervals.sample_from_us < holdings.held_to_us
        and intervals.sample_to_us > holdings.held_from_us
        and coalesce(intervals.keyed_run_id = holdings.training_run_id, intervals.machine_name <> '')

    union all

    -- machines of a managed job have no names in its record: a key makes the connection
    select {{ interval }}, holdings.training_run_id, holdings.machine_name
    from intervals
    inner join unseen_holdings as holdings using (usage_month)
    where
        intervals.keyed_run_id = holdings.training_run_id
        and intervals.sample_from_us < holdings.held_to_us
        and intervals.sample_to_us > holdings.held_from_us

    union all

    -- the log of a job names its run and no machine
    select {{ interval }}, holdings.training_run_id, holdings.machine_name
    from intervals
    inner join holdings using (usage_month)
    where
        intervals.machine_name = ''
        and intervals.keyed_run_id = holdings.training_run_id
        and intervals.sample_from_us < holdings.held_to_us
        and intervals.sample_to_us > holdings.held_from_us
),

-- a sample of a machine that several runs shared counts once, with the first of them
first_meetings as (
    select *
    from meetings
    qualify row_number() over (partition by {{ interval }} order by training_run_id, machine_name) = 1
),

samples_with_run as (
    select
        samples.*,
        keys_of_month.keyed_run_id,
        first_meetings.training_run_id as met_run_id,
        first_meetings.machine_name as met_machine,
        -- time that an earlier sample of the device observed already is not observed twice
        coalesce(max(samples.sample_to_us) over (
            partition by
                samples.usage_month, samples.source_name, samples.host, samples.run_key, samples.device_index, samples.is_measured
            order by samples.sample_from_us, samples.sample_to_us rows between unbounded preceding and 1 preceding
        ), samples.sample_from_us) as reached_us
    from samples
    left join keys_of_month using (usage_month, run_key)
    left join first_meetings using ({{ interval }})
),

-- points name the chips they are of: how many of a machine are seen at one time. Over longer times chips may be numbered anew
chips_at_one_time as (
    select usage_month, source_name, host, met_run_id, met_machine, max(chip_count) as seen_chips
    from (
        select
            usage_month, source_name, host, met_run_id, met_machine, is_measured, sample_to_us,
            count(distinct device_index) as chip_count
        from samples_with_run
        where not is_document and met_run_id is not null
        group by all
    ) as chips
    group by all
),

counted_samples as (
    select
        usage_month,
        source_name,
        host,
        run_key,
        keyed_run_id,
        met_run_id,
        met_machine,
        accelerator_type,
        device_count,
        region_id,
        is_document,
        cast(sum(sample_count) as bigint) as sample_count,
        {%- for name, condition in [('measured_us', 'is_measured'), ('present_us', 'not is_measured')] %}
        cast(sum(case
            when {{ condition }}
                then cast(coalesce(
                    observed_us, greatest(sample_to_us - greatest(sample_from_us, reached_us), 0)
                ) as decimal(38, 0))
            else 0
        end) as decimal(38, 0)) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from samples_with_run
    group by all
)

select
    usage_month,
    source_name,
    host,
    counted_samples.run_key,
    coalesce(met_run_id, counted_samples.keyed_run_id, '') as training_run_id,
    met_machine,
    counted_samples.accelerator_type,
    counted_samples.device_count,
    counted_samples.region_id,
    counted_samples.is_document,
    counted_samples.keyed_run_id is not null as is_known_key,
    counted_samples.sample_count,
    case when met_run_id is null then 0 else counted_samples.sample_count end as matched_sample_count,
    chips_at_one_time.seen_chips,
    counted_samples.measured_us,
    counted_samples.present_us
from counted_samples
left join chips_at_one_time using (usage_month, source_name, host, met_run_id, met_machine)
