with skus as (
    select distinct
        service_code,
        service_description,
        sku_description,
        lower(sku_description) as sku,
        lower(service_description) as service
    from {{ ref('stg_gcp_billing__lines') }}
),

recognised_skus as (
    select
        *,
        {{ matches('sku', 'management[ -]?fee') }} as is_management_fee,
        -- a letter before "tpu" is another word: "output tokens"; flex-start SKUs leave the prefix out
        ({{ matches('sku', '(^|[^a-z])(cloud)?tpu') }} or {{ matches('sku', '^dws defined duration v[0-9]+[a-z]') }})
        and not {{ matches('sku', 'management[ -]?fee') }} as is_tpu,
        {{ matches('sku', '(^|[^a-z])(gpu|nvidia)([^a-z]|$)') }}
        and not {{ matches('sku', '(management[ -]?fee|licens)') }} as is_gpu
    from skus
)

select
    service_code,
    service_description,
    sku_description,
    service like '%support%' as is_support,
    sku like 'commitment%' as is_commitment,
    is_tpu or is_gpu as is_accelerator_type,
    -- the "v1" of "Commitment v1: TpuV5e" is not a generation: the version must follow the word, or be alone in a flex or
    -- reserved SKU
    case
        when not is_tpu then ''
        when {{ matches('sku', 'tpu[ -]?v[0-9]') }} then 'v' || regexp_extract(sku, 'tpu[ -]?v([0-9]+[a-z]*)', 1)
        when {{ matches('sku', 'tpu[ -]?[0-9]+[a-z]') }} then 'v' || regexp_extract(sku, 'tpu[ -]?([0-9]+[a-z]+)', 1)
        when {{ matches('sku', '^(dws|reserved).*[^a-z0-9]v[0-9]+[a-z]') }}
            then 'v' || regexp_extract(sku, '[^a-z0-9]v([0-9]+[a-z]+)', 1)
        else ''
    end as instance_type,
    is_tpu
    and not {{ matches('sku', '(tpu[ -]?v[0-9]|tpu[ -]?[0-9]+[a-z]|^(dws|reserved).*[^a-z0-9]v[0-9]+[a-z])') }} as is_unknown_tpu,
    case
        when sku like 'commitment%' then 'commitment'
        when {{ matches('sku', '(^reserved|calendar mode)') }} then 'reserved'
        when sku like 'dws%' then 'flex_start'
        when {{ matches('sku', '(spot|preemptible)') }} then 'spot'
        when sku like 'capacity optimized%' then 'capacity_optimized'
        else 'on_demand'
    end as purchase_mode,
    case
        when is_management_fee then 'managed_service_fee'
        when is_tpu or is_gpu then 'accelerator'
        when service_code = '6F81-5844-456A' and {{ matches('sku', '(^|[^a-z])(core|ram|cpu|vcpu)([^a-z]|$)') }} then 'host'
        when {{ matches('sku', '(network|egress|ingress|data transfer|nat gateway|load balanc|ip charge)') }} then 'network'
        when {{ matches('sku', '(storage|disk|pd capacity|snapshot|filestore|lustre)') }} then 'storage'
        else 'other_usage'
    end as cost_component
from recognised_skus
