select
    *,
    cast(chip_hours / 24 as decimal(38, 9)) as hardware_days,
    case
        when training_days < 30.4375 then 'under 1 month'
        when training_days < 91.3125 then '1 to 3 months'
        when training_days < 182.625 then '3 to 6 months'
        when training_days is not null then 'over 6 months'
    end as training_time_band,
    case boundary when 'chip' then 1 when 'chip_host' then 2 when 'it' then 3 else 4 end as position
from {{ ref('rpt_model_energy') }}
