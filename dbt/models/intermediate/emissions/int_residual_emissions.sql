with residuals as (
    select * from {{ ref('int_carbon_splits') }}
    where part_id = '~residual' and (w > 0 or not is_weighted)
),

charges as (
    select
        cell_id as charge_id
        {%- for mass in mass_names() %},
        {{ mass }}
        {%- endfor %}
    from residuals
),

reasons as (
    select residuals.cell_id, weights.reason, weights.w
    from residuals
    inner join {{ ref('int_carbon_weights') }} as weights
        using (provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month)
    where residuals.is_weighted and not residuals.is_global and weights.training_run_id is null and weights.w > 0
),

parts as (
    select cell_id as charge_id, reason as part_id, w from reasons

    union all

    select
        residuals.cell_id as charge_id,
        case when residuals.is_global then 'global' when not residuals.is_weighted then 'no_usage' else 'unattributed' end
            as part_id,
        cast(1 as decimal(38, 0)) as w
    from residuals
    where residuals.cell_id not in (select reasons.cell_id from reasons)
),

split as (
    {{ exact_split('charges', 'parts', mass_names(), 9) }}
)

select
    {{ cell_of('residuals') }},
    residuals.cell_id,
    residuals.provider_model_version,
    residuals.is_elected,
    split.part_id as reason
    {%- for mass in mass_names() %},
    split.{{ mass }}
    {%- endfor %}
from split
inner join residuals on split.charge_id = residuals.cell_id
