-- Commitment fees divided exactly over the usage they cover, by usage in pricing units; what was bought and not used stays with the fee.
{{ config(materialized='incremental', incremental_strategy='append', pre_hook="{{ delete_build_months() }}") }}

with commitments as (
    select * from {{ ref('int_gcp_commitments') }}
    where {{ in_build_months() }}
),

charges as (
    select charge_id, fee_cost as effective_cost from commitments
),

lines as (
    select * from {{ ref('int_gcp_lines') }}
    -- a correction that takes usage back cannot carry a share
    where is_usage and priced_usage > 0 and (has_commitment_credit or subscription_id is not null) and {{ in_build_months() }}
),

covered as (
    select
        commitments.charge_id,
        lines.line_id,
        row_number() over (
            partition by commitments.charge_id
            order by lines.charge_period_start, lines.source_object, lines.row_number
        ) as line_rank,
        {{ to_units('lines.priced_usage', 9) }} as w
    from lines
    inner join commitments
        on
            lines.source_name = commitments.source_name
            and lines.payer_account_id = commitments.payer_account_id
            and lines.billing_currency = commitments.billing_currency
            and lines.usage_month = commitments.usage_month
            -- one TPU generation, or no TPU at all
            and lines.instance_type = commitments.instance_type
            and (commitments.region_id = '' or lines.region_id = commitments.region_id)
            and (
                coalesce(lines.subscription_id = commitments.subscription_id, false)
                or (lines.has_commitment_credit and (lines.subscription_id is null or commitments.subscription_id is null))
            )
),

used as (
    select charge_id, sum(w) as w from covered
    group by charge_id
),

parts as (
    -- parts are named by their place in time, so ties go to the earlier row
    select charge_id, lpad(cast(line_rank as string), 12, '0') as part_id, w from covered

    union all

    select
        commitments.charge_id,
        '~residual' as part_id,
        cast(greatest(commitments.committed_units - coalesce(used.w, 0), 0) as decimal(38, 0)) as w
    from commitments
    left join used on commitments.charge_id = used.charge_id
),

shares as (
    {{ exact_split('charges', 'parts', ['effective_cost'], 12) }}
)

select
    commitments.usage_month,
    shares.charge_id,
    commitments.commitment_id,
    coalesce(covered.line_id, commitments.first_line_id) as line_id,
    covered.line_id is not null as is_used,
    shares.effective_cost
from shares
inner join commitments on shares.charge_id = commitments.charge_id
left join covered on shares.charge_id = covered.charge_id and shares.part_id = lpad(cast(covered.line_rank as string), 12, '0')
