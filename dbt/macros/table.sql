{#
  Tables and views that every build makes anew, on DuckDB: the old one is dropped and the new one made, in two statements. dbt's own way (made
  beside, renamed twice, the old one dropped) keeps a table readable meanwhile; a build file has no readers, and a small build is mostly statements.
#}
{% materialization table, adapter='duckdb' %}
  {%- set table = this.incorporate(type='table') -%}
  {%- do drop_old(load_cached_relation(this)) -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% call statement('main') %}{{ create_table_as(False, table, sql) }}{% endcall %}
  {{ return(finish_relation(table)) }}
{% endmaterialization %}

{% materialization view, adapter='duckdb' %}
  {%- set view = this.incorporate(type='view') -%}
  {%- do drop_old(load_cached_relation(this)) -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% call statement('main') %}{{ get_create_view_as_sql(view, sql) }}{% endcall %}
  {{ return(finish_relation(view)) }}
{% endmaterialization %}

{% macro drop_old(existing) %}
  {% if existing is not none %}{% do adapter.drop_relation(existing) %}{% endif %}
{% endmacro %}

{% macro finish_relation(relation) %}
  {% do persist_docs(relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [relation]}) }}
{% endmacro %}
