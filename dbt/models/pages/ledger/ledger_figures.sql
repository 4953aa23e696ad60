select
    usage_month, {{ ledger_cell() }}, count(*) as run_months,
    cast(coalesce(sum(facility_energy_kwh), 0) as decimal(38, 9)) as energy_kwh,
    cast(coalesce(sum(facility_energy_kwh_low), 0) as decimal(38, 9)) as energy_kwh_low,
    cast(coalesce(sum(facility_energy_kwh_high), 0) as decimal(38, 9)) as energy_kwh_high,
    count(*) - count(facility_energy_kwh) as energy_unknown,
    count(*) - count(provider_scope_2_location_based_kgco2e) as location_unknown,
    count(*) - count(provider_scope_2_market_based_kgco2e) as market_unknown
from {{ ref('run_month_summary') }}
group by all
