{#
  Tables that are kept by month. `materialized='by_month'`: a build takes its months (raw.build_months) out of the table and puts in the rows
  that the query has for them; all other months stay as they are. Example: a restated June is built again and May is not touched; a June
  that has no rows any more leaves none. `--full-refresh`, or a table that is not there, builds everything.
  The query need not mind the months: its rows are restricted here, by literal dates, which engines push down into it.
  A month of which only the clock moved (raw.status_months: its bill or its carbon turned final) is built again in the few tables that say
  so, `meta={'rebuilt_for': 'status'}`, and left alone in all others. Without any month nothing is done.
  Rows that are made of several months, `meta={'also_replaced': <their condition>}`, are replaced by every build that has a month. Example: the
  July invoice gets a row of June that came late; a build of June writes the total of July's invoice again, and no other row of July.
  A table by day, `meta={'by_day': <its column of the day>}`, gets of these months only the days in which something changed. A row of it is made of
  what its day has in the tables that it reads: those by day, those by month with `meta={'days': <their column of the day>}`, and those whose
  rows reach other days, `meta={'reaches': [<first microsecond>, <last>]}`. Example: a new hour of neuron-monitor writes the samples of its day,
  and those of the thirty other days stay. The first of these tables, `of_landed_days: <kind>`, read what lies within minutes of a day, and the
  view of that kind has the samples of the days that changed (raw.build_days) alone. By hand dbt builds whole months of all others.
  A table, by month or whole, that can have a row only if one of some models has one names them, `meta={'empty_without': [<models>]}`, each as
  `<model>` or `<model> where <condition>`: while none has such a row, and it is empty, the warehouse leaves it alone. Example: without telemetry
  a run record is no reason to ask for the use of chips again.
#}
{% materialization by_month, default %}
  {%- set table = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% if is_built_whole() %}
    {% if existing is not none %}{% do adapter.drop_relation(existing) %}{% endif %}
    {% call statement('main') %}{{ create_table_as(False, table, sql) }}{% endcall %}
  {% else %}
    {% set months = month_literals() %}
    {% set columns = adapter.get_columns_in_relation(existing) | map(attribute='quoted') | join(', ') if months %}
    {% call statement('main') %}{{ replace_months(table, columns, sql, months) if months else 'select 0' }}{% endcall %}
  {% endif %}
  {% do persist_docs(table, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [table]}) }}
{% endmaterialization %}

{# Whether this build makes the table from nothing. While dbt parses: yes, so that it sees every source. #}
{% macro is_built_whole() %}
  {%- if not execute or should_full_refresh() -%}{{ return(true) }}{%- endif -%}
  {%- set existing = load_cached_relation(this) -%}
  {{ return(existing is none or not existing.is_table) }}
{% endmacro %}

{# The months that a table gets anew. One that shows whether a month is final also gets those that turned final. #}
{% macro months_of_the_build() -%}
select usage_month from {{ source('raw', 'build_months') }}
{%- if (config.get('meta') or {}).get('rebuilt_for') == 'status' %} union select usage_month from {{ source('raw', 'status_months') }}{% endif %}
{%- endmacro %}

{# The same as a list of literals. #}
{% macro month_literals() %}
  {%- set months = run_query('select distinct usage_month from (' ~ months_of_the_build() ~ ') as months order by usage_month') -%}
  {%- set literals = [] -%}
  {%- for month in months.columns[0].values() %}{% do literals.append("date '" ~ month ~ "'") %}{% endfor -%}
  {{ return(literals) }}
{% endmacro %}

{% macro replace_months(table, columns, sql, months) %}
  {{ return(adapter.dispatch('replace_months', 'trainledger')(table, columns, sql, months)) }}
{% endmacro %}
{% macro default__replace_months(table, columns, sql, months) -%}
  {%- set of_the_build = 'usage_month in (' ~ months | join(', ') ~ ')' -%}
  {%- set meta = config.get('meta') or {} -%}
  {%- if meta.get('of_landed_days') %}{% set of_the_build = of_the_build ~ ' and ' ~ meta.get('by_day') ~ " in (select usage_day from raw.build_days where kind = '" ~ meta.get('of_landed_days') ~ "')" %}{% endif -%}
  {%- set also = (config.get('meta') or {}).get('also_replaced') -%}
  {%- if also %}{% set of_the_build = '(' ~ of_the_build ~ ' or ' ~ also ~ ')' %}{% endif -%}
  delete from {{ table }} where {{ of_the_build }};
  insert into {{ table }} ({{ columns }})
  select {{ columns }} from (
    {{ sql }}
  ) as rows_of_all_months
  where {{ of_the_build }}
{%- endmacro %}

{# The months that a table built by month gets now, as rows: those of the build; all that are known where it is built whole. #}
{% macro months_to_build() -%}
{{ months_of_the_build() }}
{#- the comments mark what a build of months leaves out: dagster_project/warehouse/statements.py #}
{%- if is_built_whole() %} /* whole */ union select usage_month from {{ source('raw', 'months') }} /* end of whole */{% endif %}
{%- endmacro %}

{# Only for speed: drops other months early where a window or a join across months keeps the engine from pushing the restriction down. #}
{% macro in_build_months(column='usage_month') -%}
{{ column }} in (select known_months.usage_month from ({{ months_to_build() }}) as known_months)
{%- endmacro %}

{# Of a table by day: the days that are written now, as a condition after others. dagster_project/warehouse/statements.py puts them in place
   of the comment; whole months are built without. #}
{% macro and_in_built_days(column='usage_day') -%}
/* days {{ column }} */
{%- endmacro %}

{# For gates: rows of the months that this build made. Those of every other month passed when their month was built. #}
{% macro of_built_months(column='usage_month') -%}
{{ column }} in (
    select usage_month from {{ source('raw', 'build_months') }}
    union all
    select usage_month from {{ source('raw', 'status_months') }}
)
{%- endmacro %}

{# A table of which only the months of the build are read. #}
{% macro built_months_of(relation) -%}
(select * from {{ relation }} where {{ in_build_months() }})
{%- endmacro %}
