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

facts as (
    select quarter, 1 as position, 'bill_with_energy' as fact_id, billing_currency as unit, with_energy as part, effective_cost as of_whole
    from bills
    union all
    select quarter, 2, 'bill_with_emissions', billing_currency, with_carbon, effective_cost
    from bills
    union all
    select quarter, 3, 'energy_read', 'MWh', {{ thousandth('metered') }}, {{ thousandth('energy') }}
    from energies
    union all
    select quarter, 4, 'months_with_a_bill', 'months', with_bill, payer_months
    from payers
    union all
    select quarter, 5, 'months_with_emissions', 'months', with_carbon, payer_months
    from payers
    union all
    select quarter, 6, 'checks_passed', 'checks', passed_count, check_count
    from {{ ref('report_quarters') }}
    cross join checks
)

select
    quarter,
    fact_id,
    case fact_id
        when 'bill_with_energy' then 'Bill, effective, of which energy is known'
        when 'bill_with_emissions' then 'Bill, effective, of which emissions are known'
        when 'energy_read' then 'Energy of training runs, of which a meter or the driver of a chip read'
        when 'months_with_a_bill' then 'Months of payers, of which a bill is published'
        when 'months_with_emissions' then 'Months of payers, of which emissions are published'
        when 'checks_passed' then 'Checks before publication, of which passed'
    end as fact,
    unit,
    part,
    of_whole,
    {{ exact_ratio('part', 'of_whole') }} as share_ratio,
    position
from facts
