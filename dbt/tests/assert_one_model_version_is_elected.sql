-- Two model versions never meet in the book: one is elected per payer and month.
{{ config(meta={'dagster': {'ref': {'name': 'int_carbon_cells'}}}) }}
select provider_name, payer_account_id, usage_month, count(distinct provider_model_version) as version_count
from {{ ref('int_carbon_cells') }}
where is_elected and {{ of_built_months() }}
group by all
having count(distinct provider_model_version) > 1
