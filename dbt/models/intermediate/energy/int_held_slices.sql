{{ config(materialized='by_month', meta={'rebuilt_for': 'status'}) }}

with month_holdings as (
    select
        usage_month,
        resource_id,
        {{ instant_us('held_from') }} as from_us,
        {{ instant_us('held_to') }} as to_us
    from {{ ref('int_machine_holdings') }}
    -- a time of unknown end is no time that can be counted
    where resource_id is not null and held_to is not null
),

-- under two payers one name is two machines, and which of them was held is not known
billed_machines as (
    select usage_month, billed.resource_id, bool_and(coalesce(bills.is_bill_final, false)) as is_final
    from {{ ref('int_billed_times') }} as billed
    left join {{ ref('int_bill_months') }} as bills using (usage_month, provider_name, payer_account_id)
    where billed.resource_id in (select month_holdings.resource_id from month_holdings)
    group by usage_month, billed.resource_id
    having min(provider_name || payer_account_id) = max(provider_name || payer_account_id)
),

stretches as (
    select
        usage_month,
        resource_id,
        machines.is_final,
        {{ instant_us('billed.billed_from') }} as from_us,
        {{ instant_us('billed.billed_to') }} as to_us,
        billed.billed_us
    from {{ ref('int_billed_times') }} as billed
    inner join billed_machines as machines using (usage_month, resource_id)
),

-- a day with telemetry is a part: what is made of it is made of that day (int_node_samples)
days as (
    select distinct holdings.usage_month, holdings.resource_id, days.day_from_us, days.day_to_us
    from {{ ref('int_telemetry_days') }} as days
    inner join month_holdings as holdings using (usage_month)
    where {{ in_build_months('days.usage_month') }}
),

-- cut also where a reading of the node begins or ends, so that it is known of all of a slice or of none, and at a limit of power;
-- cutting changes nothing else
slices as (
    {{ counted_slices('usage_month, resource_id', ['holders'], [
        ('month_holdings', 'from_us', 'to_us', 'holders'),
        ('stretches', 'from_us', 'to_us', none),
        (ref('int_metered_nodes'), 'metered_from_us', 'metered_to_us', none),
        (ref('int_power_limits'), 'limited_from_us', 'limited_to_us', none),
        ('days', 'day_from_us', 'day_to_us', none),
    ]) }}
),

held_slices as (
    select usage_month, resource_id, slice_from, slice_to
    from slices
    where holders > 0
),

billed_slices as (
    select
        held_slices.*,
        machines.is_final,
        coalesce(stretches.billed_us, 0) as billed_us,
        cast(sum(held_slices.slice_to - held_slices.slice_from) over (
            partition by held_slices.usage_month, held_slices.resource_id, stretches.from_us order by held_slices.slice_from
            rows between unbounded preceding and current row
        ) as decimal(38, 0)) as held_us
    from held_slices
    left join billed_machines as machines using (usage_month, resource_id)
    left join stretches
        on
            held_slices.usage_month = stretches.usage_month
            and held_slices.resource_id = stretches.resource_id
            and stretches.from_us <= held_slices.slice_from
            and stretches.to_us >= held_slices.slice_to
)

select
    usage_month,
    resource_id,
    slice_from,
    slice_to,
    coalesce(is_final, false) as is_final,
    -- of a stretch of billed hours the first that were held, as many as were billed; all where no bill names the machine
    case
        when is_final is null then slice_to
        else slice_from + cast(
            least(slice_to - slice_from, greatest(billed_us - held_us + (slice_to - slice_from), 0)) as bigint
        )
    end as billed_to
from billed_slices
