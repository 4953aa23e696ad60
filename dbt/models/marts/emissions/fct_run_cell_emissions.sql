select
    part_id as training_run_id,
    {{ cell() }},
    provider_model_version
    {%- for mass in mass_names() %},
    {{ mass }}
    {%- endfor %}
from {{ ref('int_carbon_splits') }}
where part_id <> '~residual' and is_elected
