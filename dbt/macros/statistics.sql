{# What the statistics of report models are made of (docs/methodology/comparison.md). Doubles are never added up, as the order of rows would decide
   the last digits: a logarithm is made exact first. #}

{# An exact sum over a run's months as a double; null where one of them is unknown. #}
{% macro sum_as_double(x) -%}
case when count(*) = count({{ x }}) then cast(sum({{ x }}) as double) end
{%- endmacro %}

{# The natural logarithm at twelve decimals, half away from zero; null for what is not above 0. A cast of the double would round halves otherwise
   on the other engine: it is made whole units by IEEE steps. No double has a logarithm of 1000 or more. #}
{% macro exact_log(x) -%}
case
            when {{ x }} > 0
                then cast({{ from_units('cast(sign(ln(' ~ x ~ ')) * floor(abs(ln(' ~ x ~ ')) * 1e12 + 5e-1) as bigint)', 12) }} as decimal(18, 12))
        end
{%- endmacro %}

{# The mean of exact logarithms at twelve decimals, half away from zero, over a group or a window; null without any. Divided as whole numbers: of two
   logarithms every other mean is a tie, which a quotient of doubles leaves to the engine. #}
{% macro mean_log(x, over='') -%}
{%- set total, n = 'sum(' ~ x ~ ')' ~ over, 'cast(count(' ~ x ~ ')' ~ over ~ ' as decimal(18, 0))' -%}
{%- set doubled = 'cast(2 * ' ~ to_units('abs(' ~ total ~ ')', 12) ~ ' + ' ~ n ~ ' as decimal(38, 0))' -%}
case
            when count({{ x }}){{ over }} > 0
                then cast({{ from_units(
                    'case when ' ~ total ~ ' < 0 then -1 else 1 end * ' ~ int_div(doubled, 'cast(2 * ' ~ n ~ ' as decimal(38, 0))'), 12
                ) }} as decimal(18, 12))
        end
{%- endmacro %}

{# A ratio or a count in a sentence: 0.780, on either engine. #}
{% macro in_words(x) -%}
cast(cast({{ x }} as decimal(38, 3)) as string)
{%- endmacro %}
