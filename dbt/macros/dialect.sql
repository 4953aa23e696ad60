{# All differences between engines are in this file; nowhere else. #}

{% macro map_get(map, key) -%}{{ map }}['{{ key }}']{%- endmacro %}

{% macro matches(x, pattern) %}{{ return(adapter.dispatch('matches', 'trainledger')(x, pattern)) }}{% endmacro %}
{% macro duckdb__matches(x, pattern) -%}regexp_matches({{ x }}, '{{ pattern }}'){%- endmacro %}
{% macro spark__matches(x, pattern) -%}regexp_like({{ x }}, '{{ pattern }}'){%- endmacro %}

{% macro replace_all(x, pattern, by) %}{{ return(adapter.dispatch('replace_all', 'trainledger')(x, pattern, by)) }}{% endmacro %}
{% macro duckdb__replace_all(x, pattern, by) -%}regexp_replace({{ x }}, '{{ pattern }}', '{{ by }}', 'g'){%- endmacro %}
{% macro spark__replace_all(x, pattern, by) -%}regexp_replace({{ x }}, '{{ pattern }}', '{{ by }}'){%- endmacro %}

{# the texts of a group as one, in their order #}
{% macro in_one_text(x) %}{{ return(adapter.dispatch('in_one_text', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__in_one_text(x) -%}string_agg({{ x }}, ', ' order by {{ x }}){%- endmacro %}
{% macro spark__in_one_text(x) -%}listagg({{ x }}, ', ') within group (order by {{ x }}){%- endmacro %}

{# a double rounded to a whole decimal(38,0), every digit that its bits say; null from 1e38. Spark casts the shortest text of a double: 1.4000558462976001e22
   would be ...001000000. Above 2^53 it is cut at powers of two, which are exact steps, into numbers that fit 64 bits. #}
{% macro whole_number(x) %}{{ return(adapter.dispatch('whole_number', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__whole_number(x) -%}try_cast({{ x }} as decimal(38, 0)){%- endmacro %}
{% macro spark__whole_number(x) -%}
{%- set below = 'abs(' ~ x ~ ') % 18446744073709551616e0' -%}
case
        when abs({{ x }}) < 9007199254740992e0 then cast({{ x }} as decimal(38, 0))
        when abs({{ x }}) < 1e38 then cast(case when {{ x }} < 0 then -1 else 1 end * cast(
            cast(cast(floor(abs({{ x }}) / 18446744073709551616e0) as bigint) as decimal(19, 0)) * cast(18446744073709551616 as decimal(20, 0))
            + cast(cast(floor({{ below }} / 4294967296e0) as bigint) as decimal(10, 0)) * cast(4294967296 as decimal(10, 0))
            + cast(cast({{ below }} % 4294967296e0 as bigint) as decimal(10, 0))
        as decimal(38, 0)) as decimal(38, 0))
    end
{%- endmacro %}

{# floor(a / b) for whole a >= 0, b > 0, and what is left of it. DuckDB makes 64 bits of a decimal of 128 by dividing it, in half a
   microsecond, but of one of 64 bits at once: what has room in 18 digits is cut down to them first, which is a tenth of the work #}
{% macro int_div(a, b) %}{{ return(adapter.dispatch('int_div', 'trainledger')(a, b)) }}{% endmacro %}

{% macro duckdb__int_div(a, b) -%}
cast(case when {{ a }} <= 999999999999999999 and {{ b }} <= 999999999999999999
     then cast({{ in_18_digits(a) }} // {{ in_18_digits(b) }} as hugeint)
     else cast({{ a }} as hugeint) // cast({{ b }} as hugeint) end as decimal(38,0))
{%- endmacro %}
{% macro in_18_digits(x) -%}cast(cast({{ x }} as decimal(18,0)) as bigint){%- endmacro %}

{% macro spark__int_div(a, b) -%}
cast((({{ a }}) - ({{ a }}) % ({{ b }})) / ({{ b }}) as decimal(38,0))
{%- endmacro %}

{% macro int_mod(a, b) %}{{ return(adapter.dispatch('int_mod', 'trainledger')(a, b)) }}{% endmacro %}
{% macro duckdb__int_mod(a, b) -%}
cast(case when {{ a }} <= 999999999999999999 and {{ b }} <= 999999999999999999
     then cast({{ a }} as decimal(18,0)) % cast({{ b }} as decimal(18,0)) else ({{ a }}) % ({{ b }}) end as decimal(38,0))
{%- endmacro %}
{% macro spark__int_mod(a, b) -%}cast(({{ a }}) % ({{ b }}) as decimal(38,0)){%- endmacro %}

{# to_units where rows are many. Below 2 * 10^(15 - s) an exact figure has less than 2^51 units, so that a double that is multiplied with 10^s
   and rounded is the very number of them, where DuckDB's division of 128 bits takes thirty times as long. It repeats x: not for long ones #}
{% macro quick_units(x, s) %}{{ return(adapter.dispatch('quick_units', 'trainledger')(x, s)) }}{% endmacro %}
{% macro duckdb__quick_units(x, s) -%}
{%- set figure = 'cast(' ~ x ~ ' as decimal(' ~ (36 - s) ~ ',' ~ s ~ '))' -%}
case when abs({{ x }}) < 2{{ '0' * (15 - s) }} then cast(cast(round(cast({{ figure }} as double) * 1e{{ s }}) as bigint) as decimal(38,0))
     else {{ to_units(x, s) }} end
{%- endmacro %}
{% macro spark__quick_units(x, s) -%}{{ to_units(x, s) }}{%- endmacro %}

{# the sum of a bigint column, exact: DuckDB adds 64 bits up in 128, Spark would stop at 64 #}
{% macro sum_of_bigints(x) %}{{ return(adapter.dispatch('sum_of_bigints', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__sum_of_bigints(x) -%}sum({{ x }}){%- endmacro %}
{% macro spark__sum_of_bigints(x) -%}sum(cast({{ x }} as decimal(19,0))){%- endmacro %}

{# whole microseconds between two timestamps, as decimal(38,0) #}
{% macro microseconds(a, b) %}{{ return(adapter.dispatch('microseconds', 'trainledger')(a, b)) }}{% endmacro %}
{% macro duckdb__microseconds(a, b) -%}cast(epoch_us({{ b }}) - epoch_us({{ a }}) as decimal(38,0)){%- endmacro %}
{% macro spark__microseconds(a, b) -%}cast(unix_micros({{ b }}) - unix_micros({{ a }}) as decimal(38,0)){%- endmacro %}

{# a point in time as whole microseconds since 1970, and the other way round #}
{% macro instant_us(x) %}{{ return(adapter.dispatch('instant_us', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__instant_us(x) -%}epoch_us({{ x }}){%- endmacro %}
{% macro spark__instant_us(x) -%}unix_micros({{ x }}){%- endmacro %}
{% macro timestamp_of(us) %}{{ return(adapter.dispatch('timestamp_of', 'trainledger')(us)) }}{% endmacro %}
{% macro duckdb__timestamp_of(us) -%}make_timestamp({{ us }}){%- endmacro %}
{% macro spark__timestamp_of(us) -%}timestamp_micros({{ us }}){%- endmacro %}

{# a row for each day that a span of time touches, and for the elements of a list #}
{% macro each_day(a, b) %}{{ return(adapter.dispatch('each_day', 'trainledger')(a, b)) }}{% endmacro %}
{% macro duckdb__each_day(a, b) -%}cast(unnest(generate_series(date_trunc('day', {{ a }}), {{ b }}, interval 1 day)) as date){%- endmacro %}
{% macro spark__each_day(a, b) -%}explode(sequence(cast({{ a }} as date), cast({{ b }} as date), interval 1 day)){%- endmacro %}
{% macro each_of(x) %}{{ return(adapter.dispatch('each_of', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__each_of(x) -%}unnest({{ x }}){%- endmacro %}
{% macro spark__each_of(x) -%}explode({{ x }}){%- endmacro %}

{# the rows of a group as a list of structs of some columns, in the order of these #}
{% macro list_of_rows(columns) %}{{ return(adapter.dispatch('list_of_rows', 'trainledger')(columns)) }}{% endmacro %}
{% macro duckdb__list_of_rows(columns) -%}
list_sort(list(struct_pack({% for name in columns %}{{ name }} := {{ name }}{{ ', ' if not loop.last }}{% endfor %})))
{%- endmacro %}
{% macro spark__list_of_rows(columns) -%}
sort_array(collect_list(named_struct({% for name in columns %}'{{ name }}', {{ name }}{{ ', ' if not loop.last }}{% endfor %})))
{%- endmacro %}

{# the least common multiple of a whole-number column within a group, as decimal(38,0); some number above `most`, which is below 1e26, where it is
   greater than that. Spark has no greatest common divisor: a hundred steps of Euclid's are enough below 1e20 #}
{% macro common_multiple(x, most) %}{{ return(adapter.dispatch('common_multiple', 'trainledger')(x, most)) }}{% endmacro %}
{% macro duckdb__common_multiple(x, most) -%}
cast(list_reduce(
        list(distinct cast({{ x }} as hugeint)), lambda a, b: case when a > {{ most }} then a else a // greatest_common_divisor(a, b) * b end
    ) as decimal(38,0))
{%- endmacro %}
{% macro spark__common_multiple(x, most) -%}
{%- set step = "named_struct('x', s.y, 'y', cast(s.x % s.y as decimal(38,0)))" -%}
{%- set divisor = "aggregate(sequence(1, 100), named_struct('x', a, 'y', b), (s, i) -> case when s.y = 0 then s else " ~ step ~ " end, s -> s.x)" -%}
aggregate(
        collect_set(cast({{ x }} as decimal(38,0))), cast(1 as decimal(38,0)),
        (a, b) -> case when a > {{ most }} then a else cast(cast(a / {{ divisor }} as decimal(38,0)) * b as decimal(38,0)) end
    )
{%- endmacro %}

{# Parquet tables of Spark cannot delete: there every build is a full one. #}
{% macro spark__replace_months(table, columns, sql, months) -%}
  {{ exceptions.raise_compiler_error('on Spark tables are built whole: give dbt --full-refresh') }}
{%- endmacro %}

{# Parquet tables of Spark know no constraints. A contract's names and types hold there as well; what may not be null is DuckDB's to refuse. #}
{% macro spark__persist_constraints(relation, model) %}{% endmacro %}

{# The session method of dbt-spark writes a null as 'None' and a number as a float; so a seed's texts are cast to its declared types one by one. #}
{% macro spark__load_csv_rows(model, agate_table) %}
  {%- set types = model['config'].get('column_types', {}) -%}
  {%- set sql -%}
    insert into {{ this.render() }} values
    {%- for row in agate_table.rows %}
    ({%- for name in agate_table.column_names -%}
        {%- set type = types.get(name, adapter.convert_type(agate_table, loop.index0)) -%}
        cast({{ text_literal(row[name]) if row[name] is not none else 'null' }} as {{ type }}){{ ', ' if not loop.last }}
    {%- endfor -%}){{ ',' if not loop.last }}
    {%- endfor %}
  {%- endset -%}
  {%- do adapter.add_query(sql, abridge_sql_log=True) -%}
  {{ return(sql) }}
{% endmacro %}
{% macro text_literal(x) -%}'{{ (x | string).replace('\\', '\\\\').replace("'", "\\'") }}'{%- endmacro %}

{# a statistic as a double of nine significant digits #}
{% macro significant(x) %}{{ return(adapter.dispatch('significant', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__significant(x) -%}cast(printf('%.8e', {{ x }}) as double){%- endmacro %}
{# of null Spark would make the word null #}
{% macro spark__significant(x) -%}cast(case when {{ x }} is not null then format_string('%.8e', {{ x }}) end as double){%- endmacro %}

{# a text as a string of JSON, with its quotes; null for null #}
{% macro json_string(x) %}{{ return(adapter.dispatch('json_string', 'trainledger')(x)) }}{% endmacro %}
{% macro duckdb__json_string(x) -%}cast(to_json({{ x }}) as varchar){%- endmacro %}
{% macro spark__json_string(x) -%}case when {{ x }} is not null then regexp_extract(to_json(named_struct('x', {{ x }})), '(?s)^.{5}(.*).$', 1) end{%- endmacro %}
