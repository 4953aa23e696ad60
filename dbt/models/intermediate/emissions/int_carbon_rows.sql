-- Provider carbon rows of the book sources, each accepted or held back with its reason: negative values and unknown regions never reach a mart.
with rows_of_book as (
    select * from {{ ref('stg_aws_carbon__emissions') }}
    where is_book
)

select
    rows_of_book.*,
    case
        when rows_of_book.is_negative then 'negative_emission'
        when not rows_of_book.is_global and regions.region_id is null then 'unknown_region'
    end as quarantine_reason
from rows_of_book
left join {{ ref('regions') }} as regions
    on rows_of_book.provider_name = regions.provider_name and rows_of_book.region_id = regions.region_id
