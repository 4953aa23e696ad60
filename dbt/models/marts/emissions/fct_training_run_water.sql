{%- set levels = {'': 'mid', '_low': 'low', '_high': 'high'} %}

with run_months as (
    select
        training_run_id,
        usage_month,
        cast(date_trunc('year', usage_month) as date) as usage_year,
        bool_and(provider_name = 'AWS') as is_of_aws,
        bool_and(is_carbon_final) as is_carbon_final
    from {{ ref('int_run_months') }}
    group by all
),

consumption_by_region as (
    select
        energy.training_run_id,
        energy.usage_month,
        energy.it_energy_kwh_mid,
        wue.wue_source
        {%- for suffix, level in levels.items() %},
        -- nine decimals of a kWh by four of a litre, and a thousand litres to a cubic metre
        {{ from_units(int_div(
            'cast(2 * ' ~ to_units('energy.it_energy_kwh_' ~ level, 9) ~ ' * ' ~ to_units('wue.wue_l_per_kwh' ~ suffix, 4)
            ~ ' + 10000000 as decimal(38, 0))',
            'cast(20000000 as decimal(38, 0))'
        ), 9) }} as consumption_m3{{ suffix }}
        {%- endfor %}
    from {{ ref('int_measured_run_energy') }} as energy
    left join {{ ref('int_region_wue') }} as wue using (usage_month, provider_name, region_id)
),

consumption as (
    select
        training_run_id,
        usage_month,
        count(*) = count(it_energy_kwh_mid) as is_energy_known,
        min(wue_source) as first_source,
        max(wue_source) as last_source,
        {{ whole_sums(['consumption_m3', 'consumption_m3_low', 'consumption_m3_high'], 9) }}
    from consumption_by_region
    group by training_run_id, usage_month
),

run_cells as (
    select distinct
        training_run_id,
        usage_month,
        payer_account_id,
        sub_account_id,
        region_id,
        cast(date_trunc('year', usage_month) as date) as usage_year
    from {{ ref('fct_run_cell_emissions') }}
    where provider_name = 'AWS'
),

stated as (
    select distinct payer_account_id, sub_account_id, usage_year, region_id, true as is_there
    from {{ ref('int_water_shares') }}
),

stated_accounts as (
    select payer_account_id, sub_account_id, usage_year, bool_or(region_id = '*') as has_all_regions
    from stated
    group by all
),

stated_years as (
    select distinct usage_year from stated
),

-- of all accounts and regions that the run's emissions of the month are of
scopes as (
    select
        run_cells.training_run_id,
        run_cells.usage_month,
        bool_and(stated_accounts.sub_account_id is not null) as is_stated,
        bool_and(coalesce(stated_accounts.has_all_regions, false) or coalesce(stated.is_there, false)) as is_whole
    from run_cells
    left join stated_accounts using (payer_account_id, sub_account_id, usage_year)
    left join stated using (payer_account_id, sub_account_id, usage_year, region_id)
    group by run_cells.training_run_id, run_cells.usage_month
),

shares as (
    select
        training_run_id,
        usage_month,
        min(unknown_because) as unknown_because,
        max(provider_model_version) as provider_model_version,
        {{ whole_sums(['withdrawal_m3'], 9) }}
    from {{ ref('int_water_shares') }}
    where training_run_id is not null
    group by training_run_id, usage_month
),

withdrawals as (
    select
        training_run_id,
        usage_month,
        run_months.usage_year,
        run_months.is_carbon_final,
        shares.provider_model_version,
        case when run_months.is_of_aws and scopes.is_whole then shares.withdrawal_m3 end as withdrawal_m3,
        case
            when not run_months.is_of_aws then 'no provider but AWS states it by account'
            when stated_years.usage_year is null or not scopes.is_stated then 'the provider has not stated the year'
            when scopes.is_stated is null then 'the provider has no row for the month'
            when not scopes.is_whole then 'the provider states none of a region'
            else shares.unknown_because
        end as unknown_because
    from run_months
    left join scopes using (training_run_id, usage_month)
    left join shares using (training_run_id, usage_month)
    left join stated_years using (usage_year)
)

select
    training_run_id,
    usage_month,
    cast(cast(withdrawals.withdrawal_m3 as string) as double) as withdrawal_m3
    {%- for suffix in levels %},
    cast(cast(consumption.consumption_m3{{ suffix }} as string) as double) as consumption_m3{{ suffix }}
    {%- endfor %},
    case
        when withdrawals.unknown_because is not null then 'withdrawal: ' || withdrawals.unknown_because
        else 'withdrawal: AWS, ' || substr(cast(withdrawals.usage_year as string), 1, 4) || ', '
            || withdrawals.provider_model_version
    end
    || case
        when consumption.consumption_m3 is not null
            then '; consumption: ' || consumption.first_source
            || case when consumption.first_source <> consumption.last_source then ' | ' || consumption.last_source else '' end
        when coalesce(consumption.is_energy_known, false) then '; consumption: no WUE in L/kWh is published'
        else '; consumption: IT energy is not known'
    end as source,
    case
        when withdrawals.unknown_because in (
            'the provider has not stated the year', 'the year has a month without emissions of the account'
        ) then 'not_published'
        when withdrawals.unknown_because is not null then 'no_cell'
        when withdrawals.is_carbon_final then 'final'
        else 'preliminary'
    end as status
from withdrawals
left join consumption using (training_run_id, usage_month)
