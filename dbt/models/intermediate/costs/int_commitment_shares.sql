{{ config(materialized='by_month') }}
{%- set zero = 'cast(0 as decimal(38, 12))' %}

with spend_based as (
    select usage_month, commitment_id, bool_or(is_spend_based_fee) as is_spend_based
    from {{ ref('int_gcp_lines') }}
    where is_commitment_fee and {{ in_build_months() }}
    group by all
),

-- hours of a block, and Google's use that a commitment covers in whole or in part: what the commitment pays of them is a share
shares as (
    select
        shares.usage_month, coalesce(pods.line_id, shares.line_id) as line_id, shares.block_arn as commitment_id,
        'capacity_block' as commitment_kind,
        false as is_spend_based,
        case when lines.is_unused_reservation then 'unused' else 'used' end as commitment_part,
        case when pods.line_id is null then shares.effective_cost else pods.block_cost end as effective_cost,
        -- a block hour has no list price
        cast(null as decimal(38, 12)) as list_cost,
        cast(null as decimal(38, 12)) as contracted_cost
    from {{ ref('int_aws_block_shares') }} as shares
    inner join {{ ref('int_aws_lines') }} as lines using (usage_month, line_id)
    left join {{ built_months_of(ref('int_aws_pod_charges')) }} as pods
        on shares.usage_month = pods.usage_month and shares.line_id = pods.bill_line_id
    -- what of a plan was not used is on its fee, whole
    where lines.is_usage and {{ in_build_months('shares.usage_month') }}

    union all

    select
        covered.usage_month, covered.line_id, covered.commitment_id, 'committed_use' as commitment_kind,
        coalesce(spend_based.is_spend_based, false) as is_spend_based,
        'used' as commitment_part,
        covered.effective_cost
        {%- for measure in ['list_cost', 'contracted_cost'] %},
        -- of a row that several commitments cover the first shows the price of what they cover
        case
            when covered.place > 1 then {{ zero }}
            when lines.committed_ratio = 1 then lines.{{ measure }}
            else {{ from_units('case when lines.' ~ measure ~ ' < 0 then -1 else 1 end * (' ~ multiplied_and_divided(
                to_units('abs(lines.' ~ measure ~ ')', 12), to_units('lines.committed_ratio', 9), 'cast(1000000000 as decimal(38,0))'
            ) ~ ')', 12) }}
        end as {{ measure }}
        {%- endfor %}
    from (
        select
            usage_month,
            line_id,
            commitment_id,
            cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
            row_number() over (partition by usage_month, line_id order by commitment_id) as place
        from {{ ref('int_gcp_commitment_shares') }}
        where is_used and {{ in_build_months() }}
        group by usage_month, line_id, commitment_id
    ) as covered
    inner join {{ ref('int_gcp_lines') }} as lines using (usage_month, line_id)
    left join spend_based
        on covered.usage_month = spend_based.usage_month and covered.commitment_id = spend_based.commitment_id
),

named_shares as (
    select *, line_id || '|' || commitment_id as charge_id from shares
),

-- a machine's hour that several runs held is divided among them as its cost is
share_parts as (
    select named_shares.charge_id, coalesce(split.part_id, '') as part_id, coalesce(split.w, cast(1 as decimal(38, 0))) as w
    from named_shares
    left join {{ built_months_of(ref('int_split_charges')) }} as split
        on named_shares.usage_month = split.usage_month and named_shares.line_id = split.line_id
),

divided_shares as (
    {{ exact_split('named_shares', 'share_parts', ['effective_cost', 'list_cost', 'contracted_cost'], 12) }}
)

select
    named_shares.usage_month,
    named_shares.line_id,
    divided_shares.part_id,
    named_shares.commitment_id,
    named_shares.commitment_kind,
    named_shares.is_spend_based,
    named_shares.commitment_part,
    divided_shares.effective_cost,
    divided_shares.list_cost,
    divided_shares.contracted_cost
from divided_shares
inner join named_shares using (charge_id)
