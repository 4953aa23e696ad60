-- no framework asks for a quarter: what the ledger contributes to the year's lists
with contributions as (
    select * from {{ ref('dim_datapoints') }}
    where framework = 'contribution'
)

{{ disclosed('quarter', 'quarter', 'contributions', ref('int_disclosure_figures')) }}
