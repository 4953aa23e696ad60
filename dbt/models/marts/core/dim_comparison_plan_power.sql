select * from {{ ref('comparison_plan_power') }}
