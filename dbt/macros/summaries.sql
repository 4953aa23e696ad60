{# Figures of runs by run, or by run and month (`keys`), each from its own fact: joined before they are added up, one would repeat the other's rows.
   A figure is null as soon as a part of it is unknown. #}

{# CTEs costs, energies, emissions, modelled and waters, with one row per `keys`. #}
{% macro run_figures(keys) -%}
costs as (
    select
        {{ keys }},
        {#- a month that no bill has yet, or that no row of the bill names, has a row of 0 in some currency: neither is known #}
        bool_or(status = 'not_published') as has_unpublished_bill,
        bool_or(status = 'no_cell') as has_unbilled_month,
        min(billing_currency) as least_currency,
        max(billing_currency) as greatest_currency,
        min({{ status_rank('status') }}) as status_rank,
        {{ sums(['billed_cost'], 12) }},
        {{ whole_sums(['effective_cost', 'list_cost', 'on_demand_list_cost', 'reporting_currency_effective_cost'], 12) }}
    from {{ ref('fct_training_run_costs') }}
    group by all
),

energies as (
    select
        {{ keys }},
        {{ whole_sums(['facility_energy_kwh', 'facility_energy_kwh_low', 'facility_energy_kwh_high', 'reserved_chip_hours'], 9) }},
        {{ telemetry_coverage('reserved_chip_hours', 'telemetry_coverage_ratio') }} as telemetry_coverage_ratio
    from {{ ref('fct_training_run_energy') }}
    group by all
),

emissions as (
    select
        {{ keys }},
        {#- two versions of a provider's model are never added; two providers have two models #}
        count(distinct provider_name || ' ' || provider_model_version) > count(distinct provider_name) as has_two_versions,
        bool_or(status = 'not_published') as has_unpublished_month,
        bool_or(status = 'no_cell') as has_month_without_cell,
        min({{ status_rank('status') }}) as status_rank,
        {{ whole_sums(provider_totals(), 9) }}
    from {{ ref('fct_training_run_emissions') }}
    group by all
),

modelled as (
    select {{ keys }}, {{ whole_sums(['modelled_location_based_kgco2e'], 9) }}
    from {{ ref('fct_training_run_emissions_modelled') }}
    where factor_set_id = 'location_direct_v1'
    group by all
),

waters as (
    select {{ keys }}, {{ whole_sum(double_to_decimal('withdrawal_m3', 9), 'decimal(38, 9)') }} as withdrawal_m3
    from {{ ref('fct_training_run_water') }}
    group by all
)
{%- endmacro %}

{# The columns of these figures, after the join of the five. #}
{% macro run_figure_columns() -%}
case when {{ is_cost_known() }} then costs.least_currency end as billing_currency,
    {%- for cost in ['effective_cost', 'billed_cost', 'list_cost'] %}
    case when {{ is_cost_known() }} then costs.{{ cost }} end as {{ cost }},
    {%- endfor %}
    case
        when {{ is_cost_known() }}
            then {{ zero_without_list('costs') }}
    end as effective_cost_with_list,
    case when {{ is_cost_known() }} then costs.on_demand_list_cost end as on_demand_list_cost,
    case when {{ is_billed() }} then costs.reporting_currency_effective_cost end as reporting_currency_effective_cost,
    energies.facility_energy_kwh,
    energies.facility_energy_kwh_low,
    energies.facility_energy_kwh_high,
    {%- for mass in provider_totals() %}
    case when not emissions.has_two_versions then emissions.{{ mass }} end as {{ mass }},
    {%- endfor %}
    modelled.modelled_location_based_kgco2e,
    cast(cast(waters.withdrawal_m3 as string) as double) as water_withdrawal_m3
{%- endmacro %}

{# Of what has no list price the effective cost counts 0 beside it; an unknown one stays unknown. #}
{% macro zero_without_list(costs) -%}
case when {{ costs }}.list_cost is null and {{ costs }}.effective_cost is not null then cast(0 as decimal(38, 12)) else {{ costs }}.effective_cost end
{%- endmacro %}

{% macro provider_totals() -%}
{{ return([
    'provider_scope_2_location_based_kgco2e', 'provider_scope_2_market_based_kgco2e',
    'provider_total_location_based_kgco2e', 'provider_total_market_based_kgco2e',
]) }}
{%- endmacro %}

{% macro is_billed() -%}
not costs.has_unpublished_bill and not costs.has_unbilled_month
{%- endmacro %}
{% macro is_cost_known() -%}
{{ is_billed() }} and costs.least_currency = costs.greatest_currency
{%- endmacro %}

{# Why figures are null, as texts for concat_ws: each null figure has one, and a figure that is there has none. Not so water, which no run has before
   its year is out: its own table has the reason, and here it would stand before every other. #}
{% macro unknown_figures() -%}
case
        when costs.status_rank is null then 'cost: no bill names the run, and it held no machine on record'
        when costs.has_unpublished_bill then 'cost: the bill of a month is not published'
        when costs.has_unbilled_month then 'cost: machines were held in a month, and no row of its bill names the run'
        when costs.least_currency <> costs.greatest_currency then 'cost: billed in more than one currency'
        when costs.effective_cost is null then 'cost: accelerator hours are billed at 0, and nothing explains it'
        when costs.list_cost is null then 'list cost: a row has no list price'
    end,
    case
        when {{ is_cost_known() }} and costs.on_demand_list_cost is null
            then 'on-demand list cost: no on-demand price is known of what was bought otherwise'
    end,
    case
        when {{ is_billed() }} and costs.effective_cost is not null and costs.reporting_currency_effective_cost is null
            then 'cost in the reporting currency: no exchange rate'
    end,
    case
        when energies.facility_energy_kwh is not null then null
        when costs.status_rank is not null and energies.reserved_chip_hours is null
            then 'energy: until when machines were held is not recorded'
        when costs.status_rank is not null then 'energy: chips, their power or the PUE of the place are not known'
        else 'energy: it held no machine on record'
    end,
    case
        when emissions.has_unpublished_month then 'emissions: a month is not published'
        when emissions.has_month_without_cell then 'emissions: the provider has no row for a month'
        when emissions.has_two_versions then 'emissions: two versions of the provider''s model'
        when emissions.status_rank is null then 'emissions: no month is known'
        when {% for mass in provider_totals() %}{{ ' or ' if not loop.first }}emissions.{{ mass }} is null{% endfor %}
            then 'emissions: the provider does not state all of them'
    end,
    case
        when energies.facility_energy_kwh is not null and modelled.modelled_location_based_kgco2e is null
            then 'modelled emissions: no emission factor is in force'
    end
{%- endmacro %}

{# The least final first. #}
{% macro status_rank(status) -%}
case {{ status }} when 'not_published' then 1 when 'no_cell' then 2 when 'preliminary' then 3 else 4 end
{%- endmacro %}
{% macro status_of(rank) -%}
case {{ rank }} when 1 then 'not_published' when 3 then 'preliminary' when 4 then 'final' else 'no_cell' end
{%- endmacro %}

{# Observed over reserved chip time of a group: 1 only if every interval was observed, null where a part is unknown. #}
{% macro telemetry_coverage(hours, ratio) -%}
{%- set observed = 'cast(sum(cast(' ~ hours ~ ' as decimal(27, 9)) * cast(' ~ ratio ~ ' as decimal(10, 9))) as double)' -%}
case
            when count(*) <> count({{ hours }}) or count(*) <> count({{ ratio }}) then null
            when min({{ ratio }}) = 1 then cast(1 as double)
            when sum({{ hours }}) = 0 then cast(0 as double)
            else cast(least({{ nine_digits(observed ~ ' / cast(sum(' ~ hours ~ ') as double)') }}, 999999999e0 / 1e9) as double)
        end
{%- endmacro %}

{# An exact figure at scale s per million tokens, times `more`, as a double that is exact to twelve decimals; through text, which every
   engine reads into the same nearest double. Null without tokens. #}
{% macro per_million(x, s, tokens, more=1) -%}
{%- set units = 'cast(' ~ to_units('abs(' ~ x ~ ')', s) ~ ' * cast(1' ~ '0' * (18 - s) ~ (('0' * 3) if more == 1000 else '')
    ~ ' as decimal(' ~ (22 - s) ~ ', 0)) as decimal(38, 0))' -%}
case
        when {{ tokens }} > 0
            then case when {{ x }} < 0 then -1 else 1 end * cast(cast({{ from_units(int_div(
                'cast(2 * ' ~ units ~ ' + ' ~ tokens ~ ' as decimal(38, 0))', 'cast(2 * ' ~ tokens ~ ' as decimal(38, 0))'
            ), 12) }} as string) as double)
    end
{%- endmacro %}
