select
    scope3_electricity,
    scope3_electricity_reason,
    cast(fiscal_year_start as int) as fiscal_year_start
from {{ source('raw', 'settings') }}
