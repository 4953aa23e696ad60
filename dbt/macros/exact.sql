{# Exact arithmetic that gives the same digits on every engine (docs/methodology/exactness.md).
   A provider's number becomes exact once, in staging, by to_exact; splits work on whole units. #}

{# Text as written, rounded half away from zero. Any |x| below a fifth of a unit is 0, whatever the engine's parser thinks of exponents. #}
{% macro string_to_decimal(x, s) -%}
case when abs(cast({{ x }} as double)) < 2e-{{ s + 1 }} then cast(0 as decimal(38,{{ s }})) else cast({{ x }} as decimal(38,{{ s }})) end
{%- endmacro %}

{# A double's first 15 significant digits, at most s decimals, half away from zero; null from 1e12 (s = 12) or 1e15 (s = 9): landing refuses those.
   Compare, multiply, add and floor are IEEE steps, the same bits everywhere. #}
{% macro double_to_decimal(x, s) -%}
{%- set f %}case{% for i in range(10) %} when abs({{ x }}) < 1e{{ 15 - s + i }} then 1e{{ s - i }}{% endfor %} end{% endset -%}
{%- set g %}case{% for i in range(10) %} when abs({{ x }}) < 1e{{ 15 - s + i }} then 1{{ '0' * i }}{% endfor %} end{% endset -%}
{%- set m %}cast(sign({{ x }}) * floor(abs({{ x }}) * {{ f }} + 5e-1) as bigint){% endset -%}
{{ from_units('cast(' ~ m ~ ' as decimal(19,0)) * cast(' ~ g ~ ' as decimal(' ~ ([s + 1, 10] | max) ~ ',0))', s) }}
{%- endmacro %}

{# A Number column of a raw view: x holds physical doubles, x__text what the file wrote as text; at most one of them is filled. #}
{% macro to_exact(column, s) -%}
coalesce({{ string_to_decimal(column ~ '__text', s) }}, {{ double_to_decimal(column, s) }})
{%- endmacro %}

{# A Number column as a double: enough for its sign, and to see whether there is a number. #}
{% macro as_double(x) -%}coalesce({{ x }}, cast({{ x }}__text as double)){%- endmacro %}

{# Of two Number columns the first that has a value, as a Number column again: the net amount where the bill has one. #}
{% macro first_number(name, first, second) -%}
coalesce({{ first }}, case when {{ first }}__text is null then {{ second }} end) as {{ name }},
    coalesce({{ first }}__text, case when {{ first }} is null then {{ second }}__text end) as {{ name }}__text
{%- endmacro %}

{# The exact sum of a provider's numbers over a group: what summing to_exact of each row gives, without making a decimal of each row. Doubles
   from 0 to below 1000 (at 12 decimals) are nearly all of a bill: their whole units fit 64 bits and add up as such, and only the others take the long cast.
   Null where no row has a value. x: doubles, text: the same column where the file wrote text. #}
{% macro exact_total(x, text, s) -%}
{%- set usual = x ~ ' >= 0 and ' ~ x ~ ' < 1e' ~ (15 - s) -%}
{%- set units = sum_of_bigints('case when ' ~ usual ~ ' then cast(floor(' ~ x ~ ' * 1e' ~ s ~ ' + 5e-1) as bigint) end') -%}
{%- set unusual = 'sum(case when ' ~ x ~ ' < 0 or ' ~ x ~ ' >= 1e' ~ (15 - s) ~ ' then ' ~ double_to_decimal(x, s) ~ ' end)' -%}
{%- set written = 'sum(' ~ string_to_decimal(text, s) ~ ')' -%}
case
        when count(case when abs({{ x }}) < 1e{{ 24 - s }} then 1 end) + count({{ text }}) = 0 then null
        else {{ exact_sum([from_units('coalesce(' ~ units ~ ', 0)', s), 'coalesce(' ~ unusual ~ ', 0)', 'coalesce(' ~ written ~ ', 0)'], s) }}
    end
{%- endmacro %}

{% macro to_units(x, s) -%}
cast(cast({{ x }} as decimal({{ 36 - s }},{{ s }})) * cast(1{{ '0' * s }} as decimal({{ s + 1 }},0)) as decimal(38,0))
{%- endmacro %}

{% macro from_units(u, s) -%}
cast(cast({{ u }} as decimal({{ 37 - s }},0)) * cast(0.{{ '0' * (s - 1) }}1 as decimal({{ s }},{{ s }})) as decimal(38,{{ s }}))
{%- endmacro %}

{# The sum of exact figures at scale s. Two decimal(38, s) add up to 39 digits: Spark would give a decimal away for them, so each term gives a leading digit. #}
{% macro exact_sum(terms, s) -%}
cast({% for term in terms %}{{ ' + ' if not loop.first }}cast({{ term }} as decimal({{ 39 - terms | length }},{{ s }})){% endfor %} as decimal(38,{{ s }}))
{%- endmacro %}

{# An exact figure at scale s times a whole number below ten: 36 + 1 digits and one for the product. #}
{% macro exact_multiple(x, n, s) -%}
cast(cast({{ x }} as decimal(36,{{ s }})) * cast({{ n }} as decimal(1,0)) as decimal(38,{{ s }}))
{%- endmacro %}

{# a * b / c of whole numbers above 0, half up. Where twice a * b has no room in 38 digits (7 million of a currency times as much, at 12 decimals), what
   a has beyond a multiple of c is multiplied in two steps, by the trillions of b and by their rest: c may be 1e24. #}
{% macro multiplied_and_divided(a, b, c) -%}
{%- set trillion = 'cast(1000000000000 as decimal(38,0))' -%}
{%- set rest = '(' ~ a ~ ' % ' ~ c ~ ')' -%}
{%- set high = 'cast(' ~ rest ~ ' * ' ~ int_div(b, trillion) ~ ' as decimal(38,0))' -%}
{%- set low = 'cast(cast((' ~ high ~ ' % ' ~ c ~ ') * ' ~ trillion ~ ' as decimal(38,0)) + cast(' ~ rest ~ ' * (' ~ b ~ ' % ' ~ trillion
    ~ ') as decimal(38,0)) as decimal(38,0))' -%}
case
            when cast({{ a }} as double) * cast({{ b }} as double) < 4e37
                then {{ int_div('cast(2 * ' ~ a ~ ' * ' ~ b ~ ' + ' ~ c ~ ' as decimal(38,0))', 'cast(2 * ' ~ c ~ ' as decimal(38,0))') }}
            else cast(
                cast({{ int_div(a, c) }} * {{ b }} as decimal(38,0)) + cast({{ int_div(high, c) }} * {{ trillion }} as decimal(38,0))
                + {{ int_div('cast(2 * ' ~ low ~ ' + ' ~ c ~ ' as decimal(38,0))', 'cast(2 * ' ~ c ~ ' as decimal(38,0))') }} as decimal(38,0)
            )
        end
{%- endmacro %}

{# Hours at scale s times a price at nine decimals, half away from zero at twelve; null where no price is known, or no exact figure has room. #}
{% macro priced_hours(hours, s, price) -%}
case
            when abs(cast({{ hours }} as double)) < 1e12 and abs(cast({{ hours }} as double)) * cast({{ price }} as double) < 1e12
                then {{ from_units('case when ' ~ hours ~ ' < 0 then -1 else 1 end * (' ~ multiplied_and_divided(
                    to_units('abs(' ~ hours ~ ')', s), to_units(price, 9), 'cast(1' ~ '0' * (s - 3) ~ ' as decimal(38,0))'
                ) ~ ')', 12) }}
        end
{%- endmacro %}

{# Money in another currency, half away from zero at twelve decimals. The rate's whole units and its decimals multiply apart, so that no product
   needs more than 38 digits; what would be 1e12 or more, as with a rate that lost its decimal point, is unknown. #}
{% macro converted(x, rate) -%}
{%- set units, rate_units = to_units('abs(' ~ x ~ ')', 12), to_units(rate, 12) -%}
{%- set decimals = '(' ~ rate_units ~ ' % cast(1000000000000 as decimal(13,0)))' -%}
case
            when abs(cast({{ x }} as double)) * cast({{ rate }} as double) < 1e12
                then {{ from_units(
                    'case when ' ~ x ~ ' < 0 then -1 else 1 end * (cast(' ~ units ~ ' * '
                    ~ int_div(rate_units, 'cast(1000000000000 as decimal(38,0))') ~ ' as decimal(38,0)) + '
                    ~ int_div(
                        'cast(2 * ' ~ units ~ ' * ' ~ decimals ~ ' + 1000000000000 as decimal(38,0))',
                        'cast(2000000000000 as decimal(38,0))'
                    ) ~ ')', 12
                ) }}
        end
{%- endmacro %}

{#
  Divide amounts among parts, exactly: whole units, floor, largest remainder, ties by part id, `~residual` last.
  charges(charge_id, <measures>): a measure may be null, then all its parts are null.
  parts(charge_id, part_id, w): w a whole number >= 0, (charge_id, part_id) unique. Where all weights are 0, `~residual` takes everything,
  so a charge that can have a total of 0 needs that row. A charge without any part gives no row.
  Gives charge_id, part_id, w and each measure's part. q = u div total and r = u mod total first, so that only r x w must be formed. Where that
  has no room in 38 digits it is formed in two steps: by the trillions of w, then by the rest of w and what the first step left over. So r x w may
  reach 1e50: 13,192,638 USD by 35,343,973,791 chip-seconds in trillionths, which a bill of a million chip-hours in one row asks for.
#}
{% macro exact_split(charges, parts, measures, s) %}
{%- set trillion = 'cast(1000000000000 as decimal(38,0))' %}
with charge_units as (
    select
        charge_id
        {%- for m in measures %},
        case when {{ m }} < 0 then -1 else 1 end as {{ m }}__sign,
        {{ quick_units('abs(' ~ m ~ ')', s) }} as {{ m }}__u
        {%- endfor %}
    from {{ charges }}
),

weighted as (
    select
        charge_id,
        part_id,
        cast(w as decimal(38,0)) as w0,
        cast(sum(cast(w as decimal(38,0))) over (partition by charge_id) as decimal(38,0)) as tot0
    from {{ parts }}
),

shares as (
    select
        weighted.charge_id,
        weighted.part_id,
        weighted.w0,
        case
            when weighted.tot0 > 0 then weighted.w0
            when weighted.part_id = '~residual' then cast(1 as decimal(38,0))
            else cast(0 as decimal(38,0))
        end as w,
        case when weighted.tot0 > 0 then weighted.tot0 else cast(1 as decimal(38,0)) end as tot
        {%- for m in measures %},
        charge_units.{{ m }}__sign,
        charge_units.{{ m }}__u
        {%- endfor %}
    from weighted
    inner join charge_units using (charge_id)
),

quotients as (
    select
        *
        {%- for m in measures %},
        case when w = tot then cast(1 as decimal(38,0)) else {{ int_div(m ~ '__u', 'tot') }} end as {{ m }}__q
        {%- endfor %}
    from shares
),

leftovers as (
    select
        *
        {%- for m in measures %},
        case when w = tot then cast(0 as decimal(38,0)) else {{ m }}__u - cast({{ m }}__q * tot as decimal(38,0)) end as {{ m }}__r
        {%- endfor %}
    from quotients
),

highs as (
    select
        *
        {%- for m in measures %},
        case
            when cast({{ m }}__r as double) * cast(w as double) < 1e37 then cast(0 as decimal(38,0))
            else {{ int_div('cast(' ~ m ~ '__r * ' ~ int_div('w', trillion) ~ ' as decimal(38,0))', 'tot') }}
        end as {{ m }}__high
        {%- endfor %}
    from leftovers
),

products as (
    select
        *
        {%- for m in measures %},
        case
            when cast({{ m }}__r as double) * cast(w as double) < 1e37 then cast({{ m }}__r * w as decimal(38,0))
            else cast(
                cast(
                    (cast({{ m }}__r * {{ int_div('w', trillion) }} as decimal(38,0)) - cast({{ m }}__high * tot as decimal(38,0)))
                    * {{ trillion }} as decimal(38,0)
                ) + cast({{ m }}__r * (w % {{ trillion }}) as decimal(38,0)) as decimal(38,0)
            )
        end as {{ m }}__a
        {%- endfor %}
    from highs
),

floors as (
    select
        *
        {%- for m in measures %},
        case
            when w = tot then {{ m }}__u
            else cast(
                cast({{ m }}__q * w as decimal(38,0)) + cast({{ m }}__high * {{ trillion }} as decimal(38,0))
                + {{ int_div(m ~ '__a', 'tot') }} as decimal(38,0)
            )
        end as {{ m }}__base,
        case when w = tot then cast(0 as decimal(38,0)) else {{ int_mod(m ~ '__a', 'tot') }} end as {{ m }}__rest
        {%- endfor %}
    from products
),

ranked as (
    select
        *
        {%- for m in measures %},
        row_number() over (partition by charge_id order by {{ m }}__rest desc, part_id) as {{ m }}__rank,
        {{ m }}__u - sum({{ m }}__base) over (partition by charge_id) as {{ m }}__left
        {%- endfor %}
    from floors
)

select
    charge_id,
    part_id,
    w0 as w
    {%- for m in measures %},
    {{ from_units(m ~ '__sign * (' ~ m ~ '__base + case when ' ~ m ~ '__rank <= ' ~ m ~ '__left then 1 else 0 end)', s) }} as {{ m }}
    {%- endfor %}
from ranked
{% endmacro %}
