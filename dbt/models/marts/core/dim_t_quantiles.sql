select * from {{ ref('t_quantiles') }}
