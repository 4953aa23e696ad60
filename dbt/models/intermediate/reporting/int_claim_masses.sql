-- the book: what runs carry and what no run carries
with book as (
    select provider_name, region_id, usage_month, provider_model_version, provider_scope_2_market_based_kgco2e as kg
    from {{ ref('fct_run_cell_emissions') }}

    union all

    select provider_name, region_id, usage_month, provider_model_version, provider_scope_2_market_based_kgco2e as kg
    from {{ ref('fct_residual_emissions') }}
),

book_in_window as (
    select book.* from book
    cross join {{ ref('int_asked_window') }} as asked
    where book.usage_month >= asked.window_start and book.usage_month < asked.window_end
),

-- versions are never added: of each provider the one of its newest months
newest_versions as (
    select provider_name, provider_model_version from book_in_window
    group by provider_name, provider_model_version
    qualify row_number() over (partition by provider_name order by max(usage_month) desc, provider_model_version desc) = 1
),

places as (
    select distinct provider_name, region_id, provider_name as place from book_in_window

    union all

    select distinct provider_name, region_id, provider_name || '/' || region_id as place
    from book_in_window
)

select
    places.place,
    places.provider_name,
    book_in_window.provider_model_version,
    {{ sum_as_double('book_in_window.kg') }} as kg
from book_in_window
inner join newest_versions using (provider_name, provider_model_version)
inner join places using (provider_name, region_id)
group by places.place, places.provider_name, book_in_window.provider_model_version
