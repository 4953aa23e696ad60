with service_months as (
    select provider_name, service_code, usage_month, max(service_name) as service_name
    from {{ ref('int_bill_names') }}
    where service_code <> ''
    group by all
)

select
    provider_name,
    service_code,
    max_by(service_name, usage_month) filter (where service_name is not null) as service_name
from service_months
group by all
