{#- where a description names the generation: in a machine type, after the word, before it, or alone in a flex-start SKU. A
    generation is a number that may have letters: v5e, 7x, 8t, v8. The "v1" of "Commitment v1: TpuV5e" is none -#}
{%- set spellings = [
    '(?:^|[^0-9a-z])ct([0-9]+)p-',
    '(?:^|[^0-9a-z])ct([0-9]+[a-z])-',
    'tpu[ _-]?v([0-9]+[a-z]*)',
    'tpu[ _-]?([0-9]+[a-z]+)',
    'tpu([0-9]+)(?:[^0-9a-z]|$)',
    '(?:^|[^0-9a-z])v?([0-9]+[a-z]) tpu',
    '(?:^|[^0-9a-z])v([0-9]+) tpu',
    '^dws defined duration (?:tpu )?v?([0-9]+[a-z])(?:[^0-9a-z]|$)',
    '^dws defined duration (?:tpu )?v([0-9]+)(?:[^0-9a-z]|$)',
    '^(?:dws|reserved).*[^0-9a-z]v([0-9]+[a-z])',
] %}
{#- the same chip in words and as a machine type #}
{%- set lite = '(tpu[ _-]?v?5[ _-]?lite|(^|[^0-9a-z])(v5[ _-]?lite|ct5lp?-))' %}
{#- the GPU that a description names, as Google calls it; the first that fits, so the longer name goes before the shorter #}
{%- set gpus = [
    ('a100 80gb', 'nvidia-a100-80gb'),
    ('a100', 'nvidia-tesla-a100'),
    ('h100 (80gb mega|mega 80gb)', 'nvidia-h100-mega-80gb'),
    ('h100', 'nvidia-h100-80gb'),
    ('h200', 'nvidia-h200-141gb'),
    ('b200', 'nvidia-b200'),
    ('gb200', 'nvidia-gb200'),
    ('gb300', 'nvidia-gb300'),
    ('rtx pro 6000', 'nvidia-rtx-pro-6000'),
] %}
with named as (
    select service_code, service_description, sku_description from {{ ref('stg_gcp_billing__lines') }}

    union

    -- before any of them is used
    select service_code, service_description, sku_description from {{ ref('stg_gcp_prices__prices') }}
),

skus as (
    select *, lower(sku_description) as sku, lower(service_description) as service from named
),

recognised_skus as (
    select
        *,
        {{ matches('sku', 'management[ -]?fee') }} as is_management_fee,
        -- a letter before "tpu" is another word: "output tokens"; flex-start SKUs leave the prefix out
        (
            {{ matches('sku', '(^|[^a-z])(cloud)?tpu') }}
            or {{ matches('sku', '^dws defined duration (v[0-9]+[a-z]?|[0-9]+[a-z])([^0-9a-z]|$)') }}
            -- a machine type, ct5lp-hightpu-4t
            or {{ matches('sku', '(^|[^0-9a-z])ct[0-9]+[a-z]*-') }}
            or {{ matches('sku', lite) }}
        )
        and not {{ matches('sku', 'management[ -]?fee') }} as is_tpu,
        case
            when {{ matches('sku', lite) }} then '5e'
            when {{ matches('sku', '(^|[^0-9a-z])ct5p-') }} then '5p'
            else coalesce(
                {%- for spelling in spellings %}
                nullif(regexp_extract(sku, '{{ spelling }}', 1), ''){{ ',' if not loop.last }}
                {%- endfor %}
            )
        end as generation,
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
    case when is_tpu then coalesce('v' || generation, '') else '' end as instance_type,
    -- apart from the type of a TPU, because fees and credits of commitments tell TPUs by it
    case
        when not is_gpu then ''
        {%- for words, gpu in gpus %}
        when {{ matches('sku', '(^|[^a-z0-9])' ~ words ~ '([^a-z0-9]|$)') }} then '{{ gpu }}'
        {%- endfor %}
        else ''
    end as gpu_type,
    is_tpu and generation is null as is_unknown_tpu,
    case
        when sku like 'commitment%' then 'commitment'
        when {{ matches('sku', '(^reserved|calendar mode)') }} then 'reserved'
        when {{ matches('sku', '(^dws|attached to dws)') }} then 'flex_start'
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
