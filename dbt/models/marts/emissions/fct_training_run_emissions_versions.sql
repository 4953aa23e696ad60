select
    part_id as training_run_id,
    usage_month,
    provider_name,
    provider_model_version,
    bool_and(is_elected) as is_elected
    {%- for mass in mass_names() %},
    {{ whole_sum(mass, 'decimal(38, 9)') }} as {{ mass }}
    {%- endfor %}
from {{ ref('int_carbon_splits') }}
where part_id <> '~residual'
group by part_id, usage_month, provider_name, provider_model_version
