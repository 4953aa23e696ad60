{# Phrases that several pages of reports share. Pages are asked of the published file, so they run on DuckDB alone. #}

{# A sum that is null when any part is null: half a total is not a total. `parts` counts the parts there should be. #}
{% macro whole(column, parts='count(*)') -%}
    case when {{ parts }} = count({{ column }}) then sum({{ column }}) end
{%- endmacro %}

{# One exact sum over another, null where the other is zero: nine significant digits, so that no order of addition shows. #}
{% macro exact_ratio(part, of_whole) -%}
    cast(printf('%.8e', cast({{ part }} as double) / nullif(cast({{ of_whole }} as double), 0)) as double)
{%- endmacro %}

{# What somebody may ask of a page: reports write their own value between the two comments, where the view has the other one. #}
{% macro argument(name, otherwise) -%}
    /* {{ name }} */ {{ otherwise }} /* end of {{ name }} */
{%- endmacro %}

{# Each row of a quarter with that quarter: a join of rows that have a month. #}
{% macro of_quarters(months='usage_month') -%}
    inner join {{ ref('report_quarters') }} as quarters
        on {{ months }} >= quarters.quarter_start and {{ months }} < quarters.quarter_end
{%- endmacro %}

{# Of the two windows that end together, the quarter or the four quarters; of dates that somebody asks for there is one. #}
{% macro span_of_window() -%}
    case when window_start = max(window_start) over (partition by window_end) then 'quarter' else 'four quarters' end
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
