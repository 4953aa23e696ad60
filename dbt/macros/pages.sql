{# Phrases that several pages of reports share. Pages are asked of the published file, so they run on DuckDB alone. #}

{# A sum that is null when any part is null: half a total is not a total. `parts` counts the parts there should be. #}
{% macro whole(column, parts='count(*)') -%}
    case when {{ parts }} = count({{ column }}) then sum({{ column }}) end
{%- endmacro %}

{# One exact sum over another, null where the other is zero: nine significant digits, so that no order of addition shows. #}
{% macro exact_ratio(part, of_whole) -%}
    cast(printf('%.8e', cast({{ part }} as double) / nullif(cast({{ of_whole }} as double), 0)) as double)
{%- endmacro %}

{# Each row of a quarter with that quarter: a join of rows that have a month. #}
{% macro of_quarters(months='usage_month') -%}
    inner join {{ ref('report_quarters') }} as quarters
        on {{ months }} >= quarters.quarter_start and {{ months }} < quarters.quarter_end
{%- endmacro %}

{# The figures of the comparison in reading order, and what a page calls them. #}
{% macro kpi_names() -%}
    {{ return({
        'cost_per_run_to_target': 'Cost per run to target',
        'cost_per_run_of_fixed_work': 'Cost per run of fixed work',
        'cost_per_million_tokens': 'Cost per 1M useful tokens',
        'cost_per_exaflop': 'Cost per useful EFLOP',
        'energy_kwh_per_million_tokens': 'Energy per 1M useful tokens',
        'location_based_gco2e_per_million_tokens': 'Location-based per 1M useful tokens',
        'market_based_gco2e_per_million_tokens': 'Market-based per 1M useful tokens',
        'sci_gco2e_per_million_tokens': 'SCI, operational, per 1M useful tokens',
        'mfu_ratio': 'Model FLOP utilisation',
        'held_time_utilisation_ratio': 'Utilisation of held time',
        'goodput_ratio': 'Goodput',
    }) }}
{%- endmacro %}

{% macro kpi_in_words(kpi='kpi') -%}
    case {{ kpi }}{% for name, words in kpi_names().items() %} when '{{ name }}' then '{{ words }}'{% endfor %} end
{%- endmacro %}

{% macro kpi_position(kpi='kpi') -%}
    list_position({{ kpi_names().keys() | list }}, {{ kpi }})
{%- endmacro %}

{# What a run promised to reach: the figures of which a workload has one verdict. #}
{% macro primary_kpis() -%}
    ('cost_per_run_to_target', 'cost_per_run_of_fixed_work')
{%- endmacro %}

{# Of calibrated_run_months the windows in words: "412 windows of 6 workloads on 4 hosts, 2026-03-02 to 2026-08-30, within 17.4 %". #}
{% macro windows_in_words() -%}
    max(window_count) || ' windows of ' || max(workload_count) || ' workloads on ' || max(host_count) || ' hosts, '
    || strftime(min(first_measured_at), '%Y-%m-%d') || ' to ' || strftime(max(last_measured_at), '%Y-%m-%d')
    || ', within ' || printf('%.1f', 100 * max(spread_w / busy_w)) || ' %'
{%- endmacro %}

{# Of the chip-hours that were held those with telemetry, by the column that has their share. #}
{% macro covered_chip_hours(coverage_ratio) -%}
    sum(cast({{ coverage_ratio }} as decimal(10, 9)) * cast(reserved_chip_hours as decimal(20, 9)))
{%- endmacro %}

{# Of energy_run_months: how many runs, how many months held chips and have no figure, how many held none. #}
{% macro run_month_counts() -%}
    count(distinct training_run_id) as run_count,
    count(*) filter (where holds_chips) - count(facility_energy_kwh) as unknown_run_months,
    count(*) filter (where not holds_chips) as unrecorded_run_months
{%- endmacro %}

{# Of energy_run_months whole sums under their own names: null where a month that held chips has no figure. `bounded` have a low and a high. #}
{% macro energy_sums(bounded, others=[]) -%}
    {%- for name in bounded -%}
        {{ energy_sums([], [name, name ~ '_low', name ~ '_high']) }}{{ ', ' if others or not loop.last }}
    {%- endfor -%}
    {%- for name in others -%}
        {{ whole(name, 'count(*) filter (where holds_chips)') }} as {{ name }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}

{# Facility energy of runs by one attribute and platform, the quarter before beside it. #}
{% macro energy_by(attribute) -%}
with of_quarter_before as (
    select
        quarters.quarter, {{ attribute }}, accelerator_family,
        {{ energy_sums([], ['facility_energy_kwh']) }}
    from {{ ref('energy_run_months') }}
    inner join {{ ref('report_quarters') }} as quarters on usage_month >= quarters.prior_start and usage_month < quarters.quarter_start
    group by all
),

of_quarter as (
    select
        quarter, {{ attribute }}, accelerator_family,
        {{ run_month_counts() }},
        {{ energy_sums(['facility_energy_kwh'], ['idle_share_facility_energy_kwh']) }}
    from {{ ref('energy_run_months') }}
    {{ of_quarters() }}
    group by all
)

select of_quarter.*, of_quarter_before.facility_energy_kwh as prior_facility_energy_kwh
from of_quarter
left join of_quarter_before
    on of_quarter.quarter = of_quarter_before.quarter and of_quarter.accelerator_family = of_quarter_before.accelerator_family
    and of_quarter.{{ attribute }} is not distinct from of_quarter_before.{{ attribute }}
{%- endmacro %}

{# How work ended, in reading order. #}
{% macro outcome_position(outcome='outcome') -%}
    coalesce(list_position([
        'succeeded', 'running', 'stopped', 'failed', 'interrupted', 'unknown', 'idle reserve', 'idle', 'unused commitment',
        'named by no record', 'no records kept'
    ], {{ outcome }}), 6)
{%- endmacro %}

{# The name of an account, where the bills carry one. #}
{% macro account_names(account, name) -%}
    left join (select provider_name, account_id as {{ account }}, account_name as {{ name }} from {{ ref('dim_accounts') }}) as {{ name }}s
        using (provider_name, {{ account }})
{%- endmacro %}

{# The build that a publication holds: the last one begun. #}
{% macro this_build() -%}
    (select build_id from {{ source('ops', 'builds') }} order by started_at desc, build_id desc limit 1)
{%- endmacro %}

{# Cells of the reconciliation in which the sums of the provider and of the model are both known, and how many are not. #}
{% macro modelled_beside_provider_sums() -%}
    {%- set provider = 'sum(runs_total) filter (where modelled_total is not null)' -%}
    {%- set modelled = 'sum(modelled_total) filter (where runs_total is not null)' -%}
    count(*) as cell_count,
    count(*) filter (where runs_total is null or modelled_total is null) as one_sided_cells,
    {{ provider }} as provider_kgco2e,
    {{ modelled }} as modelled_kgco2e,
    {{ exact_ratio(modelled, provider) }} as ratio
{%- endmacro %}
