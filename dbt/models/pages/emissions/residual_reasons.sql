select
    quarter,
    reason,
    count(*) as cell_count,
    {{ whole_masses() }}
from {{ ref('fct_residual_emissions') }}
{{ of_quarters() }}
group by all
