{%- set kinds = {
    'team': 'team', 'accelerator': 'accelerator_type', 'region': 'region_id', 'software': 'software', 'purchase': 'purchase'
} %}

with attributes as (
    {%- for kind, name in kinds.items() %}
    select distinct claim_id, workload_key, pair_key, role, '{{ kind }}' as stratum_kind, {{ name }} as name
    from {{ ref('int_claim_members') }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

named as (
    select
        claim_id,
        workload_key,
        pair_key,
        stratum_kind,
        {{ in_one_text("case when role = 'side' then name end") }}
        || '; ' || {{ in_one_text("case when role = 'baseline' then name end") }} as stratum
    from attributes
    group by claim_id, workload_key, pair_key, stratum_kind
),

pairs as (
    select
        pairs.claim_id,
        pairs.workload_key,
        pairs.basis_class,
        named.stratum_kind,
        named.stratum,
        cast(
            {{ exact_log('cast(pairs.side_amount as double) / cast(nullif(pairs.side_work, 0) as double)') }}
            - {{ exact_log('cast(pairs.baseline_amount as double) / cast(nullif(pairs.baseline_work, 0) as double)') }}
            as decimal(18, 12)
        ) as log_ratio
    from {{ ref('int_claim_pairs') }} as pairs
    inner join named
        on
            pairs.claim_id = named.claim_id and pairs.workload_key = named.workload_key and pairs.pair_key = named.pair_key
    where pairs.is_closed and pairs.set_aside_because is null
),

{{ strata_test('claim_id, workload_key, basis_class, stratum_kind') }}
