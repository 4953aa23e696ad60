select * from {{ ref('f_quantiles') }}
