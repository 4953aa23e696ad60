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
