{#- Each fact: its id, its words, its unit, the part that is known, all of it, and the rows that have them. -#}
{%- set facts = [
    ('bill_with_energy', 'Bill, effective, of which energy is known', 'billing_currency', 'with_energy', 'effective_cost', 'bills'),
    ('bill_with_emissions', 'Bill, effective, of which emissions are known', 'billing_currency', 'with_carbon', 'effective_cost', 'bills'),
    ('energy_read', 'Energy of training runs, of which a meter or the driver of a chip read', "'MWh'",
     thousandth('metered'), thousandth('energy'), 'energies'),
    ('months_with_a_bill', 'Months of payers, of which a bill is published', "'months'", 'with_bill', 'payer_months', 'payers'),
    ('months_with_emissions', 'Months of payers, of which emissions are published', "'months'", 'with_carbon', 'payer_months', 'payers'),
    ('checks_passed', 'Checks before publication, of which passed', "'checks'", 'passed_count', 'check_count', 'quarter_checks'),
] -%}
with bills as (
    select
        quarter,
        billing_currency,
        {{ whole('effective_cost') }} as effective_cost,
        {{ whole('effective_cost_with_energy') }} as with_energy,
        {{ whole('effective_cost_with_carbon') }} as with_carbon
    from {{ ref('rpt_coverage') }}
    {{ of_quarters() }}
    group by all
),

energies as (
    select
        quarter,
        {{ whole('facility_energy_kwh') }} as energy,
        coalesce(sum(facility_energy_kwh) filter (where energy_basis in ('measured', 'driver_power')), 0) as metered
    from {{ ref('energy_run_months') }}
    {{ of_quarters() }}
    where holds_chips
    group by quarter
),

payers as (
    select
        quarter,
        count(*) as payer_months,
        count(*) filter (where has_bill) as with_bill,
        count(*) filter (where has_carbon) as with_carbon
    from {{ ref('payers_by_month') }}
    group by quarter
),

checks as (
    select count(*) as check_count, count(*) filter (where passed) as passed_count
    from {{ source('ops', 'gate_results') }}
    where build_id = {{ this_build() }}
),

quarter_checks as (
    select quarters.quarter, checks.*
    from {{ ref('report_quarters') }} as quarters
    cross join checks
),

facts as (
    {%- for id, words, unit, part, of_whole, rows in facts %}
    {{ 'union all' if not loop.first }}
    select
        quarter,
        '{{ id }}' as fact_id,
        '{{ words }}' as fact,
        {{ unit }} as unit,
        {{ part }} as part,
        {{ of_whole }} as of_whole,
        {{ loop.index }} as position
    from {{ rows }}
    {%- endfor %}
)

select
    quarter,
    fact_id,
    fact,
    unit,
    part,
    of_whole,
    {{ exact_ratio('part', 'of_whole') }} as share_ratio,
    position
from facts
