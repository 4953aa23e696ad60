{{ config(materialized='by_month') }}

with commitments as (
    select *, fee_cost as effective_cost from {{ ref('int_gcp_commitments') }}
    where {{ in_build_months() }}
),

covered_lines as (
    select
        commitments.charge_id,
        lines.line_id,
        -- parts are named by their place in time, so ties go to the earlier row; of one time by what the rows say, never by which
        -- came first: a table's rows have no order. Only rows that say the same go by their place, and share alike
        lpad(cast(row_number() over (
            partition by commitments.charge_id
            order by lines.charge_period_start, {{ deciding_order('lines') }}, lines.source_object, lines.row_number
        ) as string), 12, '0') as part_id,
        case
            when commitments.is_spend_based then {{ to_units('-lines.spend_credit', 12) }}
            else {{ int_div(
                'cast(' ~ to_units('lines.priced_usage', 9) ~ ' * ' ~ to_units('lines.committed_ratio', 9) ~ ' as decimal(38,0))',
                'cast(1000000000 as decimal(38,0))'
            ) }}
        end as w
    from {{ ref('int_gcp_lines') }} as lines
    inner join commitments using (source_name, payer_account_id, billing_currency, usage_month)
    where
        lines.is_usage
        and {{ in_build_months() }}
        -- most lines have no part in a commitment; a correction that takes usage back cannot carry a share
        and (
            lines.spend_credit < 0
            or (lines.priced_usage > 0 and (lines.has_commitment_credit or lines.subscription_id is not null))
        )
        and (commitments.region_id = '' or lines.region_id = commitments.region_id)
        and case
            when commitments.is_spend_based
                then lines.spend_credit < 0
                    and not commitments.is_unused
                    and commitments.originating_sku_id in ('', lines.sku_id)
            else
                lines.priced_usage > 0
                -- one TPU generation, or GPUs, or neither; hours of cores do not add up with gibibyte-hours of memory
                and lines.instance_type = commitments.instance_type
                and lines.is_accelerator_type = commitments.is_accelerator_type
                and (lines.pricing_unit = commitments.pricing_unit or '' in (lines.pricing_unit, commitments.pricing_unit))
                and (
                    coalesce(lines.subscription_id = commitments.subscription_id, false)
                    or (
                        (lines.has_resource_credit or (lines.has_commitment_credit and commitments.instance_type <> ''))
                        and (lines.subscription_id is null or commitments.subscription_id is null)
                    )
                )
        end
),

used_weights as (
    select charge_id, sum(w) as w from covered_lines
    group by all
),

parts as (
    select charge_id, part_id, w from covered_lines

    union all

    select
        commitments.charge_id,
        '~residual' as part_id,
        -- what of committed spend was not used is a row of its own, or cannot be known
        case
            when commitments.is_spend_based then cast(0 as decimal(38, 0))
            else cast(greatest(commitments.committed_units - coalesce(used_weights.w, 0), 0) as decimal(38, 0))
        end as w
    from commitments
    left join used_weights using (charge_id)
),

shares as (
    {{ exact_split('commitments', 'parts', ['effective_cost'], 12) }}
)

select
    commitments.usage_month,
    charge_id,
    commitments.commitment_id,
    coalesce(covered_lines.line_id, commitments.first_line_id) as line_id,
    covered_lines.line_id is not null as is_used,
    shares.effective_cost
from shares
inner join commitments using (charge_id)
left join covered_lines using (charge_id, part_id)
