{# The schema is the room's own name (staging, intermediate, marts, seeds), without a prefix. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
{{ custom_schema_name | trim if custom_schema_name else target.schema }}
{%- endmacro %}
