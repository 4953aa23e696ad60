{{ config(meta={'empty_without': ['stg_aws_water__withdrawals']}) }}
{%- set account = 'payer_account_id, sub_account_id, usage_year' %}
{#- emissions over the factor of their grid; within one region the factor is the same on both sides -#}
{%- set electricity -%}
case
            when charges.region_id <> '*' then {{ to_units('places.kgco2e', 9) }}
            when places.kgco2e = 0 then cast(0 as decimal(38, 0))
            -- AWS's page on energy excludes these two
            when places.region_id not in ('ca-central-1', 'af-south-1') and factors.value > 0 then {{ int_div(
                'cast(2 * ' ~ to_units('places.kgco2e', 9) ~ ' * 1000000000 + ' ~ to_units('factors.value', 9)
                ~ ' as decimal(38, 0))',
                'cast(2 * ' ~ to_units('factors.value', 9) ~ ' as decimal(38, 0))'
            ) }}
        end
{%- endset %}

-- of two answers about the year of an account the one published last counts, with all its regions
with answers as (
    select * from {{ ref('stg_aws_water__withdrawals') }}
    qualify rank() over (partition by {{ account }} order by published_at desc, source_name, source_object) = 1
),

stated as (
    select
        answers.payer_account_id,
        answers.sub_account_id,
        answers.usage_year,
        coalesce(named.region_id, answers.region_id, '*') as region_id,
        max(answers.provider_model_version) as provider_model_version,
        min(answers.source_name) as source_name,
        min(answers.source_object) as source_object,
        min(answers.row_number) as row_number,
        cast(sum(answers.withdrawal_m3) as decimal(38, 9)) as withdrawal_m3
    from answers
    left join {{ ref('regions') }} as named
        on answers.provider_name = named.provider_name and answers.region_id = named.carbon_region_name
    group by
        answers.payer_account_id, answers.sub_account_id, answers.usage_year,
        coalesce(named.region_id, answers.region_id, '*')
),

charges as (
    select *, payer_account_id || '|' || sub_account_id || '|' || cast(usage_year as string) || '|' || region_id as charge_id
    from stated
),

-- all that AWS states of the account, whoever used it: a row of a region that nobody knows used electricity as well
carbon_rows as (
    select
        payer_account_id,
        sub_account_id,
        cast(date_trunc('year', usage_month) as date) as usage_year,
        usage_month,
        region_id,
        provider_model_version,
        provider_scope_2_location_based_kgco2e as kgco2e
    from {{ ref('int_carbon_rows') }}
    where provider_name = 'AWS' and is_elected and coalesce(quarantine_reason, 'unknown_region') = 'unknown_region'
),

years as (
    select
        {{ account }},
        count(distinct usage_month) as month_count,
        count(distinct provider_model_version) as version_count
    from carbon_rows
    group by {{ account }}
),

places as (
    select
        {{ account }},
        usage_month,
        region_id,
        cast(null as string) as training_run_id,
        {{ whole_sum('kgco2e', 'decimal(38, 9)') }} as kgco2e
    from carbon_rows
    group by {{ account }}, usage_month, region_id

    union all

    select
        payer_account_id,
        sub_account_id,
        cast(date_trunc('year', usage_month) as date) as usage_year,
        usage_month,
        region_id,
        training_run_id,
        {{ whole_sum('provider_scope_2_location_based_kgco2e', 'decimal(38, 9)') }} as kgco2e
    from {{ ref('fct_run_cell_emissions') }}
    where provider_name = 'AWS'
    group by payer_account_id, sub_account_id, usage_month, region_id, training_run_id
),

uses as (
    select
        charges.charge_id,
        places.training_run_id,
        places.usage_month,
        places.kgco2e is null as is_unstated,
        {{ electricity }} as w
    from charges
    inner join places using ({{ account }})
    left join {{ ref('int_region_factors') }} as factors
        on
            places.usage_month = factors.usage_month
            and places.region_id = factors.region_id
            and factors.provider_name = 'AWS'
    where charges.region_id in ('*', places.region_id)
),

run_uses as (
    select charge_id, training_run_id, usage_month, cast(sum(coalesce(w, 0)) as decimal(38, 0)) as w
    from uses
    where training_run_id is not null
    group by charge_id, training_run_id, usage_month
),

totals as (
    select
        charge_id,
        bool_or(is_unstated) as is_unstated,
        {{ whole_sum('case when training_run_id is null then w else 0 end', 'decimal(38, 0)') }} as whole_w,
        cast(sum(case when training_run_id is not null then coalesce(w, 0) else 0 end) as decimal(38, 0)) as runs_w
    from uses
    group by charge_id
),

known_charges as (
    select
        charges.charge_id,
        charges.withdrawal_m3 as stated_m3,
        case
            when coalesce(years.month_count, 0) < 12 then 'the year has a month without emissions of the account'
            when years.version_count > 1 then 'the year has two versions of the provider''s carbon model'
            when totals.charge_id is null or totals.whole_w = 0 then 'the provider states no emissions of electricity'
            when totals.is_unstated then 'the provider states no Scope 2'
            when totals.whole_w is null then 'emissions of no region, or of one without a factor for its electricity'
        end as unknown_because,
        greatest(coalesce(totals.whole_w - totals.runs_w, 1), 0) as rest_w
    from charges
    left join years using ({{ account }})
    left join totals using (charge_id)
),

divided as (
    select charge_id, case when unknown_because is null then stated_m3 end as withdrawal_m3
    from known_charges
),

parts as (
    select charge_id, training_run_id || '|' || cast(usage_month as string) as part_id, w from run_uses

    union all

    select charge_id, '~residual' as part_id, cast(rest_w as decimal(38, 0)) as w from known_charges
),

split as (
    {{ exact_split('divided', 'parts', ['withdrawal_m3'], 9) }}
)

select
    charges.payer_account_id,
    charges.sub_account_id,
    charges.usage_year,
    charges.region_id,
    charges.provider_model_version,
    charges.source_name,
    charges.source_object,
    charges.row_number,
    known_charges.stated_m3,
    known_charges.unknown_because,
    run_uses.training_run_id,
    run_uses.usage_month,
    split.withdrawal_m3
from split
inner join charges using (charge_id)
inner join known_charges using (charge_id)
left join run_uses
    on
        split.charge_id = run_uses.charge_id
        and split.part_id = run_uses.training_run_id || '|' || cast(run_uses.usage_month as string)
