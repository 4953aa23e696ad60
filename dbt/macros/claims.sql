{# Terms of the claims of vendors and articles. #}

{# Student's t that 1 % exceeds: both tails leave 98 %. For 4 and more degrees of freedom; from 31 on by its expansion about the normal
   quantile, which is right to six digits there. #}
{% macro t_of_98_percent(df) -%}
{%- set table = [
    3.746947388, 3.364929999, 3.142668403, 2.997951567, 2.896459448, 2.821437925, 2.763769458, 2.718079184, 2.680997993,
    2.650308838, 2.624494068, 2.602480295, 2.583487185, 2.566933984, 2.552379630, 2.539483191, 2.527977003, 2.517648016,
    2.508324553, 2.499866739, 2.492159473, 2.485107175, 2.478629825, 2.472659912, 2.467140098, 2.462021360, 2.457261542,
] -%}
case {{ df }}
            {%- for t in table %} when {{ loop.index + 3 }} then {{ t }}e0{% endfor %}
            else 2.326347874e0 + (3.729074e0 + (5.719746e0 + 6.718578e0 / {{ df }}) / {{ df }}) / {{ df }}
        end
{%- endmacro %}

{# Half a total is not a total, as a double: the sum of a column, or null where a part of it is. #}
{% macro known_sum(x, type='') -%}
cast(case when count(*) = count({{ x }}) then {{ 'cast(sum(' ~ x ~ ') as ' ~ type ~ ')' if type else 'sum(' ~ x ~ ')' }} end as double)
{%- endmacro %}
