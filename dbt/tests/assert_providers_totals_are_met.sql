-- Of a final month the bill is what the provider states by itself, to a cent or a millionth, in each charge type that both name.
-- A total in a currency in which no bill of the month is stays beside it. Asked of every month: a total may come years later.
{{ config(meta={'dagster': {'ref': {'name': 'fct_reconciliation'}}}) }}
select source_name, payer_account_id, usage_month, billing_currency, charge_type, stated_cost, billed_cost
from {{ ref('int_provider_totals') }}
where is_final and billed_cost is not null and not is_met
order by all
