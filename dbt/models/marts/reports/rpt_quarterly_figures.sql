{{ config(materialized='view') }}
{#- A headline figure is one row: what it is, what of it is known, what it was in the quarter before. Each is made of this.
    `is_known` is when the sum is whole, `reason` why it is not. -#}
{%- set no_bill = 'a bill of the quarter is missing' %}
{%- set no_price = 'accelerator hours of a run are billed at 0, and nothing explains it' %}
{%- set no_cost = "case when has_bills then '" ~ no_price ~ "' else '" ~ no_bill ~ "' end" %}
{%- set figures = [] %}
{%- set of_runs = ('run_count', 'reserved_chip_hours', 'facility_energy', 'modelled_location_based') %}
{%- for id, value, whole in [
    ('effective_cost', 'run_effective_cost', 'all_effective_cost'),
    ('billed_cost', 'run_billed_cost', 'all_billed_cost'),
    ('idle_cost', 'idle_cost', 'all_effective_cost'),
] %}
    {%- do figures.append({
        'id': id, 'from': 'cost_sums', 'unit': 'billing_currency', 'value': value, 'whole': whole,
        'is_known': 'has_bills and ' ~ value ~ ' is not null', 'reason': no_cost,
    }) %}
{%- endfor %}
{%- do figures.append({
    'id': 'accelerator_cost_coverage', 'from': 'cost_sums', 'unit': "billing_currency || '/' || billing_currency",
    'value': nine_digits('cast(covered_cost as double) / nullif(cast(accelerator_cost as double), 0)'),
    'whole': nine_digits('cast(run_accelerator_cost as double) / nullif(cast(accelerator_cost as double), 0)'),
    'is_known': 'has_bills and accelerator_cost > 0',
    'reason': "case when has_bills and accelerator_cost is not null then 'no accelerator cost' else " ~ no_cost ~ " end",
}) %}
{%- do figures.append({'id': 'run_count', 'from': 'energy_sums', 'unit': "'runs'", 'value': 'run_count', 'is_known': 'true'}) %}
{%- for id, unit, value, known, what in [
    ('reserved_chip_hours', 'h', 'chip_hours', 'known_hours_run_months', 'chip-hours'),
    ('facility_energy', 'kWh', 'energy', 'known_run_months', 'energy figure'),
    ('modelled_location_based', 'kgCO2e', 'mass', 'known_run_months', 'modelled emissions'),
] %}
    {%- do figures.append({
        'id': id, 'from': 'modelled_sums' if value == 'mass' else 'energy_sums', 'unit': "'" ~ unit ~ "'", 'value': value,
        'low': value ~ '_low' if value != 'chip_hours', 'high': value ~ '_high' if value != 'chip_hours',
        'whole': 'case when known_idle_run_months = run_months then energy + idle_energy end' if value == 'energy',
        'parts': 'run_months', 'known_parts': known,
        'is_known': known ~ ' = run_months and (run_months > 0 or run_count = 0)',
        'reason': "case when run_months = 0 then 'no record or tag shows a run on accelerators'"
            ~ ' else (run_months - ' ~ known ~ ") || ' of ' || run_months || ' run-months have no " ~ what ~ "' end",
    }) %}
{%- endfor %}
{%- for mass in mass_names() %}
    {%- do figures.append({
        'id': mass.removesuffix('_kgco2e'), 'from': 'mass_sums', 'unit': "'kgCO2e'", 'value': 'run_' ~ mass, 'whole': 'all_' ~ mass,
        'is_known': 'has_carbon and unknown_' ~ mass ~ ' = 0',
        'reason': "case when has_carbon then 'a provider gives no such figure' else 'a carbon month of the quarter is not published' end",
    }) %}
{%- endfor %}
with bills as (
    select
        provider_name,
        payer_account_id,
        usage_month,
        bool_or(measure = 'billed_cost') as has_bill,
        bool_or(measure like 'provider_%' and provider_total is not null) as has_carbon
    from {{ ref('fct_reconciliation') }}
    where method = 'conservation'
    group by all
),

-- a run-month has a status only when each of its payers has published: a month without emissions is published too
answered as (
    select distinct
        costs.provider_name,
        costs.payer_account_id,
        costs.usage_month
    from {{ ref('fct_run_cell_costs') }} as costs
    inner join {{ ref('fct_training_run_emissions') }} as emissions using (training_run_id, usage_month, provider_name)
    where emissions.status <> 'not_published'
),

payer_months as (
    select
        provider_name,
        payer_account_id,
        cast(date_trunc('quarter', usage_month) as date) as quarter_start,
        bills.has_bill,
        bills.has_carbon or answered.usage_month is not null as has_carbon
    from bills
    left join answered using (provider_name, payer_account_id, usage_month)
),

payer_quarters as (
    select
        provider_name,
        payer_account_id,
        quarter_start,
        count(*) filter (where has_bill) = 3 as has_bills,
        count(*) filter (where has_carbon) = 3 as has_carbon
    from payer_months
    group by all
),

-- a payer of the quarter before is expected in this one too
expected as (
    select
        provider_name,
        payer_account_id,
        quarter_start
    from payer_quarters

    union

    select
        provider_name,
        payer_account_id,
        cast(quarter_start + interval 3 month as date) as quarter_start
    from payer_quarters
),

completeness as (
    select
        quarter_start,
        bool_and(coalesce(payer_quarters.has_bills, false)) as has_bills,
        bool_and(coalesce(payer_quarters.has_carbon, false)) as has_carbon
    from expected
    left join payer_quarters using (provider_name, payer_account_id, quarter_start)
    group by all
),

cost_rows as (
    select
        cast(date_trunc('quarter', costs.usage_month) as date) as quarter_start,
        costs.billing_currency,
        true as is_run,
        costs.cost_component = 'accelerator' as is_of_accelerators,
        cast(null as varchar) as reason,
        costs.effective_cost,
        costs.billed_cost,
        emissions.provider_total_location_based_kgco2e is not null and energy.facility_energy_kwh is not null as is_covered
    from {{ ref('fct_training_run_costs') }} as costs
    left join {{ ref('fct_training_run_emissions') }} as emissions using (training_run_id, usage_month)
    left join {{ ref('fct_training_run_energy') }} as energy using (training_run_id, usage_month)

    union all

    select
        cast(date_trunc('quarter', usage_month) as date) as quarter_start,
        billing_currency,
        false as is_run,
        {{ is_of_accelerators() }} as is_of_accelerators,
        reason,
        effective_cost,
        billed_cost,
        false as is_covered
    from {{ ref('fct_residual_costs') }}
),

cost_sums as (
    select
        quarter_start,
        cost_rows.billing_currency,
        coalesce(bool_and(completeness.has_bills), false) as has_bills,
        case when bool_and(cost_rows.effective_cost is not null)
            then coalesce(sum(cost_rows.effective_cost) filter (where cost_rows.is_run), 0)
        end as run_effective_cost,
        {{ whole_sum('cost_rows.effective_cost', 'decimal(38, 12)') }} as all_effective_cost,
        coalesce(sum(cost_rows.billed_cost) filter (where cost_rows.is_run), 0) as run_billed_cost,
        sum(cost_rows.billed_cost) as all_billed_cost,
        coalesce(sum(cost_rows.effective_cost) filter (where cost_rows.reason in ('idle', 'unused_commitment')), 0) as idle_cost,
        case when bool_and(cost_rows.effective_cost is not null)
            then coalesce(sum(cost_rows.effective_cost) filter (where cost_rows.is_of_accelerators), 0)
        end as accelerator_cost,
        coalesce(sum(cost_rows.effective_cost)
            filter (where cost_rows.is_of_accelerators and cost_rows.is_run), 0) as run_accelerator_cost,
        coalesce(sum(cost_rows.effective_cost)
            filter (where cost_rows.is_of_accelerators and cost_rows.is_covered), 0) as covered_cost
    from cost_rows
    left join completeness using (quarter_start)
    group by all
),

energy_rows as (
    select
        cast(date_trunc('quarter', energy.usage_month) as date) as quarter_start,
        energy.training_run_id,
        energy.facility_energy_kwh,
        energy.facility_energy_kwh_low,
        energy.facility_energy_kwh_high,
        energy.idle_share_facility_energy_kwh,
        energy.reserved_chip_hours,
        {{ holds_chips('runs', 'energy') }} as holds_chips
    from {{ ref('fct_training_run_energy') }} as energy
    inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
),

-- a quarter without runs used nothing: its sums are 0, not unknown
quarters as (
    select quarter_start from payer_quarters
    union
    select quarter_start from cost_sums
    union
    select quarter_start from energy_rows
),

-- where no bill was ever seen, none is missing
lacking as (
    select
        quarters.quarter_start,
        not coalesce(now.has_bills, false) as lack_now,
        not coalesce(before.has_bills, false) as lacked_then
    from quarters
    left join completeness as now on quarters.quarter_start = now.quarter_start
    left join completeness as before on quarters.quarter_start = before.quarter_start + interval 3 month
    where exists (select 1 from payer_quarters)
),

energy_sums as (
    select
        quarter_start,
        count(distinct energy_rows.training_run_id) as run_count,
        count(*) filter (where energy_rows.holds_chips) as run_months,
        count(*) filter (where not energy_rows.holds_chips) as unrecorded_run_months,
        count(energy_rows.facility_energy_kwh) filter (where energy_rows.holds_chips) as known_run_months,
        count(energy_rows.idle_share_facility_energy_kwh) filter (where energy_rows.holds_chips) as known_idle_run_months,
        count(energy_rows.reserved_chip_hours) filter (where energy_rows.holds_chips) as known_hours_run_months,
        coalesce(sum(energy_rows.facility_energy_kwh), 0) as energy,
        coalesce(sum(energy_rows.facility_energy_kwh_low), 0) as energy_low,
        coalesce(sum(energy_rows.facility_energy_kwh_high), 0) as energy_high,
        coalesce(sum(energy_rows.idle_share_facility_energy_kwh), 0) as idle_energy,
        coalesce(sum(energy_rows.reserved_chip_hours), 0) as chip_hours
    from quarters
    left join energy_rows using (quarter_start)
    group by all
),

modelled_rows as (
    select
        cast(date_trunc('quarter', modelled.usage_month) as date) as quarter_start,
        modelled.training_run_id,
        modelled.modelled_location_based_kgco2e as mass,
        modelled.modelled_location_based_kgco2e_low as mass_low,
        modelled.modelled_location_based_kgco2e_high as mass_high
    from {{ ref('fct_training_run_emissions_modelled') }} as modelled
    inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
    inner join {{ ref('fct_training_run_energy') }} as energy using (training_run_id, usage_month)
    where modelled.factor_set_id = 'location_direct_v1' and {{ holds_chips('runs', 'energy') }}
),

modelled_sums as (
    select
        energy_sums.quarter_start,
        energy_sums.run_count,
        energy_sums.run_months as recorded_run_months,
        count(modelled_rows.training_run_id) as run_months,
        count(modelled_rows.mass) as known_run_months,
        coalesce(sum(modelled_rows.mass), 0) as mass,
        coalesce(sum(modelled_rows.mass_low), 0) as mass_low,
        coalesce(sum(modelled_rows.mass_high), 0) as mass_high
    from energy_sums
    left join modelled_rows using (quarter_start)
    group by all
),

mass_rows as (
    {%- for table, is_run in [('fct_run_cell_emissions', 'true'), ('fct_residual_emissions', 'false')] %}
    select
        cast(date_trunc('quarter', usage_month) as date) as quarter_start,
        provider_name,
        provider_model_version,
        {{ is_run }} as is_run,
        {{ masses() }}
    from {{ ref(table) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

mass_sums as (
    select
        quarter_start,
        coalesce(bool_and(completeness.has_carbon), false) as has_carbon
        {%- for mass in mass_names() %},
        coalesce(sum(mass_rows.{{ mass }}) filter (where mass_rows.is_run), 0) as run_{{ mass }},
        coalesce(sum(mass_rows.{{ mass }}), 0) as all_{{ mass }},
        count(mass_rows.provider_name) - count(mass_rows.{{ mass }}) as unknown_{{ mass }}
        {%- endfor %}
    from quarters
    left join completeness using (quarter_start)
    left join mass_rows using (quarter_start)
    group by all
),

versions as (
    select
        quarter_start,
        provider_name,
        string_agg(distinct provider_model_version, ', ' order by provider_model_version) as versions
    from mass_rows
    group by all
),

-- a provider that is new in this quarter is no break: its figures are more, not other ones
version_breaks as (
    select
        later.quarter_start,
        string_agg(
            later.provider_name || ' ' || earlier.versions || ', then ' || later.versions, '; ' order by later.provider_name
        ) as versions
    from versions as later
    inner join versions as earlier
        on later.provider_name = earlier.provider_name and later.quarter_start = earlier.quarter_start + interval 3 month
    where later.versions <> earlier.versions
    group by all
),

figures as (
    {%- for figure in figures %}
    select
        quarter_start,
        '{{ figure.id }}' as figure_id,
        {{ figure.unit }} as unit,
        coalesce({{ figure.is_known }}, false) as is_known,
        cast({{ figure.value }} as decimal(38, 12)) as value,
        cast({{ figure.low or 'null' }} as decimal(38, 12)) as low,
        cast({{ figure.high or 'null' }} as decimal(38, 12)) as high,
        cast({{ figure.whole or 'null' }} as decimal(38, 12)) as whole_value,
        cast({{ figure.parts or 'null' }} as bigint) as part_count,
        cast({{ figure.known_parts or 'null' }} as bigint) as known_part_count,
        {{ figure.reason or "''" }} as reason
    from {{ figure.from }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

-- what is known of a figure that is not whole is never given as the figure
stated as (
    select
        quarter_start,
        figure_id,
        unit,
        case when is_known then value end as value,
        case when is_known then low end as low,
        case when is_known then high end as high,
        case when is_known then whole_value end as whole_value,
        case when not is_known and known_part_count > 0 then value end as known_value,
        case when not is_known and known_part_count > 0 then low end as known_low,
        case when not is_known and known_part_count > 0 then high end as known_high,
        part_count,
        known_part_count,
        cast(year(quarter_start) as string) || 'Q' || cast(quarter(quarter_start) as string) as quarter,
        case when not is_known then reason end as not_available_reason
    from figures
),

compared as (
    select
        later.*,
        earlier.value as prior_value,
        earlier.low as prior_low,
        earlier.high as prior_high,
        cast(year(later.quarter_start - interval 3 month) as string) || 'Q'
        || cast(quarter(later.quarter_start - interval 3 month) as string) as prior_quarter,
        case
            when later.value is null then later.not_available_reason
            when earlier.quarter_start is null then 'nothing of that quarter is published'
            when earlier.value is null then 'in the quarter before, ' || earlier.not_available_reason
            -- runs are seen in bills too: half a quarter of bills has half of them
            when later.figure_id in {{ of_runs }} and bills_of.lack_now then '{{ no_bill }}'
            when later.figure_id in {{ of_runs }} and bills_of.lacked_then then 'in the quarter before, {{ no_bill }}'
            when later.figure_id like 'provider_%' and version_breaks.versions is not null
                then 'the provider changed its model: ' || version_breaks.versions
        end as break_reason,
        coalesce(methods.change_by_method, cast(0 as decimal(38, 12))) as by_method
    from stated as later
    left join stated as earlier
        on
            later.figure_id = earlier.figure_id
            and later.unit = earlier.unit
            and later.quarter_start = earlier.quarter_start + interval 3 month
    left join version_breaks on later.quarter_start = version_breaks.quarter_start
    left join lacking as bills_of on later.quarter_start = bills_of.quarter_start
    left join {{ ref('int_quarter_methods') }} as methods
        on later.quarter_start = methods.quarter_start and later.figure_id = methods.figure_id
),

changed as (
    select
        *,
        cast(case when break_reason is null then value - prior_value end as decimal(38, 12)) as change,
        -- of a share no part is activity
        cast(case when break_reason is null and figure_id <> 'accelerator_cost_coverage' then by_method end as decimal(38, 12))
            as change_by_method
    from compared
),

-- against next to nothing a percentage is a large number and no answer: 86,630 % of 280 USD
described as (
    select
        *,
        case
            when break_reason is not null then break_reason
            when prior_value <= 0 then 'it was 0 or less in ' || prior_quarter
            when value > 10 * prior_value and figure_id <> 'accelerator_cost_coverage'
                then 'it is more than 10 times that of ' || prior_quarter
        end as change_reason
    from changed
)

select
    quarter,
    figure_id,
    unit,
    value,
    low,
    high,
    whole_value,
    known_value,
    known_low,
    known_high,
    part_count,
    known_part_count,
    not_available_reason,
    prior_quarter,
    prior_value,
    prior_low,
    prior_high,
    change,
    cast(change - change_by_method as decimal(38, 12)) as change_by_activity,
    change_by_method,
    case
        when change_reason is null and prior_value > 0 and figure_id <> 'accelerator_cost_coverage'
            then {{ nine_digits('(cast(value as double) / cast(prior_value as double) - 1)') }}
    end as change_ratio,
    change_reason
from described
