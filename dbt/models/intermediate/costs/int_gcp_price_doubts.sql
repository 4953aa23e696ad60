{{ config(meta={'empty_without': ['stg_gcp_prices__prices']}) }}
{%- set words = "lower(prices.sku_description || ' ' || prices.categories)" %}
with newest_lists as (
    select source_name, payer_account_id, max(listed_on) as listed_on
    from {{ ref('stg_gcp_prices__prices') }}
    group by all
),

listed_skus as (
    select
        prices.source_name,
        prices.source_object,
        prices.row_number,
        prices.position,
        prices.listed_on,
        prices.sku_id,
        -- one SKU of many places is one finding
        {{ replace_all('prices.sku_description', ' (running )?in .*$', '') }} as sku_words,
        skus.is_accelerator_type,
        case
            when skus.is_unknown_tpu then 'a TPU of which no generation is recognised'
            when skus.instance_type <> '' and types.accelerator_type is null then 'a TPU that the catalogue of accelerators lacks'
            when skus.is_accelerator_type and skus.instance_type || skus.gpu_type = '' then 'a GPU whose name is not recognised'
            when
                not skus.is_accelerator_type
                and {{ matches(words, '(^|[^a-z])((cloud)?tpu|gpus?([^a-z]|$)|nvidia)') }}
                and not {{ matches('lower(prices.sku_description)', '(management[ -]?fee|licens)') }}
                then 'of an accelerator by its words or categories, and no rule takes it for one'
        end as doubt
    from {{ ref('stg_gcp_prices__prices') }} as prices
    inner join newest_lists
        on
            prices.source_name = newest_lists.source_name
            and prices.payer_account_id = newest_lists.payer_account_id
            and prices.listed_on = newest_lists.listed_on
    inner join {{ ref('int_gcp_skus') }} as skus
        on
            prices.service_code = skus.service_code
            and prices.service_description = skus.service_description
            and prices.sku_description = skus.sku_description
    left join {{ ref('accelerator_types') }} as types on skus.instance_type = types.accelerator_type
)

select
    source_name,
    sku_words,
    doubt,
    min_by(source_object, position) as source_object,
    min_by(row_number, position) as row_number,
    max(listed_on) as listed_on,
    count(distinct sku_id) as sku_count
from listed_skus
where doubt is not null
group by source_name, sku_words, doubt
