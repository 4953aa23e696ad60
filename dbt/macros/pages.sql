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

{# The name of an account, where the bills carry one. #}
{% macro account_names(account, name) -%}
    left join (select provider_name, account_id as {{ account }}, account_name as {{ name }} from {{ ref('dim_accounts') }}) as {{ name }}s
        using (provider_name, {{ account }})
{%- endmacro %}

{# Why an amount is of no run, as a step from the runs to the provider's total. #}
{% macro residual_step() -%}
    case
        when reason = 'idle' then 'Idle'
        when reason = 'unused_commitment' then 'Commitments'
        when reason = 'non_accelerator' then 'Other services'
        when reason in ('tax', 'support', 'credit', 'refund') then 'Tax, support, credits'
        else 'Unallocated'
    end
{%- endmacro %}

{# The steps in reading order: those of runs come first, then what runs could have carried. #}
{% macro step_position(part='part') -%}
    coalesce(list_position(
        ['Idle', 'Commitments', 'Other services', 'Unallocated', 'Tax, support, credits', 'Quarantined', 'Provider total'], {{ part }}
    ), 0)
{%- endmacro %}

{# Sums of each month and of the whole quarter as columns of their own, null where a part is null. `known` is the beginning of the names
   of four columns, the same in all rows of a quarter: whether everything of the month, or of the quarter, is published. #}
{% macro by_period(amount, name, known='') -%}
    {% for period in ['month_1', 'month_2', 'month_3', 'quarter'] -%}
    {%- set rows = 'true' if period == 'quarter' else 'usage_month = ' ~ period -%}
    case
        when {{ 'bool_and(' ~ known ~ '_' ~ period ~ ') and ' if known }}count(*) filter (where {{ rows }} and {{ amount }} is null) = 0
            then coalesce(sum({{ amount }}) filter (where {{ rows }}), 0)
    end as {{ name }}_{{ period }}{{ ',' if not loop.last }}
    {% endfor %}
{%- endmacro %}

{# How work ended, in reading order. #}
{% macro outcome_position(outcome='outcome') -%}
    coalesce(list_position([
        'succeeded', 'running', 'stopped', 'failed', 'interrupted', 'unknown', 'idle reserve', 'idle', 'unused commitment',
        'named by no record', 'no records kept'
    ], {{ outcome }}), 6)
{%- endmacro %}

{# The effective cost of some rows: 0 of none, null where one is unknown. #}
{% macro whole_where(rows) -%}
case when bool_and(effective_cost is not null or not ({{ rows }})) then coalesce(sum(effective_cost) filter (where {{ rows }}), 0) end
{%- endmacro %}

{# Cost of runs by one attribute and platform, each currency with its total, the quarter before beside it. A currency without a cost
   before the quarter has nothing to be compared with. #}
{% macro cost_by(attribute) -%}
with first_months as (
    select billing_currency, min(usage_month) as first_month from {{ ref('fct_training_run_costs') }} group by billing_currency
),

costs as (
    select
        quarters.quarter, costs.*, runs.{{ attribute }}, runs.accelerator_family,
        costs.usage_month >= quarters.quarter_start as is_now,
        first_months.first_month < quarters.quarter_start as has_prior
    from {{ ref('fct_training_run_costs') }} as costs
    inner join {{ ref('report_quarters') }} as quarters
        on costs.usage_month >= quarters.prior_start and costs.usage_month < quarters.quarter_end
    inner join {{ ref('dim_training_runs') }} as runs on costs.training_run_id = runs.training_run_id
    inner join first_months on costs.billing_currency = first_months.billing_currency
)

select
    quarter, {{ attribute }}, accelerator_family, billing_currency,
    count(distinct training_run_id) filter (where is_now) as run_count,
    {{ whole_where("is_now and cost_component = 'accelerator'") }} as accelerator_effective_cost,
    {{ whole_where("is_now and cost_component <> 'accelerator'") }} as other_effective_cost,
    {{ whole_where('is_now') }} as effective_cost,
    case when bool_and(has_prior) then {{ whole_where('not is_now') }} end as prior_effective_cost,
    case when bool_and(has_prior) and count(*) = count(effective_cost)
        then sum(case when is_now then effective_cost else -effective_cost end)
    end as change_effective_cost,
    coalesce(sum(idle_share_effective_cost) filter (where is_now), 0) as idle_share_effective_cost,
    coalesce(sum(billed_cost) filter (where is_now), 0) as billed_cost,
    case when bool_and(list_cost is not null or not is_now) then coalesce(sum(list_cost) filter (where is_now), 0) end as list_cost,
    grouping({{ attribute }}, accelerator_family) > 0 as is_total,
    case when bool_and(bool_and(effective_cost is not null or not is_now)) over platforms
        then sum(coalesce(sum(effective_cost) filter (where is_now), 0)) over platforms
    end as all_platforms_effective_cost
from costs
group by grouping sets ((quarter, {{ attribute }}, accelerator_family, billing_currency), (quarter, billing_currency))
window platforms as (partition by quarter, {{ attribute }}, billing_currency, grouping({{ attribute }}, accelerator_family))
{%- endmacro %}

{# What was lost, with the runs that lost it; an idle machine is of no run. #}
{% macro lost_work_measures() -%}
    {{ whole('effective_cost') }} as effective_cost,
    {{ whole('facility_energy_kwh') }} as facility_energy_kwh,
    {{ whole('modelled_location_based_kgco2e') }} as modelled_location_based_kgco2e,
    nullif(count(distinct nullif(training_run_id, '')), 0) as run_count
{%- endmacro %}

{# The cell of a month of the ledger that a row is in; `runs` is the table that has its names, where there are several. #}
{% macro ledger_cell(runs='') -%}
    {%- set of = runs ~ '.' if runs else '' -%}
    coalesce({{ of }}team, '') as team, coalesce({{ of }}model_name, '') as model, coalesce({{ of }}accelerator_type, '') as chip,
    {{ of }}accelerator_family as family
{%- endmacro %}

{# What runs carry, what no run carries, and both, by either method; null while a month or a part is not published. #}
{% macro by_method(location, market) -%}
    {% for method, mass in [('location', location), ('market', market)] -%}
    {% for part, rows in [('run', ' filter (where is_run)'), ('rest', ' filter (where not is_run)'), ('all', '')] -%}
    case when bool_and(has_carbon) and count(is_run) = count({{ mass }}) then coalesce(sum({{ mass }}){{ rows }}, 0) end
        as {{ part }}_{{ method }}_based_kgco2e{{ ',' if not loop.last }}
    {% endfor %}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{# The masses of the provider that tables of several groups give, null when any part is null. #}
{% macro whole_masses() -%}
    {% for part in ['scope_2', 'total'] -%}
    {% for method in ['location', 'market'] -%}
    {%- set mass = 'provider_' ~ part ~ '_' ~ method ~ '_based_kgco2e' -%}
    {{ whole(mass) }} as {{ mass }}{{ ',' if not loop.last }}
    {% endfor %}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{# Kinds of sources: records come one by one and are of no month; what is neither is a bill or a carbon export. #}
{% macro kinds_of_records() -%}
    ('training_runs', 'aws_water', 'gcp_prices', 'fx_rates', 'user_inputs', 'provider_totals')
{%- endmacro %}

{% macro kinds_of_telemetry() -%}
    ('neuron_monitor', 'tpu_monitoring', 'xprof', 'neuron_power', 'gpu_monitoring', 'power_meters', 'prometheus', 'wandb')
{%- endmacro %}

{# What of a kind of source is there of a month without a delivery; of a group, whose rows have one kind. #}
{% macro nothing_delivered() -%}
    case
        when min(kind) in {{ kinds_of_records() }} then 'as records'
        when min(kind) in {{ kinds_of_telemetry() }} then 'no file'
        else 'missing'
    end
{%- endmacro %}

{# The build that a publication holds: the last one begun. #}
{% macro this_build() -%}
    (select build_id from {{ source('ops', 'builds') }} order by started_at desc, build_id desc limit 1)
{%- endmacro %}

{# The frameworks of disclosure in reading order; what the ledger itself has comes first. #}
{% macro framework_position() -%}
    list_position(['contribution', 'ESRS-2023', 'ESRS-2026', 'IFRS-S2', 'CDP', 'SB-253', 'GRI-2016', 'GRI-2025'], framework)
{%- endmacro %}

{# Whether a row is what is filed, part of it, or the answer of providers that is not filed. #}
{% macro filed_mark(rows) -%}
    case
        when {{ rows }}.is_filed then 'filed'
        when {{ rows }}.datapoint like 'of which%' then 'a part'
        when {{ rows }}.datapoint like 'Energy%' then 'beside'
        else 'not filed'
    end
{%- endmacro %}

{# The headline figures in reading order, the first five those of the first page, and what a report calls them. #}
{% macro headline_names() -%}
    {{ return({
        'effective_cost': 'Effective cost of training runs',
        'facility_energy': 'Facility energy of training runs',
        'provider_total_location_based': 'Provider total, location-based, allocated to training runs',
        'provider_total_market_based': 'Provider total, market-based, allocated to training runs',
        'accelerator_cost_coverage': 'Share of accelerator cost that carries an energy and an emission figure',
        'provider_scope_2_location_based': 'Provider Scope 2, location-based, allocated to training runs',
        'provider_scope_2_market_based': 'Provider Scope 2, market-based, allocated to training runs',
        'provider_scope_1': 'Provider Scope 1, allocated to training runs',
        'provider_scope_3_location_based': 'Provider Scope 3, location-based, allocated to training runs',
        'provider_scope_3_market_based': 'Provider Scope 3, market-based, allocated to training runs',
        'provider_scope_3_unsplit': 'Provider Scope 3 without a split by method, allocated to runs',
        'modelled_location_based': 'Modelled location-based emissions of training runs',
        'billed_cost': 'Billed cost of training runs',
        'idle_cost': 'Idle machines and unused commitments',
        'run_count': 'Training runs',
        'reserved_chip_hours': 'Chip-hours held by training runs',
    }) }}
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

{# The figures of the two pages for a board, and what they are called there. #}
{% macro board_figure_names() -%}
    {{ return({
        'effective_cost': 'Effective cost',
        'facility_energy': 'Facility energy, modelled',
        'provider_total_location_based': 'Scope 3 category 1, location-based',
        'provider_scope_2_location_based': 'its electricity, location-based',
        'provider_total_market_based': 'Scope 3 category 1, market-based',
        'provider_scope_2_market_based': 'its electricity, market-based',
    }) }}
{%- endmacro %}
