-- Published prices with source and date; evidence, never a substitute for a bill.
select * from {{ ref('prices') }}
