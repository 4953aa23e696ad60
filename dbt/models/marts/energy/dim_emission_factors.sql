select * from {{ ref('emission_factors') }}
