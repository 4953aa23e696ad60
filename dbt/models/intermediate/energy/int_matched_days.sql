{%- set tables = ['int_device_minutes', 'int_power_samples', 'int_meter_samples', 'stg_tpu_monitoring__samples'] %}
{{ config(materialized='by_month', meta={'by_day': 'usage_day', 'empty_without': tables}) }}
{%- set series = 'usage_month, usage_day, host, run_key' %}
{%- set interval = series ~ ', sample_from_us, sample_to_us' %}
{%- set stated = [
    'source_name', 'host_id', 'run_key', 'accelerator_type', 'device_count', 'region_id', 'device_index', 'is_measured',
] %}
{%- set counted = [
    'usage_month', 'usage_day', 'source_name', 'host', 'run_key', 'accelerator_type', 'device_count', 'region_id', 'is_document',
    'device_index', 'is_measured', 'is_within',
] %}
{%- set rows_asked = {
    'of_day': 'true ' ~ and_in_built_days('samples.usage_day'), 'from_before': 'samples.usage_day > ' ~ day_of('FROM'),
} %}
{%- set ends = 'samples.sample_to_us > months.month_from_us and samples.sample_to_us <= months.month_to_us' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- what the points of a gauge cover
covered as (
    select distinct usage_month, host_id, device_index, is_measured, sample_from_us, sample_to_us
    from {{ ref('int_gauge_intervals') }}
),

covered_readings as (
    select
        usage_month, usage_day, meter, coalesce(host_id, '') as host, coalesce(device_index, 0) as device_index, sample_to_us,
        min(sample_from_us) as sample_from_us
    from {{ ref('int_power_readings') }}
    where is_point and {{ in_build_months() }}
    group by all
),

tpu_samples as (
    select
        months.usage_month,
        {{ day_of_month('samples.sample_to_us') }} as usage_day,
        {%- for name in stated %}
        samples.{{ name }},
        {%- endfor %}
        coalesce(samples.sample_from_us, covered.sample_from_us, samples.sample_to_us) as sample_from_us,
        samples.sample_to_us
    from {{ ref('stg_tpu_monitoring__samples') }} as samples
    inner join months on {{ ends }}
    left join covered
        on
            months.usage_month = covered.usage_month
            and samples.host_id = covered.host_id
            and samples.device_index = covered.device_index
            and samples.is_measured = covered.is_measured
            and samples.sample_to_us = covered.sample_to_us
),

{#- those of the day, and of other days those that began before theirs: a part of them lies in an earlier one #}
{%- for which, is_asked in rows_asked.items() %}
{{ which }} as (
    select
        samples.usage_month, samples.usage_day,
        {%- for name in stated %}
        samples.{{ name }},
        {%- endfor %}
        true as is_document, coalesce(samples.sample_from_us, samples.sample_to_us) as sample_from_us, samples.sample_to_us,
        samples.sample_count, samples.observed_us, samples.minute_samples
    from {{ ref('int_device_minutes') }} as samples
    inner join months using (usage_month)
    where {{ ends }} and {{ is_asked | replace('FROM', 'coalesce(samples.sample_from_us, samples.sample_to_us)') }}

    union all
    {% for table in tables[1:3] %}
    select
        samples.usage_month, samples.usage_day,
        {%- for name in stated %}
        samples.{{ name }},
        {%- endfor %}
        false as is_document, samples.sample_from_us, samples.sample_to_us,
        1 as sample_count, cast(null as bigint) as observed_us, null as minute_samples
    from {{ ref(table) }} as samples
    inner join months using (usage_month)
    where samples.sample_from_us is not null and {{ ends }} and {{ is_asked | replace('FROM', 'samples.sample_from_us') }}

    union all

    select
        samples.usage_month, samples.usage_day,
        {%- for name in stated %}
        samples.{{ name }},
        {%- endfor %}
        false as is_document, coalesce(covered.sample_from_us, samples.sample_to_us) as sample_from_us, samples.sample_to_us,
        1 as sample_count, cast(null as bigint) as observed_us, null as minute_samples
    from {{ ref(table) }} as samples
    inner join months using (usage_month)
    left join covered_readings as covered
        on
            samples.usage_month = covered.usage_month
            and samples.usage_day = covered.usage_day
            and samples.meter = covered.meter
            and coalesce(samples.host_id, '') = covered.host
            and samples.device_index = covered.device_index
            and samples.sample_to_us = covered.sample_to_us
    where
        samples.sample_from_us is null
        and {{ ends }}
        and {{ is_asked | replace('FROM', 'coalesce(covered.sample_from_us, samples.sample_to_us)') }}

    union all
    {% endfor %}
    select
        samples.usage_month, samples.usage_day,
        {%- for name in stated %}
        samples.{{ name }},
        {%- endfor %}
        false as is_document, samples.sample_from_us, samples.sample_to_us,
        1 as sample_count, cast(null as bigint) as observed_us, null as minute_samples
    from tpu_samples as samples
    where {{ is_asked | replace('FROM', 'samples.sample_from_us') }}
),
{% endfor %}
-- a part of a sample in an earlier day than its own, of those of the month
earlier_days as (
    select
        from_before.*,
        {{ each_day(
            timestamp_of('greatest(from_before.sample_from_us, months.month_from_us)'),
            'cast(from_before.usage_day as timestamp) - interval 1 day'
        ) }} as part_day
    from from_before
    inner join months using (usage_month)
    where from_before.usage_day > from_before.usage_month
),

parts as (
    select *, usage_day as part_day from of_day
    union all
    select * from earlier_days
    where true {{ and_in_built_days('part_day') }}
),

-- what a month's first samples cover before it is counted with its first day
timed as (
    select
        *,
        case
            when part_day > usage_month then {{ instant_us('cast(part_day as timestamp)') }}
            else least(sample_from_us, {{ instant_us('cast(part_day as timestamp)') }})
        end as part_first_us,
        {{ instant_us('cast(part_day as timestamp) + interval 1 day') }} as part_last_us
    from parts
),

samples_and_minutes as (
    select
        usage_month,
        part_day as usage_day,
        source_name,
        coalesce(host_id, '') as host,
        coalesce(run_key, '') as run_key,
        accelerator_type,
        device_count,
        region_id,
        is_document,
        device_index,
        is_measured,
        part_day = usage_day and sample_from_us >= {{ instant_us('cast(usage_day as timestamp)') }} as is_within,
        sample_from_us,
        sample_to_us,
        greatest(sample_from_us, part_first_us) as part_from_us,
        least(sample_to_us, part_last_us) as part_to_us,
        case when part_day = usage_day then sample_count else 0 end as sample_count,
        observed_us,
        minute_samples
    from timed
),

holdings as (
    select * from {{ ref('int_series_holdings') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

-- minutes in which a run begins or ends, sample by sample
minute_times as (
    select distinct {{ interval }} from samples_and_minutes
    where minute_samples is not null
),

cut_times as (
    select distinct {{ interval }}, true as is_cut
    from minute_times
    inner join holdings using ({{ series }})
    where
        (holdings.held_from_us > minute_times.sample_from_us and holdings.held_from_us < minute_times.sample_to_us)
        or (holdings.held_to_us > minute_times.sample_from_us and holdings.held_to_us < minute_times.sample_to_us)
),

cut_minutes as (
    select samples_and_minutes.*, {{ each_of('minute_samples') }} as one_sample
    from samples_and_minutes
    inner join cut_times using ({{ interval }})
),

samples as (
    select
        {%- for name in counted + ['sample_from_us', 'sample_to_us', 'part_from_us', 'part_to_us', 'sample_count'] %}
        uncut.{{ name }},
        {%- endfor %}
        uncut.observed_us
    from samples_and_minutes as uncut
    left join cut_times using ({{ interval }})
    where uncut.minute_samples is null or cut_times.is_cut is null

    union all

    select
        {%- for name in counted %}
        {{ name }},
        {%- endfor %}
        one_sample.sample_from_us,
        one_sample.sample_to_us,
        one_sample.sample_from_us as part_from_us,
        one_sample.sample_to_us as part_to_us,
        1 as sample_count,
        one_sample.observed_us
    from cut_minutes
),

intervals as (
    select distinct {{ interval }} from samples
    where is_within
),

meetings as (
    select {{ interval }}, holdings.met_run_id, holdings.met_machine
    from intervals
    inner join holdings using ({{ series }})
    where
        holdings.is_meeting
        and intervals.sample_from_us < holdings.held_to_us
        and intervals.sample_to_us > holdings.held_from_us
),

-- a sample of a machine that several runs shared counts once, with the first of them
first_meetings as (
    select *
    from meetings
    qualify row_number() over (partition by {{ interval }} order by met_run_id, met_machine) = 1
),

observed as (
    select
        *,
        -- time that an earlier sample of the device observed already is not observed twice
        coalesce(max(part_to_us) over (
            partition by usage_month, usage_day, source_name, host, run_key, device_index, is_measured
            order by sample_from_us, sample_to_us rows between unbounded preceding and 1 preceding
        ), part_from_us) as reached_us
    from samples
),

-- chips that are read at one time count together, so what meets its run in the month is all that a source read of a machine then
times_over_midnight as (
    select distinct usage_month, usage_day, source_name, host, sample_to_us, true as is_over_midnight
    from samples
    where not is_within and not is_document and sample_count > 0
),

samples_with_run as (
    select
        observed.*,
        first_meetings.met_run_id,
        first_meetings.met_machine,
        not observed.is_within
        or (not observed.is_document and times_over_midnight.is_over_midnight is not null) as is_met_in_month
    from observed
    left join first_meetings using ({{ interval }})
    left join times_over_midnight using (usage_month, usage_day, source_name, host, sample_to_us)
),

-- points name the chips they are of: how many of a machine are seen at one time. Over longer times chips may be numbered anew
chips_at_one_time as (
    select usage_month, usage_day, source_name, host, met_run_id, met_machine, max(chip_count) as seen_chips
    from (
        select
            usage_month, usage_day, source_name, host, met_run_id, met_machine, is_measured, sample_to_us,
            count(distinct device_index) as chip_count
        from samples_with_run
        where not is_document and met_run_id is not null and not is_met_in_month
        group by all
    ) as chips
    group by all
),

counted_samples as (
    select
        usage_month,
        usage_day,
        source_name,
        host,
        run_key,
        accelerator_type,
        device_count,
        region_id,
        is_document,
        is_met_in_month,
        case when not is_met_in_month then met_run_id end as met_run_id,
        case when not is_met_in_month then met_machine end as met_machine,
        case when is_met_in_month then is_measured end as is_measured,
        case when is_met_in_month and not is_document then device_index end as device_index,
        case when is_met_in_month then sample_from_us end as sample_from_us,
        case when is_met_in_month then sample_to_us end as sample_to_us,
        cast(sum(sample_count) as bigint) as sample_count,
        {%- for name, condition in [('measured_us', 'is_measured'), ('present_us', 'not is_measured')] %}
        cast(sum(case
            when {{ condition }}
                then cast(coalesce(
                    observed_us, greatest(part_to_us - greatest(part_from_us, reached_us), 0)
                ) as decimal(38, 0))
            else 0
        end) as decimal(38, 0)) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from samples_with_run
    group by all
)

select
    {%- for name in series.split(', ') %}
    counted_samples.{{ name }},
    {%- endfor %}
    counted_samples.source_name,
    counted_samples.accelerator_type,
    counted_samples.device_count,
    counted_samples.region_id,
    counted_samples.is_document,
    counted_samples.is_met_in_month,
    counted_samples.met_run_id,
    counted_samples.met_machine,
    counted_samples.is_measured,
    counted_samples.device_index,
    counted_samples.sample_from_us,
    counted_samples.sample_to_us,
    chips.seen_chips,
    counted_samples.sample_count,
    counted_samples.measured_us,
    counted_samples.present_us
from counted_samples
left join chips_at_one_time as chips
    on
        counted_samples.usage_month = chips.usage_month
        and counted_samples.usage_day = chips.usage_day
        and counted_samples.source_name = chips.source_name
        and counted_samples.host = chips.host
        and counted_samples.met_run_id = chips.met_run_id
        and counted_samples.met_machine = chips.met_machine
