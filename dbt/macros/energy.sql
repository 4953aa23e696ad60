{# Units and formulas of the energy models. Time is whole microseconds, utilisation whole parts per million, power whole microwatts: every sum is exact. #}

{# Two samples of a device this close together leave no gap: collectors stamp arrival, and no monitor here samples more than once a second. #}
{% macro telemetry_gap_us() -%}500000{%- endmacro %}

{# A ratio of 0 to 1 as parts per million. What is outside (NaN too) is unknown; a little above 1 is rounding of the source. #}
{% macro parts_per_million(x) -%}
case when {{ x }} >= 0 and {{ x }} < 1.0000005 then least(cast(floor({{ x }} * 1e6 + 5e-1) as bigint), 1000000) end
{%- endmacro %}

{# Watts as whole microwatts; what no meter reads (below 0, NaN, 100 MW) is unknown. #}
{% macro microwatts(x) -%}
case when {{ x }} >= 0 and {{ x }} < 1e8 then cast(floor({{ x }} * 1e6 + 5e-1) as bigint) end
{%- endmacro %}

{# Several samples of one device and time as one: the greatest measured use; unknown where measuring failed; idle where none measured and it was alive. #}
{% macro use_together() -%}
case
            when bool_or(is_measured and utilisation_ppm is not null) then max(case when is_measured then utilisation_ppm end)
            when not bool_or(is_measured) then max(utilisation_ppm)
        end
{%- endmacro %}

{# Whether a row of a device states its power and not its use: no sign of life by the rules of duty cycles. #}
{% macro is_power_alone() -%}
(utilisation_ppm is null and coalesce(power_uw, driver_ppm) is not null)
{%- endmacro %}

{# Of several readings of one device and time the greatest figure, and the greatest of their low and of their high ends: each sees the device or a part. #}
{% macro greatest_readings() -%}
{%- for column in ['power_uw', 'power_low_uw', 'power_high_uw', 'driver_ppm', 'driver_low_ppm', 'driver_high_ppm'] -%}
max({{ column }}) as {{ column }}{{ ',\n    ' if not loop.last }}
{%- endfor -%}
{%- endmacro %}

{# A chip at one instant: watts stand before the driver's share of full power; the use of the same instant is kept beside them. #}
{% macro power_of_chip(what) -%}
{{ {
    'metered_chips': 'case when power_uw is not null then 1 else 0 end',
    'metered_uw': 'coalesce(power_uw, 0)',
    'metered_low_uw': 'coalesce(power_low_uw, 0)',
    'metered_high_uw': 'coalesce(power_high_uw, 0)',
    'driven_chips': 'case when power_uw is null and driver_ppm is not null then 1 else 0 end',
    'driven_ppm': 'case when power_uw is null then coalesce(driver_ppm, 0) else 0 end',
    'driven_low_ppm': 'case when power_uw is null then coalesce(driver_low_ppm, 0) else 0 end',
    'driven_high_ppm': 'case when power_uw is null then coalesce(driver_high_ppm, 0) else 0 end',
    'power_alone_chips': 'case when utilisation_ppm is null and coalesce(power_uw, driver_ppm) is not null then 1 else 0 end',
    'powered_ppm': 'case when coalesce(power_uw, driver_ppm) is not null then coalesce(utilisation_ppm, 0) else 0 end',
}[what] }}
{%- endmacro %}

{# A reading's figure at the level of a row: as read, or by its error and sampling less or more. #}
{% macro read_at_level(what, unit, level) -%}
case {{ level }} when 'low' then {{ what }}_low_{{ unit }} when 'high' then {{ what }}_high_{{ unit }} else {{ what }}_{{ unit }} end
{%- endmacro %}

{# Whole units less, or more, a share of them in parts per million, rounded outwards. #}
{% macro less_share(x, ppm) -%}
cast({{ int_div('cast(cast(' ~ x ~ ' as decimal(19, 0)) * cast(1000000 - ' ~ ppm ~ ' as decimal(8, 0)) as decimal(38, 0))', 'cast(1000000 as decimal(38, 0))') }} as bigint)
{%- endmacro %}
{% macro more_share(x, ppm) -%}
cast({{ cut_up('cast(cast(' ~ x ~ ' as decimal(19, 0)) * cast(1000000 + ' ~ ppm ~ ' as decimal(8, 0)) as decimal(38, 0))', 'cast(1000000 as decimal(38, 0))') }} as bigint)
{%- endmacro %}

{# Energy of chips and hosts where no reading of the whole node takes its place, and where one does. #}
{% macro beside_node(x) -%}
case when is_node_metered then 0 else {{ x }} end
{%- endmacro %}
{% macro of_node(x) -%}
case when is_node_metered then {{ x }} else 0 end
{%- endmacro %}

{# The bounds of months, in microseconds. #}
{# The day, UTC, of an instant in microseconds since 1970. #}
{% macro day_of(us) -%}
cast({{ timestamp_of(us) }} as date)
{%- endmacro %}

{# Of the days of a month with their bounds, `usage_day`, `day_from_us` and `day_to_us`, in microseconds since 1970. #}
{% macro day_bounds() -%}
usage_day,
    {{ instant_us('cast(usage_day as timestamp)') }} as day_from_us,
    {{ instant_us('cast(usage_day as timestamp) + interval 1 day') }} as day_to_us
{%- endmacro %}

{# The day of a row of a month, of the CTE `months`: the day in which it ends; of what only reaches into the month, its first or its last. #}
{% macro day_of_month(ends_us) -%}
{{ day_of('least(greatest(' ~ ends_us ~ ' - 1, months.month_from_us), months.month_to_us - 1)') }}
{%- endmacro %}

{# The columns that samples of all kinds of power have, whatever else one of them states. #}
{% macro power_sample_columns() -%}
{{ return([
    'source_name', 'source_object', 'row_number', 'run_key', 'host_id', 'device_index', 'device_count', 'accelerator_type', 'region_id',
    'sample_from_us', 'sample_to_us', 'is_measured', 'utilisation_ppm', 'component', 'boundary', 'power_uw', 'driver_ppm', 'meter',
    'sdk_version', 'is_sampled',
]) }}
{%- endmacro %}

{# Whether a month (of `months`) has a reading (of `delivered`): what it covers lies in it, or within the half second that is no gap. The points of
   the two days before show how long its first ones were silent; a month does not change when points of the next one come. #}
{% macro is_power_of_month() -%}
delivered.sample_to_us > months.month_from_us - 172800000000
        and coalesce(delivered.sample_from_us, delivered.sample_to_us - 1) < months.month_to_us + {{ telemetry_gap_us() }}
        and (delivered.sample_from_us is not null or delivered.sample_to_us <= months.month_to_us)
{%- endmacro %}

{% macro month_bounds() -%}
select
    usage_month,
    {{ instant_us('cast(usage_month as timestamp)') }} as month_from_us,
    {{ instant_us('cast(usage_month as timestamp) + interval 1 month') }} as month_to_us
{%- endmacro %}

{# A share in whole units. Up, not down: 3/7 and 4/7 of 1.8e-3 J are half a unit of 1e-9 kWh together, which two parts cut down would miss. #}
{% macro cut_up(a, b) -%}
{{ int_div('cast(' ~ a ~ ' + ' ~ b ~ ' - 1 as decimal(38, 0))', b) }}
{%- endmacro %}

{# The same of a * n / b, without the product: b may be the chips of a thousand machines. #}
{% macro share_cut_up(a, n, b) -%}
cast(cast({{ int_div(a, b) }} * {{ n }} as decimal(38,0)) + {{ cut_up('cast((' ~ a ~ ' % ' ~ b ~ ') * ' ~ n ~ ' as decimal(38,0))', b) }} as decimal(38,0))
{%- endmacro %}

{# Whole units of 1e-12 J times 10^k become kWh at nine decimals: half up, once. #}
{% macro kwh(e, k=0) -%}
{{ from_units(int_div('cast(2 * (' ~ e ~ ') + 36' ~ '0' * (8 + k) ~ ' as decimal(38,0))', 'cast(72' ~ '0' * (8 + k) ~ ' as decimal(38,0))'), 9) }}
{%- endmacro %}

{# The same of energy e times a whole-number factor, without the product, which energies of some 4e9 kWh have no room for in 38 digits: whole
   nine-decimal kWh of e (`part` '//') and what is left of it ('%') are multiplied apart, may be added up apart, and are rounded together. #}
{% macro kwh_part(e, part, factor, k) -%}
{%- set unit = 'cast(36' ~ '0' * (8 + k) ~ ' as decimal(38,0))' -%}
cast({{ int_div(e, unit) if part == '//' else '(' ~ e ~ ' % ' ~ unit ~ ')' }} * {{ factor }} as decimal(38,0))
{%- endmacro %}
{% macro kwh_of_parts(whole, rest, k) -%}
{{ from_units('cast(' ~ whole ~ ' + ' ~ int_div(
    'cast(2 * (' ~ rest ~ ') + 36' ~ '0' * (8 + k) ~ ' as decimal(38,0))', 'cast(72' ~ '0' * (8 + k) ~ ' as decimal(38,0))'
) ~ ' as decimal(38,0))', 9) }}
{%- endmacro %}

{# Whole units of 1e-12 as a decimal of twelve places, however many there are. #}
{% macro from_trillionths(x) -%}
{%- set trillion = 'cast(1000000000000 as decimal(38,0))' -%}
cast(cast({{ int_div(x, trillion) }} as decimal(25,0)) + cast({{ from_units('(' ~ x ~ ') % ' ~ trillion, 12) }} as decimal(13,12)) as decimal(38,12))
{%- endmacro %}

{# Whole units of 1e-12 s become hours at nine decimals, half up. #}
{% macro hours(ps) -%}
{{ from_units(int_div('cast(' ~ ps ~ ' + 1800000 as decimal(38,0))', 'cast(3600000 as decimal(38,0))'), 9) }}
{%- endmacro %}

{# Whether the id of a record is the name of the workload that its alias names, with or without its cluster. #}
{% macro is_own_workload(records) -%}
{{ records }}.record_system in ('kubernetes', 'hyperpod') and {{ records }}.is_numbered
{%- endmacro %}

{# A run id from a key or label: the run itself, a record that merged into it, or a name another system gave it, in this order. Names are cut
   at 63 characters, where two long ones may be alike: what could be two runs is none. #}
{% macro run_keys() -%}
select run_key, min(training_run_id) as training_run_id
    from (
        select *, min(name_rank) over (partition by run_key) as least_rank
        from (
            select training_run_id as run_key, training_run_id, 1 as name_rank from {{ ref('int_run_records') }} where not is_ambiguous
            union all
            select record_run_id as run_key, training_run_id, 2 as name_rank from {{ ref('int_run_records') }} where not is_ambiguous
            union all
            select {{ normalised_run_id('aliases.alias_id') }} as run_key, records.training_run_id, 3 as name_rank
            from {{ ref('stg_training_runs__aliases') }} as aliases
            inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
            where
                not records.is_ambiguous
                and (aliases.alias_system <> 'slurm' or aliases.alias_id like '%/%' or records.has_one_cluster)
                and (aliases.alias_system <> 'kubernetes' or aliases.alias_id like '%/%/%' or records.has_one_workload_cluster)
            union all
            select {{ normalised_run_id(replace_all('aliases.alias_id', '^.*/', '')) }} as run_key, records.training_run_id, 3 as name_rank
            from {{ ref('stg_training_runs__aliases') }} as aliases
            inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
            where
                not records.is_ambiguous
                and (
                    (aliases.alias_system = 'slurm' and records.has_one_cluster)
                    or (aliases.alias_system = 'kubernetes' and records.has_one_workload_cluster and {{ is_own_workload('records') }})
                )
        ) as names
    ) as ranked_names
    where name_rank = least_rank
    group by all
    having count(distinct training_run_id) = 1
{%- endmacro %}

{# The same by month: a name counts as a run's in the months in which that run held something. A run that only a tag makes has its own id,
   unless a record gives that name to another run. #}
{% macro run_keys_of_month() -%}
select distinct holdings.usage_month, coalesce(run_keys.run_key, holdings.training_run_id) as run_key, holdings.training_run_id
    from {{ ref('int_machine_holdings') }} as holdings
    left join ({{ run_keys() }}) as run_keys on holdings.training_run_id = run_keys.training_run_id
    left join ({{ run_keys() }}) as given_names on holdings.training_run_id = given_names.run_key
    where not holdings.is_ambiguous and (run_keys.run_key is not null or given_names.run_key is null)
{%- endmacro %}

{# The times in which a run holds a machine, of CTE `months`, for matches with samples: half a second more at either end is no gap. #}
{% macro match_holdings() -%}
select distinct
        holdings.usage_month,
        holdings.training_run_id,
        coalesce({{ machine_name('holdings.resource_id') }}, '') as machine_name,
        {{ instant_us('holdings.held_from') }} - {{ telemetry_gap_us() }} as held_from_us,
        coalesce({{ instant_us('holdings.held_to') }}, months.month_to_us) + {{ telemetry_gap_us() }} as held_to_us
    from {{ ref('int_machine_holdings') }} as holdings
    inner join months using (usage_month)
    where not holdings.is_ambiguous
{%- endmacro %}

{# Whether a series of samples, by its `machine_name` and `keyed_run_id`, meets one of these `holdings`: of its machine, where its key names no other
   run; of its run, where no sample names the machine (machines of a managed job have no names in its record), or the series itself names
   none (the log of a job names its run alone). #}
{% macro meets_by_machine(series) -%}
coalesce({{ series }}.keyed_run_id = holdings.training_run_id, {{ series }}.machine_name <> '')
{%- endmacro %}
{% macro meets_by_key(series) -%}
(not holdings.is_seen or {{ series }}.machine_name = '')
{%- endmacro %}

{# Rows beside the buckets of time they touch. A bucket is as long as the longest row, so a row lies in two at most, and a slice meets only
   the rows of the bucket in which it begins. #}
{% macro bucketed(rows, starts, ends) -%}
select *, {{ bucket_of(starts) }} as bucket from {{ rows }}
    union all
    select *, {{ bucket_of('(' ~ ends ~ ' - 1)') }} as bucket from {{ rows }}
    where {{ bucket_of('(' ~ ends ~ ' - 1)') }} > {{ bucket_of(starts) }}
{%- endmacro %}
{% macro bucket_of(instant) -%}{{ instant }} - {{ instant }} % bucket_us{%- endmacro %}

{# The machine of a device: its id without the number of the chip. #}
{% macro host_of_device(x='device_id') -%}
{{ replace_all(x, '[|][0-9]+$', '') }}
{%- endmacro %}

{# Samples of a telemetry kind: one row per device and sample, times in microseconds, use in parts per million. A kind of power has further
   columns: watts as whole microwatts, a driver's share of full power in parts per million. `also` names columns that are taken as they are. #}
{% macro telemetry_samples(kind, has_power=false, also=[]) -%}
select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    document_hash,
    case when run_key <> '' then {{ normalised_run_id('run_key') }} end as run_key,
    nullif(host_id, '') as host_id,
    coalesce(device_index, 0) as device_index,
    device_count,
    accelerator_type,
    nullif(region_id, '') as region_id,
    case when sample_start < sample_end then {{ instant_us('sample_start') }} end as sample_from_us,
    {{ instant_us('sample_end') }} as sample_to_us,
    evidence = 'measured' as is_measured,
    case
        when is_idle_by_absence then cast(0 as bigint)
        else {{ parts_per_million('coalesce(utilisation_ratio, cast(utilisation_ratio__text as double))') }}
    end as utilisation_ppm
    {%- if has_power %},
    nullif(component, '') as component,
    boundary,
    {{ microwatts('coalesce(power_w, cast(power_w__text as double))') }} as power_uw,
    {{ parts_per_million('coalesce(power_ratio, cast(power_ratio__text as double))') }} as driver_ppm,
    meter,
    nullif(sdk_version, '') as sdk_version,
    is_sampled
    {%- endif %}
    {%- for column in also %},
    {{ column }}
    {%- endfor %}
from {{ source('raw', kind) }}
where sample_end is not null
{%- endmacro %}

{# A figure that has three bounds, columns `_low`, `_mid` and `_high`, at one of these levels or at that of each row, by its column. #}
{% macro at_level(x, level) -%}
{%- if level in ['low', 'mid', 'high'] -%}
{{ x }}_{{ level }}
{%- else -%}
case {{ level }} when 'low' then {{ x }}_low when 'high' then {{ x }}_high else {{ x }}_mid end
{%- endif -%}
{%- endmacro %}

{# Watts of a chip at one end and level: the organisation's own (alias `own`), which has no bounds, else those calibrated from measured windows
   (`calibrated`), else the catalogue's (`power`). Idle power is never above full power. Mean power by the written method
   (docs/methodology/energy.md) wherever an end is the organisation's own or the calibrated chips were metered only while they worked; a measured mean stays between the ends. #}
{% macro chip_power(end, level='mid') -%}
{%- if end == 'max' -%}
coalesce(
            cast(own.max_power_w as decimal(18, 3)), {{ at_level('calibrated.max_w', level) }},
            {{ at_level('power.chip_power_max_w', level) }}
        )
{%- elif end == 'idle' -%}
least(
            coalesce(
                cast(own.idle_power_w as decimal(18, 3)), {{ at_level('calibrated.idle_w', level) }},
                {{ at_level('power.chip_power_idle_w', level) }}
            ),
            {{ chip_power('max', level) }}
        )
{%- else -%}
case
            when coalesce(own.idle_power_w, own.max_power_w) is null and calibrated.max_w_mid is null then power.chip_power_mean_w
            when coalesce(own.idle_power_w, own.max_power_w) is null and calibrated.mean_w is not null
                then least(greatest(calibrated.mean_w, {{ chip_power('idle') }}), {{ chip_power('max') }})
            else cast(
                {{ chip_power('idle') }} + cast(0.784 as decimal(4, 3)) * ({{ chip_power('max') }} - {{ chip_power('idle') }})
                as decimal(18, 3)
            )
        end
{%- endif -%}
{%- endmacro %}

{# The software of each run, by the version of its SDK that the best of its records states; '' where none does. #}
{% macro run_software() -%}
select training_run_id, coalesce(min_by(sdk_version, precedence) filter (where sdk_version is not null), '') as sdk_version
    from {{ ref('int_run_records') }}
    group by all
{%- endmacro %}

{# kWh times a factor in whole units of 1e-k, half up at nine decimals. #}
{% macro scaled(kwh, factor, k) -%}
{{ from_units(int_div(
                'cast(2 * ' ~ to_units(kwh, 9) ~ ' * ' ~ factor ~ ' + 1' ~ '0' * k ~ ' as decimal(38, 0))',
                'cast(2' ~ '0' * k ~ ' as decimal(38, 0))'
            ), 9) }}
{%- endmacro %}

{# What the points of gauges cover, as the tables of a query from `points` and `months` on: covered_times has a row per point, from the spacing
   before it to itself, and whether the rest of a short silence may be filled with it. A host's usual spacing is used for that of a series
   seen once. #}
{% macro gauge_times(series, host) -%}
point_times as (
    select distinct {{ series }}, sample_to_us, sample_to_us - 1 - (sample_to_us - 1) % 86400000000 as day_us
    from points
),

points_with_spacing as (
    select *, lag(sample_to_us) over (partition by {{ series }} order by sample_to_us) as before_us
    from point_times
),

spacings_of_month as (
    select points_with_spacing.*, points_with_spacing.sample_to_us - points_with_spacing.before_us as spacing_us
    from points_with_spacing
    inner join months using (usage_month)
    where points_with_spacing.before_us is not null and points_with_spacing.sample_to_us > months.month_from_us
),

ranked_spacings as (
    select
        *,
        row_number() over (partition by {{ series }}, day_us order by spacing_us) as day_rank,
        count(*) over (partition by {{ series }}, day_us) as day_count,
        row_number() over (partition by {{ series }} order by spacing_us) as series_rank,
        count(*) over (partition by {{ series }}) as series_count,
        row_number() over (partition by {{ host }} order by spacing_us) as host_rank,
        count(*) over (partition by {{ host }}) as host_count
    from spacings_of_month
),

-- the lower median; of the day where it has three spacings, since old points are kept more coarsely than new ones
day_spacing as (
    select {{ series }}, day_us, spacing_us from ranked_spacings
    where day_count >= 3 and day_rank = (day_count + 1 - (day_count + 1) % 2) / 2
),

series_spacing as (
    select {{ series }}, spacing_us from ranked_spacings
    where series_rank = (series_count + 1 - (series_count + 1) % 2) / 2
),

host_spacing as (
    select {{ host }}, spacing_us from ranked_spacings
    where host_rank = (host_count + 1 - (host_count + 1) % 2) / 2
),

points_with_usual_spacing as (
    select
        points_with_spacing.*,
        -- a host seen once: Google writes a point a minute
        coalesce(day_spacing.spacing_us, series_spacing.spacing_us, host_spacing.spacing_us, 60000000) as usual_spacing_us
    from points_with_spacing
    left join day_spacing using ({{ series }}, day_us)
    left join series_spacing using ({{ series }})
    left join host_spacing using ({{ host }})
),

host_times as (
    select distinct {{ host }}, sample_to_us as seen_at_us from point_times
),

host_alive_during_silence as (
    select distinct {{ series }}, spaced.sample_to_us
    from points_with_usual_spacing as spaced
    inner join host_times using ({{ host }})
    where
        -- only in a silence does it matter whether the host was alive
        2 * (spaced.sample_to_us - spaced.before_us) > 3 * spaced.usual_spacing_us
        and host_times.seen_at_us > spaced.before_us
        and host_times.seen_at_us <= spaced.sample_to_us - spaced.usual_spacing_us
        -- nothing further back could be covered anyway
        and host_times.seen_at_us >= spaced.sample_to_us - 3 * spaced.usual_spacing_us
),

covered_times as (
    select
        {{ series }},
        sample_to_us,
        spaced.before_us,
        case
            -- the spacing before it; a longer silence is one spacing seen
            when 2 * (sample_to_us - spaced.before_us) <= 3 * spaced.usual_spacing_us then spaced.before_us
            else sample_to_us - spaced.usual_spacing_us
        end as sample_from_us,
        -- and up to three spacings the rest is filled
        coalesce(
            sample_to_us - spaced.before_us <= 3 * spaced.usual_spacing_us and alive.usage_month is null, false
        ) as is_bridged
    from points_with_usual_spacing as spaced
    left join host_alive_during_silence as alive using ({{ series }}, sample_to_us)
)
{%- endmacro %}

{# What a counter of energy shows between two looks, as tables of a query: counter_steps has a row per look with what it grew by since before_us.
   A counter counts in whole steps of its own, some of a tenth of a kWh: what it grows by is of the time since it last moved, where that is no
   longer ago than `patience_us`, and a look before that at which it did not move waits for it (is_awaited). #}
{% macro counter_steps(rows, series, counter, patience_us) -%}
{%- set in_time = 'partition by ' ~ series ~ ' order by sample_to_us' -%}
counter_looks as (
    select
        {{ series }},
        sample_to_us,
        lag(sample_to_us) over ({{ in_time }}) as look_before_us,
        {{ counter }} - lag({{ counter }}) over ({{ in_time }}) as grown
    from {{ rows }}
    where {{ counter }} is not null
),

counter_moves as (
    select
        *,
        max(case when coalesce(grown, 1) <> 0 then sample_to_us end) over (
            {{ in_time }} rows between unbounded preceding and 1 preceding
        ) as moved_before_us,
        min(case when grown > 0 then sample_to_us end) over (
            {{ in_time }} rows between 1 following and unbounded following
        ) as grows_at_us
    from counter_looks
),

counter_steps as (
    select
        {{ series }},
        sample_to_us,
        grown,
        case when grown > 0 and sample_to_us - moved_before_us <= {{ patience_us }} then moved_before_us else look_before_us end
            as before_us,
        coalesce(grown = 0 and grows_at_us - moved_before_us <= {{ patience_us }}, false) as is_awaited
    from counter_moves
)
{%- endmacro %}

{# From when a node's reading is compared with its chips (int_partial_meters): over its clock hour, or all of a longer reading. #}
{% macro asked_from(from_us, to_us) -%}
case when {{ to_us }} - {{ from_us }} > 3600000000 then {{ from_us }} else {{ to_us }} - 1 - ({{ to_us }} - 1) % 3600000000 end
{%- endmacro %}

{# The place of a reading as one text, in the order in which files are read, and its parts again. #}
{% macro reading_place(column, of='') -%}
{{ of }}source_name || chr(10) || {{ of }}source_object || chr(10) || lpad(cast({{ of }}row_number as string), 19, '0')
            || chr(10) || {{ column }}
{%- endmacro %}
{% macro part_of_place(place, part) -%}split_part({{ place }}, chr(10), {{ part }}){%- endmacro %}

{# Figures of power as people read them: watts of whole microwatts, whole watts of a mean, an instant to the second. #}
{% macro watts_in_text(uw) -%}cast(cast({{ from_units(uw, 6) }} as decimal(38, 3)) as string){%- endmacro %}
{% macro mean_watts(uw_us, time_us) -%}
cast({{ int_div('cast(' ~ uw_us ~ ' as decimal(38, 0))', 'cast(' ~ time_us ~ ' * 1000000 as decimal(38, 0))') }} as string) || ' W'
{%- endmacro %}
{% macro whole_second(us) -%}cast({{ timestamp_of(us ~ ' - ' ~ us ~ ' % 1000000') }} as string){%- endmacro %}

{# A figure that providers publish of their regions and fleets by year (seeds pue and wue), for each row of the CTE region_months: which of them
   would apply, by source_rank and then the latest year. A region's own goes before the fleet's, and what is over four years old after both;
   a year after the month's is not yet of this world. #}
{% macro published_of_regions(seed, figure) -%}
select
        region_months.usage_month,
        region_months.provider_name,
        region_months.region_id,
        seed.{{ figure }},
        seed.basis,
        seed.source || ', ' || cast(seed.data_year as string)
        || case when seed.region_id = '*' then ', fleet' else ', ' || region_months.region_id end
        || case when seed.confidence = 'assumed' then ', assumed' else '' end
        || case
            when extract(year from region_months.usage_month) - seed.data_year > 4
                then ', ' || cast(cast(extract(year from region_months.usage_month) as bigint) - seed.data_year as string) || ' years old'
            else ''
        end as figure_source,
        case when seed.region_id = '*' then 2 else 1 end
        + case when extract(year from region_months.usage_month) - seed.data_year > 4 then 2 else 0 end as source_rank,
        seed.data_year
    from region_months
    inner join {{ ref(seed) }} as seed using (provider_name)
    where
        seed.region_id in (region_months.region_id, '*')
        and seed.data_year <= cast(extract(year from region_months.usage_month) as bigint)
{%- endmacro %}

{# What a chip has of power, and the sum of it over time: where watts are known, where only the driver's share of full power is, and the use of the
   same chips and time. #}
{% macro sums_of_power() -%}
{{ return({
    'metered_chips': 'metered_us', 'metered_uw': 'metered_uw_us', 'metered_low_uw': 'metered_low_uw_us',
    'metered_high_uw': 'metered_high_uw_us', 'driven_chips': 'driven_us', 'driven_ppm': 'driven_ppm_us',
    'driven_low_ppm': 'driven_low_ppm_us', 'driven_high_ppm': 'driven_high_ppm_us', 'powered_ppm': 'powered_ppm_us',
    'power_alone_chips': 'power_alone_us',
}) }}
{%- endmacro %}
