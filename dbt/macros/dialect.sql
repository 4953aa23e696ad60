{# All differences between engines stand in this file and in int_div of exact.sql; nowhere else. #}

{% macro map_get(map, key) -%}{{ map }}['{{ key }}']{%- endmacro %}

{% macro matches(x, pattern) %}{{ return(adapter.dispatch('matches', 'trainledger')(x, pattern)) }}{% endmacro %}
{% macro duckdb__matches(x, pattern) -%}regexp_matches({{ x }}, '{{ pattern }}'){%- endmacro %}
{% macro spark__matches(x, pattern) -%}regexp_like({{ x }}, '{{ pattern }}'){%- endmacro %}

{% macro replace_all(x, pattern, by) %}{{ return(adapter.dispatch('replace_all', 'trainledger')(x, pattern, by)) }}{% endmacro %}
{% macro duckdb__replace_all(x, pattern, by) -%}regexp_replace({{ x }}, '{{ pattern }}', '{{ by }}', 'g'){%- endmacro %}
{% macro spark__replace_all(x, pattern, by) -%}regexp_replace({{ x }}, '{{ pattern }}', '{{ by }}'){%- endmacro %}

{# whole microseconds between two timestamps, as decimal(38,0) #}
{% macro microseconds(a, b) %}{{ return(adapter.dispatch('microseconds', 'trainledger')(a, b)) }}{% endmacro %}
{% macro duckdb__microseconds(a, b) -%}cast(epoch_us({{ b }}) - epoch_us({{ a }}) as decimal(38,0)){%- endmacro %}
{% macro spark__microseconds(a, b) -%}cast(unix_micros({{ b }}) - unix_micros({{ a }}) as decimal(38,0)){%- endmacro %}

{# the product of the distinct values of a whole-number column within a group, as decimal(38,0) #}
{% macro product_of_distinct(x) %}{{ return(adapter.dispatch('product_of_distinct', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__product_of_distinct(x) -%}cast(list_reduce(list(distinct cast({{ x }} as hugeint)), lambda a, b: a * b) as decimal(38,0)){%- endmacro %}
{% macro spark__product_of_distinct(x) -%}aggregate(collect_set(cast({{ x }} as decimal(38,0))), cast(1 as decimal(38,0)), (a, b) -> cast(a * b as decimal(38,0))){%- endmacro %}
