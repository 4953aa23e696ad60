{%- set boundaries = ['chip', 'chip_host', 'it', 'facility'] %}
{%- set ends = ['', '_low', '_high'] %}
{#- what a datapoint may take: the column of cloud_masses or of energies it is made of, and the gap that makes it unknown -#}
{%- set masses = {
    'cloud_total_location_based': 'total_location_based',
    'cloud_total_market_based': 'total_market_based',
    'cloud_scope_1': 'scope_1',
    'cloud_scope_2_location_based': 'scope_2_location_based',
    'cloud_scope_2_market_based': 'scope_2_market_based',
    'cloud_scope_3_location_based': 'scope_3_location_based',
    'cloud_scope_3_market_based': 'scope_3_market_based',
    'runs_total_location_based': 'runs_total_location_based',
    'runs_total_market_based': 'runs_total_market_based',
} %}
{%- set energies = {
    'energy_chip': 'chip',
    'energy_chip_host': 'chip_host',
    'energy_it': 'it',
    'energy_facility': 'facility',
    'energy_facility_low': 'facility_low',
    'energy_facility_high': 'facility_high',
} %}

with quarters as (
    select {{ quarter_of('window_start') }} as quarter, window_start, window_end
    from {{ ref('int_report_windows') }}
    where window_end = cast(window_start + interval 3 month as date)
),

quarter_months as (
    {%- for month in range(3) %}
    select quarter, cast(window_start + interval {{ month }} month as date) as usage_month from quarters
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

balances as (
    select
        source_name, provider_name, payer_account_id, usage_month, provider_model_version, measure, provider_total,
        quarantined_total
    from {{ ref('fct_reconciliation') }}
    where method = 'conservation'
),

-- a payer of the quarter before is expected in this one too
payers as (
    select {{ quarter_of('usage_month') }} as quarter, provider_name, payer_account_id
    from balances

    union

    select {{ quarter_of('cast(usage_month + interval 3 month as date)') }} as quarter, provider_name, payer_account_id
    from balances
),

bills as (
    select distinct provider_name, payer_account_id, usage_month
    from balances
    where measure = 'billed_cost'
),

carbon_months as (
    select provider_name, payer_account_id, usage_month
    from balances
    where measure like 'provider_%' and provider_total is not null

    union

    -- published, and without a row of the run's account: no emissions is an answer
    select cells.provider_name, cells.payer_account_id, cells.usage_month
    from {{ ref('fct_run_cell_costs') }} as cells
    inner join {{ ref('fct_training_run_emissions') }} as emissions using (training_run_id, usage_month, provider_name)
    where emissions.status = 'no_cell'
),

presence as (
    select
        payers.quarter,
        payers.provider_name || ' payer ' || payers.payer_account_id || ' for '
        || substr(cast(quarter_months.usage_month as string), 1, 7) as payer_month,
        bills.usage_month is not null as has_bill,
        carbon_months.usage_month is not null as has_carbon
    from payers
    inner join quarter_months using (quarter)
    left join bills using (provider_name, payer_account_id, usage_month)
    left join carbon_months using (provider_name, payer_account_id, usage_month)
),

gaps as (
    select
        quarter,
        count(*) - count(case when has_bill then 1 end) as missing_bill_count,
        count(*) - count(case when has_carbon then 1 end) as missing_carbon_count,
        {{ in_one_text('case when not has_bill then payer_month end') }} as missing_bills,
        {{ in_one_text('case when not has_carbon then payer_month end') }} as missing_carbon
    from presence
    group by quarter
),

parts as (
    {%- for table, is_run in {'fct_run_cell_emissions': 'true', 'fct_residual_emissions': 'false'}.items() %}
    select
        {{ quarter_of('usage_month') }} as quarter, {{ is_run }} as is_run,
        source_name, payer_account_id, usage_month, provider_model_version,
        provider_total_location_based_kgco2e as total_location_based,
        provider_total_market_based_kgco2e as total_market_based,
        provider_scope_1_kgco2e as scope_1,
        provider_scope_2_location_based_kgco2e as scope_2_location_based,
        provider_scope_2_market_based_kgco2e as scope_2_market_based,
        coalesce(provider_scope_3_location_based_kgco2e, provider_scope_3_unsplit_kgco2e) as scope_3_location_based,
        coalesce(provider_scope_3_market_based_kgco2e, provider_scope_3_unsplit_kgco2e) as scope_3_market_based
    from {{ ref(table) }}
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

cloud_masses as (
    select
        quarter
        {%- for mass in masses.values() if not mass.startswith('runs_') %},
        {{ whole_sum(mass, 'decimal(38, 9)') }} as {{ mass }}
        {%- endfor %}
        {%- for way in ['location', 'market'] %},
        case
            when count(*) = count(total_{{ way }}_based)
                then cast(sum(case when is_run then total_{{ way }}_based else 0 end) as decimal(38, 9))
        end as runs_total_{{ way }}_based
        {%- endfor %}
    from parts
    group by quarter
),

book_versions as (
    select distinct quarter, source_name, payer_account_id, usage_month, provider_model_version
    from parts
),

quarantined as (
    select distinct book_versions.quarter, 1 as has_quarantined
    from balances
    inner join book_versions using (source_name, payer_account_id, usage_month, provider_model_version)
    where balances.quarantined_total <> 0
),

run_months as (
    select
        {{ quarter_of('energy.usage_month') }} as quarter, energy.training_run_id, energy.reserved_chip_hours,
        runs.started_at, runs.ended_at, runs.attempt_count
        {%- for boundary in boundaries %}{% for end in ends %},
        energy.{{ boundary }}_energy_kwh{{ end }}
        {%- endfor %}{% endfor %}
    from {{ ref('fct_training_run_energy') }} as energy
    inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
    where {{ holds_chips('runs', 'energy') }}
),

energies as (
    select
        quarter,
        count(*) as month_count,
        count(facility_energy_kwh) as known_month_count,
        {{ whole_sum('reserved_chip_hours', 'decimal(38, 9)') }} as chip_hours
        {%- for boundary in boundaries %}{% for end in ends %},
        {{ whole_sum(boundary ~ '_energy_kwh' ~ end, 'decimal(38, 9)') }} as {{ boundary }}{{ end }}
        {%- endfor %}{% endfor %}
    from run_months
    group by quarter
),

run_spans as (
    select distinct
        quarters.quarter,
        run_months.training_run_id,
        run_months.started_at is null or run_months.ended_at is null as is_open,
        greatest(run_months.started_at, cast(quarters.window_start as timestamp)) as span_from,
        least(run_months.ended_at, cast(quarters.window_end as timestamp)) as span_to
    from run_months
    inner join quarters using (quarter)
    -- a tag does not state when its run began
    where run_months.attempt_count > 0
),

-- runs go on at the same time: an hour in which two of them went on is one hour
reached as (
    select
        quarter, is_open, span_from, span_to,
        max(span_to) over (
            partition by quarter order by span_from, span_to, training_run_id rows between unbounded preceding and 1 preceding
        ) as reached_to
    from run_spans
),

times as (
    select
        quarter,
        case
            when not bool_or(is_open)
                then cast(sum(greatest(
                    {{ microseconds('greatest(span_from, coalesce(reached_to, span_from))', 'span_to') }},
                    cast(0 as decimal(38, 0))
                )) as decimal(38, 0))
        end as training_us
    from reached
    group by quarter
),

flops as (
    select
        {{ quarter_of('cast(ended_at as date)') }} as quarter,
        count(*) as run_count,
        {{ whole_sum(whole_number('model_flops'), 'decimal(38, 0)') }} as model_flops
    from {{ ref('dim_training_runs') }}
    where attempt_count > 0 and ended_at is not null
    group by {{ quarter_of('cast(ended_at as date)') }}
),

known as (
    select
        quarters.quarter,
        coalesce(gaps.missing_bill_count + gaps.missing_carbon_count, 1) as gap_count,
        case
            when gaps.quarter is null then 'no payer has a bill or a carbon publication'
            when gaps.missing_bill_count > 0 then 'no bill of ' || gaps.missing_bills
            when gaps.missing_carbon_count > 0 then 'no carbon publication of ' || gaps.missing_carbon
            when quarantined.has_quarantined = 1 then 'rows of a carbon publication are quarantined'
        end as carbon_gap,
        case when gaps.missing_bill_count > 0 then 'no bill of ' || gaps.missing_bills end as bill_gap,
        case
            when energies.quarter is null then 'no run held chips'
            when energies.known_month_count < energies.month_count
                then cast(energies.month_count - energies.known_month_count as string) || ' of '
                    || cast(energies.month_count as string) || ' run-months have no energy figure'
            else 'no figure at this boundary for a run-month'
        end as energy_gap,
        case when flops.quarter is null then 'no run ended' else 'a run that ended states no operations' end as compute_gap,
        energies.chip_hours, times.training_us, flops.model_flops
        {%- for column in masses.values() %},
        cloud_masses.{{ column }}
        {%- endfor %}
        {%- for column in energies.values() %},
        energies.{{ column }}
        {%- endfor %}
    from quarters
    left join gaps using (quarter)
    left join quarantined using (quarter)
    left join cloud_masses using (quarter)
    left join energies using (quarter)
    left join times using (quarter)
    left join flops using (quarter)
),

-- every quarter times every datapoint, some hundred; `gap` comes before a value, `otherwise` is where there is none
figures as (
    select
        known.quarter,
        known.gap_count,
        datapoints.framework,
        datapoints.datapoint_id,
        datapoints.datapoint,
        datapoints.unit,
        datapoints.method,
        datapoints.not_available_reason,
        case datapoints.measure
            {%- for measure, column in (masses.items() | list) + (energies.items() | list) %}
            when '{{ measure }}' then {{ thousandth('known.' ~ column) }}
            {%- endfor %}
            when 'primary_data_share' then case when known.total_location_based <> 0 then cast(100 as decimal(38, 12)) end
            when 'chip_days' then {{ from_units(int_div(
                'cast(' ~ to_units('known.chip_hours', 9) ~ ' * 1000 as decimal(38, 0))', 'cast(24 as decimal(38, 0))'
            ), 12) }}
            when 'training_days' then {{ from_units(int_div(
                'cast(known.training_us * 10000 as decimal(38, 0))', 'cast(864 as decimal(38, 0))'
            ), 12) }}
            when 'compute' then {{ from_units(int_div('known.model_flops', 'cast(1000000 as decimal(38, 0))'), 12) }}
        end as value,
        case
            when datapoints.measure = 'compute' then null
            when datapoints.measure in ('training_days', 'chip_days') or datapoints.measure like 'energy_%' then known.bill_gap
            else known.carbon_gap
        end as gap,
        case
            when datapoints.measure = 'compute' then known.compute_gap
            when datapoints.measure = 'training_days' then 'a run has no start or no end on record'
            when datapoints.measure = 'chip_days' then 'the chips of a run-month are not known'
            when datapoints.measure like 'energy_%' then known.energy_gap
            when datapoints.measure = 'primary_data_share' then 'no provider tonnes'
            else 'the provider left values out'
        end as otherwise
    from known
    cross join {{ ref('dim_datapoints') }} as datapoints
)

select
    quarter,
    framework,
    datapoint_id,
    datapoint,
    case when gap is null then value end as value,
    unit,
    method,
    case when gap_count > 0 then 'draft' else 'preliminary' end as report_status,
    case
        when not_available_reason is not null then not_available_reason
        when gap is not null then gap
        when value is null then otherwise
    end as not_available_reason
from figures
