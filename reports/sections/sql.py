"""Phrases that several queries share. Each query stays complete in itself, so that `trainledger sql` can repeat it.

`$start` and the like are marks of reports/quarter.py: they become the dates of the quarter when the query is asked.
"""

ENDS = ("", "_low", "_high")  # of a modelled figure: itself and its plausible bounds
MASSES = (
    "provider_scope_1_kgco2e",
    "provider_scope_2_location_based_kgco2e",
    "provider_scope_2_market_based_kgco2e",
    "provider_scope_3_location_based_kgco2e",
    "provider_scope_3_market_based_kgco2e",
    "provider_scope_3_unsplit_kgco2e",
    "provider_total_location_based_kgco2e",
    "provider_total_market_based_kgco2e",
)

# The residual reasons in the words of a page. Order is reading order: what runs could have carried comes first.
RESIDUAL_GROUP = """case
        when reason = 'idle' then 'Idle'
        when reason = 'unused_commitment' then 'Commitments'
        when reason = 'non_accelerator' then 'Other services'
        when reason in ('tax', 'support', 'credit', 'refund') then 'Tax, support, credits'
        else 'Unallocated'
    end"""
# Places of groups in reading order. With GROUP BY ALL an expression has to be an aggregate; all rows of a group have the same.
GROUPS = ["Idle", "Commitments", "Other services", "Unallocated", "Tax, support, credits", "Quarantined", "Provider total"]
GROUP_ORDER = f"min(coalesce(list_position({GROUPS}, part), 0))"  # those of runs come first
OUTCOMES = ["succeeded", "running", "stopped", "failed", "interrupted", "unknown", "idle reserve", "idle", "unused commitment"]
OUTCOMES += ["named by no record", "no records kept"]
OUTCOME_ORDER = f"min(coalesce(list_position({OUTCOMES}, outcome), {OUTCOMES.index('unknown') + 1}))"


def within(column: str = "usage_month") -> str:
    """Half-open, as every interval here."""
    return f"{column} >= $start and {column} < $end"


def account_names(account: str, name: str) -> str:
    """A join that finds the display name of an account, where the bills carry one."""
    names = f"select provider_name, account_id as {account}, account_name as {name} from marts.dim_accounts"
    return f"left join ({names}) as {name}s using (provider_name, {account})"


def reconciled(names: str, part: str, total: str, measures: tuple[str, str], only: str = "true") -> str:
    """A step of a waterfall from the reconciliation: a total of two measures, each in a column of its own."""
    sides = ", ".join(f"case when measure = '{measure}' then {total} else 0 end" for measure in measures)
    return f"""select {names}, '{part}', {sides}
    from marts.fct_reconciliation
    where method = 'conservation' and measure in {measures} and {within()} and {only}"""


def of_runs(book: str) -> str:
    """The rows of a mart of runs, each beside its run: of_runs("energy") are those of fct_training_run_energy."""
    return f"""marts.fct_training_run_{book} as {book}
inner join marts.dim_training_runs as runs using (training_run_id)"""


def whole(column: str, parts: str = "count(*)") -> str:
    """A sum that is null when any part is null: half a total is not a total. `parts` counts the parts there should be."""
    return f"case when {parts} = count({column}) then sum({column}) end"


def wholes(*columns: str) -> str:
    """Such sums under the names of their columns, as a select has them."""
    return ", ".join(f"{whole(column)} as {column}" for column in columns)


PERIODS = ("month_1", "month_2", "month_3", "quarter")


def by_period(amount: str, name: str, known: str = "true") -> dict[str, str]:
    """Sums of each month and of the whole quarter as columns of their own: null where `known` is not, or where any part is null.

    `known` is a condition on a row's usage_month: the month has all its publications.
    """
    sums = {}
    for period in PERIODS:
        condition = "true" if period == "quarter" else f"usage_month = ${period}"
        sums[f"{name}_{period}"] = f"""case when {known.format(condition=condition)}
            and count(*) filter (where {condition} and {amount} is null) = 0
        then coalesce(sum({amount}) filter (where {condition}), 0) end"""
    return sums


# CTEs that end in `presence`: every payer that a configured source has ever had, and every payer of this or the last quarter, x
# every month of the quarter, with its bill and its carbon; a source that has delivered nothing so far means a payer that is not
# known yet.
# A month whose carbon export was delivered empty is published: no emissions is an answer.
PRESENCE = """books as (
    select distinct provider_name, payer_account_id, source_name, usage_month,
        measure like 'provider_%' as is_carbon
    from marts.fct_reconciliation
    where method = 'conservation' and (measure = 'billed_cost' or (measure like 'provider_%' and provider_total is not null))
),
payers as (
    select provider_name, payer_account_id, '' as source_name, true as needs_bill, true as needs_carbon
    from books
    where usage_month < $end
        and (usage_month >= $before or source_name in (select source_name from ops.listed_objects))
    group by provider_name, payer_account_id
    union all
    select case when kind like 'gcp%' then 'Google Cloud' else 'AWS' end, '', source_name,
        kind not like '%carbon%', kind like '%carbon%'
    from ops.listed_objects
    where kind in ('aws_cur', 'aws_focus', 'aws_carbon', 'gcp_billing', 'gcp_focus', 'gcp_carbon')
        and source_name not in (select source_name from marts.fct_reconciliation)
        and source_name not in (select source_name from ops.dim_deliveries where is_elected)
),
delivered_months as (
    select provider_name, payer_account_id, usage_month, is_carbon from books
    union
    select carbon_sources.provider_name, payer_account_id, cast(left(partition, 7) || '-01' as date), true
    from ops.dim_deliveries
    inner join (select distinct source_name, provider_name, payer_account_id from books where is_carbon) as carbon_sources
        using (source_name)
    where is_elected and regexp_matches(partition, '^[0-9]{4}-[0-9]{2}([^0-9]|$$)')
),
presence as (
    select provider_name, payer_account_id, source_name, usage_month,
        bool_or(not needs_bill or is_carbon is false) as has_bill,
        bool_or(not needs_carbon or is_carbon is true) as has_carbon
    from payers
    cross join unnest([$month_1, $month_2, $month_3]) as months (usage_month)
    left join delivered_months using (provider_name, payer_account_id, usage_month)
    group by provider_name, payer_account_id, source_name, usage_month
)"""

WAYS = ("location", "market")
PARTS = (("run", " filter (where is_run)"), ("rest", " filter (where not is_run)"), ("all", ""))


def parts_of(book: str, columns: str) -> str:
    """CTE `parts`: each row of a book, of runs and of the residual; their sum is the provider's less what is quarantined."""
    return f"""parts as (
    select true as is_run, training_run_id, cast(null as varchar) as reason, {columns}
    from marts.fct_run_cell_{book}
    where {within()}
    union all
    select false, null, reason, {columns}
    from marts.fct_residual_{book}
    where {within()}
)"""


_NAMES = "source_name, provider_name, payer_account_id, region_id, service_code, usage_month, provider_model_version"
EMISSION_PARTS = parts_of("emissions", ", ".join((_NAMES, *MASSES)))
