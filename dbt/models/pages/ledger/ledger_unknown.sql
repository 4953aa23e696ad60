-- a cost in two currencies is known in each of them
with reasons as (
    select *, unnest(string_split(unknown_because, '; ')) as reason
    from {{ ref('run_month_summary') }}
)

select usage_month, {{ ledger_cell() }}, reason, count(*) as run_months
from reasons
where regexp_matches(reason, '^(cost|energy|emissions):') and reason <> 'cost: billed in more than one currency'
group by all
