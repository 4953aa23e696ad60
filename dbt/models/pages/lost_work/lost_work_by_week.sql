select quarters.quarter, lost.week_start, lost.cause, lost.billing_currency, {{ lost_work_measures() }}
from {{ ref('fct_lost_work') }} as lost
{{ of_quarters() }}
group by all
