-- Every emission factor with its origin, editions that were restated side by side.
select * from {{ ref('emission_factors') }}
