{#- Each figure that a datapoint may take, of a quarter or a fiscal year, or the reason why it is not known. -#}
{%- set filed_ways = {'location': 'location_based', 'market': 'market_based'} %}
{%- set masses = ['total_location_based', 'total_market_based', 'scope_1', 'scope_2_location_based', 'scope_2_market_based'] %}
{%- set upstream = {
    'upstream_aws_location_based': ('AWS', 'scope_3_location_based'),
    'upstream_aws_market_based': ('AWS', 'scope_3_market_based'),
    'upstream_google': ('Google Cloud', 'scope_3_location_based'),
} %}
{%- set runs = ['runs_total_location_based', 'runs_total_market_based'] %}
{%- set scope_2 = ['own_scope_2_location_based', 'own_scope_2_market_based'] %}
{%- set categories = [] %}
{%- for number in range(1, 16) %}{% do categories.append('own_scope_3_category_' ~ number) %}{% endfor %}
{%- set own = ['own_scope_1'] + scope_2 + categories %}

with settings as (
    select scope3_electricity, fiscal_year_start as first_month from {{ ref('dim_disclosure_settings') }}
),

quarters as (
    select
        {{ quarter_of('window_start') }} as period,
        'quarter' as grain,
        window_start as period_start,
        window_end as period_end
    from {{ ref('int_report_windows') }}
    where window_end = cast(window_start + interval 3 month as date)
),

months_of_quarters as (
    {%- for month in range(3) %}
    select cast(period_start + interval {{ month }} month as date) as usage_month from quarters
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

-- a fiscal year has the name of the calendar year in which it ends
fiscal_years as (
    select distinct
        cast(
            year(months_of_quarters.usage_month) + case
                when settings.first_month > 1 and month(months_of_quarters.usage_month) >= settings.first_month then 1
                else 0
            end as int
        ) as fiscal_year,
        settings.first_month
    from months_of_quarters
    cross join settings
),

year_starts as (
    select
        cast(fiscal_year as string) as period,
        make_date(fiscal_year - case when first_month > 1 then 1 else 0 end, first_month, 1) as period_start
    from fiscal_years
),

periods as (
    select period, grain, period_start, period_end from quarters

    union all

    select period, 'year' as grain, period_start, cast(period_start + interval 12 month as date) as period_end
    from year_starts
),

period_months as (
    {%- for month in range(12) %}
    select period, grain, cast(period_start + interval {{ month }} month as date) as usage_month
    from periods
    {%- if month > 2 %}
    where grain = 'year'
    {%- endif %}
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

-- what the organisation states of a fiscal year: tonnes, money, people
stated as (
    select
        fiscal_year as period,
        {%- for figure in own + ['own_cloud_location_based', 'own_cloud_market_based'] %}
        max(case when figure = '{{ figure }}' then {{ thousandth('value') }} end) as {{ figure }},
        {%- endfor %}
        max(case when figure = 'own_revenue' then cast(value as decimal(28, 9)) end) as own_revenue,
        max(case when figure = 'own_revenue' then unit end) as revenue_currency,
        max(case when figure = 'own_headcount' then cast(value as decimal(28, 9)) end) as own_headcount
    from {{ ref('dim_own_inventory') }}
    group by fiscal_year
),

balances as (
    select
        source_name, provider_name, payer_account_id, usage_month, provider_model_version, measure, provider_total,
        quarantined_total
    from {{ ref('fct_reconciliation') }}
    where method = 'conservation'
),

bills as (
    select distinct provider_name, payer_account_id, usage_month
    from balances
    where measure = 'billed_cost'
),

first_bills as (
    select provider_name, payer_account_id, min(usage_month) as first_month
    from bills
    group by provider_name, payer_account_id
),

-- a payer of the period before is expected in this one too
payers as (
    select period_months.period, balances.provider_name, balances.payer_account_id
    from balances
    inner join period_months using (usage_month)

    union

    select periods.period, balances.provider_name, balances.payer_account_id
    from balances
    inner join periods
        on
            balances.usage_month < periods.period_start
            and balances.usage_month >= case
                when periods.grain = 'quarter' then cast(periods.period_start - interval 3 month as date)
                else cast(periods.period_start - interval 12 month as date)
            end
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
        payers.period,
        period_months.grain,
        payers.provider_name || ' payer ' || payers.payer_account_id || ' for '
        || substr(cast(period_months.usage_month as string), 1, 7) as payer_month,
        bills.usage_month is not null as has_bill,
        carbon_months.usage_month is not null as has_carbon
    from payers
    inner join period_months using (period)
    inner join first_bills using (provider_name, payer_account_id)
    left join stated using (period)
    left join bills using (provider_name, payer_account_id, usage_month)
    left join carbon_months using (provider_name, payer_account_id, usage_month)
    -- months of a year before the first bill of a payer are those that the organisation states, 0 where there was no account
    where
        period_months.grain = 'quarter'
        or period_months.usage_month >= first_bills.first_month
        or stated.own_cloud_location_based is null
        or stated.own_cloud_market_based is null
),

gaps as (
    select
        period,
        count(*) - count(case when has_bill then 1 end) as missing_bill_count,
        count(*) - count(case when has_carbon then 1 end) as missing_carbon_count,
        {%- for what in ['bill', 'carbon'] %}
        case
            when min(grain) = 'quarter' then {{ in_one_text('case when not has_' ~ what ~ ' then payer_month end') }}
            else cast(count(case when not has_{{ what }} then 1 end) as string) || ' months of payers, the first '
                || min(case when not has_{{ what }} then payer_month end)
        end as missing_{{ what }}{{ ',' if not loop.last }}
        {%- endfor %}
    from presence
    group by period
),

parts as (
    {%- for table, is_run in {'fct_run_cell_emissions': 'true', 'fct_residual_emissions': 'false'}.items() %}
    select
        {{ is_run }} as is_run,
        source_name, provider_name, payer_account_id, usage_month, provider_model_version,
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
        period_months.period
        {%- for mass in masses %},
        {{ whole_sum('parts.' ~ mass, 'decimal(38, 9)') }} as {{ mass }}
        {%- endfor %}
        {%- for name, (provider, mass) in upstream.items() %},
        case
            when
                count(case when parts.provider_name = '{{ provider }}' then 1 end)
                = count(case when parts.provider_name = '{{ provider }}' then parts.{{ mass }} end)
                then cast(sum(case when parts.provider_name = '{{ provider }}' then parts.{{ mass }} end) as decimal(38, 9))
        end as {{ name }}
        {%- endfor %}
        {%- for way in filed_ways.values() %},
        case
            when count(*) = count(parts.total_{{ way }})
                then cast(sum(case when parts.is_run then parts.total_{{ way }} else 0 end) as decimal(38, 9))
        end as runs_total_{{ way }}
        {%- endfor %}
    from parts
    inner join period_months using (usage_month)
    group by period_months.period
),

book_versions as (
    select distinct
        period_months.period, parts.source_name, parts.payer_account_id, parts.usage_month, parts.provider_model_version
    from parts
    inner join period_months using (usage_month)
),

quarantined as (
    select distinct book_versions.period, 1 as has_quarantined
    from balances
    inner join book_versions using (source_name, payer_account_id, usage_month, provider_model_version)
    where balances.quarantined_total <> 0
),

energies as (
    select
        period_months.period,
        count(*) as month_count,
        count(energy.facility_energy_kwh) as known_month_count,
        {{ whole_sum('energy.facility_energy_kwh', 'decimal(38, 9)') }} as energy_facility
    from {{ ref('fct_training_run_energy') }} as energy
    inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
    inner join period_months using (usage_month)
    where {{ holds_chips('runs', 'energy') }}
    group by period_months.period
),

known as (
    select
        periods.period,
        periods.grain,
        settings.scope3_electricity,
        coalesce(gaps.missing_bill_count + gaps.missing_carbon_count, 1) as gap_count,
        case
            when gaps.period is null then 'no payer has a bill or a carbon publication'
            when gaps.missing_bill_count > 0 then 'no bill of ' || gaps.missing_bill
            when gaps.missing_carbon_count > 0 then 'no carbon publication of ' || gaps.missing_carbon
            when quarantined.has_quarantined = 1 then 'rows of a carbon publication are quarantined'
        end as carbon_gap,
        case when gaps.missing_bill_count > 0 then 'no bill of ' || gaps.missing_bill end as bill_gap,
        case
            when energies.period is null then 'no run held chips'
            else cast(energies.month_count - energies.known_month_count as string) || ' of '
                || cast(energies.month_count as string) || ' run-months have no energy figure'
        end as energy_gap,
        {%- for way in filed_ways.values() %}
        {{ exact_sum(
            [thousandth('cloud_masses.total_' ~ way), 'coalesce(stated.own_cloud_' ~ way ~ ', 0)'], 12
        ) }} as total_{{ way }},
        {%- endfor %}
        {%- for mass in masses[2:] + upstream.keys() | list + runs %}
        {{ thousandth('cloud_masses.' ~ mass) }} as {{ mass }},
        {%- endfor %}
        {{ thousandth('energies.energy_facility') }} as energy_facility,
        {%- for figure in own + ['own_revenue', 'own_headcount', 'revenue_currency'] %}
        stated.{{ figure }}{{ ',' if not loop.last }}
        {%- endfor %}
    from periods
    cross join settings
    left join gaps using (period)
    left join quarantined using (period)
    left join cloud_masses using (period)
    left join energies using (period)
    left join stated using (period)
),

-- one of the two answers of a provider is in what is filed, in both totals
filed as (
    select
        *,
        case when scope3_electricity = 'market' then total_market_based else total_location_based end as filed_cloud
    from known
),

whole as (
    select
        *,
        {{ exact_sum(['filed_cloud', 'own_scope_3_category_1'], 12) }} as category_1,
        {{ exact_sum(['filed_cloud'] + categories, 12) }} as scope_3
    from filed
),

totals as (
    select
        *
        {%- for way in filed_ways.values() %},
        {{ exact_sum(['own_scope_1', 'own_scope_2_' ~ way, 'scope_3'], 12) }} as inventory_{{ way }}
        {%- endfor %}
    from whole
),

-- in whole units, cut: tonnes at twelve decimals over money and people at nine; of money a million
intensities as (
    select
        *
        {%- for way in filed_ways.values() %}
        {%- for per, factor in [('revenue', '1000000000000000'), ('headcount', '1000000000')] %},
        case
            when own_{{ per }} > 0 then {{ from_units(int_div(
                'cast(' ~ to_units('inventory_' ~ way, 12) ~ ' * cast(' ~ factor ~ ' as decimal(16, 0)) as decimal(38, 0))',
                to_units('own_' ~ per, 9)
            ), 12) }}
        end as {{ per }}_intensity_{{ way }}
        {%- endfor %}
        {%- endfor %}
    from totals
),

{#- of each measure: its value, what the organisation must state for it, the gap that makes it unknown, and why else it may be -#}
{%- set measures = [] %}
{%- set no_value = "'the provider left values out'" %}
{%- for way in filed_ways.values() %}
    {%- do measures.append(('cloud_total_' ~ way, 'total_' ~ way, [], 'carbon_gap', no_value)) %}
    {%- do measures.append(('cloud_scope_2_' ~ way, 'scope_2_' ~ way, [], 'carbon_gap', no_value)) %}
    {%- do measures.append(('runs_total_' ~ way, 'runs_total_' ~ way, [], 'carbon_gap', no_value)) %}
    {%- set of_inventory = ['own_scope_1', 'own_scope_2_' ~ way] + categories %}
    {%- do measures.append(('inventory_total_' ~ way, 'inventory_' ~ way, of_inventory, 'carbon_gap', no_value)) %}
    {%- for per in ['revenue', 'headcount'] %}
        {%- do measures.append((
            per ~ '_intensity_' ~ way, per ~ '_intensity_' ~ way, of_inventory + ['own_' ~ per], 'carbon_gap',
            "'the organisation states 0 of it'",
        )) %}
    {%- endfor %}
{%- endfor %}
{%- do measures.append(('cloud_scope_1', 'scope_1', [], 'carbon_gap', no_value)) %}
{%- for name in upstream %}
    {%- do measures.append(('cloud_' ~ name, name, [], 'carbon_gap', "'this provider has no tonnes, or left values out'")) %}
{%- endfor %}
{%- do measures.append(('cloud_filed', 'filed_cloud', [], 'carbon_gap', no_value)) %}
{%- do measures.append(('scope_3_category_1', 'category_1', ['own_scope_3_category_1'], 'carbon_gap', no_value)) %}
{%- do measures.append(('scope_3', 'scope_3', categories, 'carbon_gap', no_value)) %}
{%- do measures.append(('energy_facility', 'energy_facility', [], 'bill_gap', 'energy_gap')) %}
{%- for figure in own if figure != 'own_scope_3_category_1' %}
    {%- do measures.append((figure, figure, [figure], 'null', no_value)) %}
{%- endfor %}
{%- for figure in ['own_revenue', 'own_headcount'] %}
    {%- do measures.append((figure, 'cast(' ~ figure ~ ' as decimal(38, 12))', [figure], 'null', no_value)) %}
{%- endfor %}

taken as (
    select distinct measure from {{ ref('dim_datapoints') }}
    where measure is not null
),

figures as (
    {%- for measure, value, needed, gap, otherwise in measures %}
    select
        period, grain, scope3_electricity, gap_count, revenue_currency,
        '{{ measure }}' as measure,
        cast({{ value }} as decimal(38, 12)) as value,
        cast({{ gap }} as string) as gap,
        {%- if needed %}
        {%- for figure in needed %}
        {{ '|| ' if not loop.first }}case when {{ figure }} is null then ', {{ figure }}' else '' end
        {%- endfor %}
        {%- else %}
        ''
        {%- endif %} as lacking,
        cast({{ otherwise }} as string) as otherwise
    from intensities
    {%- if needed %}
    where grain = 'year'
    {%- endif %}
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
)

select
    figures.period,
    figures.grain,
    figures.measure,
    -- an intensity names the currency of its revenue
    figures.revenue_currency,
    case when figures.gap is null and figures.lacking = '' then figures.value end as value,
    case
        when figures.gap is not null and figures.lacking <> ''
            then figures.gap || '; user_inputs of fiscal year ' || figures.period || ' lack ' || substr(figures.lacking, 3)
        when figures.gap is not null then figures.gap
        when figures.lacking <> '' then 'user_inputs of fiscal year ' || figures.period || ' lack ' || substr(figures.lacking, 3)
        when figures.value is null then figures.otherwise
    end as lack,
    figures.measure = 'cloud_total_' || figures.scope3_electricity || '_based' as is_filed,
    case when figures.gap_count > 0 then 'draft' else 'preliminary' end as report_status
from figures
inner join taken on figures.measure = taken.measure
