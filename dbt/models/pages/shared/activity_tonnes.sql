{%- for electricity in ['location', 'market'] %}
select
    activity_id,
    period_start,
    period_end,
    supplier,
    account_id,
    account_name,
    region_id,
    region_name,
    country_code,
    emissions_data_quality,
    source,
    '{{ electricity }}' as electricity,
    provider_total_{{ electricity }}_based_tco2e as supplier_tco2e
from {{ ref('activity_data') }}
-- rows of runs for whose place no supplier reports anything are no emissions
where emissions_data_quality is not null
{%- if not loop.last %}

union all
{% endif %}
{%- endfor %}
