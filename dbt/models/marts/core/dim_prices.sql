{%- set columns = [
    'price_id', 'provider_name', 'accelerator_type', 'region_id', 'purchase_option', 'price_per_unit', 'unit', 'currency', 'valid_from',
    'valid_to', 'source', 'source_date', 'confidence', 'is_quoted_only', 'note',
] %}
{#- quotes, the organisation's own prices, and what Google lists for the account day by day; with what is no column of theirs #}
{%- set origins = [
    (ref('prices'), {'valid_to': 'cast(null as date)'}),
    (ref('int_own_prices'), {
        'source_date': 'coalesce(source_date, valid_from)', 'confidence': "'user'", 'is_quoted_only': 'false',
        'note': 'cast(null as string)',
    }),
    (ref('int_gcp_list_prices'), {'confidence': "'high'", 'is_quoted_only': 'false', 'note': 'cast(null as string)'}),
] %}
{%- for origin, made in origins %}
select
    {%- for column in columns %}
    {{ made[column] ~ ' as ' if column in made }}{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ origin }}
{{ 'union all' if not loop.last }}
{%- endfor %}
