{# What the statistics of report models are made of (docs/methodology/comparison.md). Doubles are never added up, as the order of rows would decide
   the last digits: a logarithm is made exact first. #}

{# An exact sum over a run's months as a double; null where one of them is unknown. #}
{% macro sum_as_double(x) -%}
case when count(*) = count({{ x }}) then cast(sum({{ x }}) as double) end
{%- endmacro %}

{# The natural logarithm at twelve decimals; null for what is not above 0. #}
{% macro exact_log(x) -%}
case when {{ x }} > 0 then cast(ln({{ x }}) as decimal(18, 12)) end
{%- endmacro %}

{# The mean of exact logarithms at twelve decimals, over a group or a window. #}
{% macro mean_log(x, over='') -%}
cast(cast(sum({{ x }}){{ over }} as double) / cast(count({{ x }}){{ over }} as double) as decimal(18, 12))
{%- endmacro %}

{# A ratio or a count in a sentence: 0.780, on either engine. #}
{% macro in_words(x) -%}
cast(cast({{ x }} as decimal(38, 3)) as string)
{%- endmacro %}
