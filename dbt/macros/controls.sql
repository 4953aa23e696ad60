{# Measures of a kind that have control totals: [name, type, decimals], as landing wrote them down. The connectors state which columns are
   measures. Empty while dbt only parses, and where no delivery of the kind is read. #}
{% macro controlled_measures(kind) -%}
{%- set measures = [] -%}
{%- if execute -%}
    {%- set sql = "select distinct measure, column_type, decimals from raw.measure_totals where kind = '" ~ kind ~ "' order by all" -%}
    {%- for row in run_query(sql).rows -%}
        {%- do measures.append([row[0], row[1], row[2] | int]) -%}
    {%- endfor -%}
{%- endif -%}
{{ return(measures) }}
{%- endmacro %}

{# How many values a measure of a raw view has, and their exact sum as text: a second writing of landing.deriving.measures.
   The rows themselves are counted as a measure of type Rows. #}
{% macro measure_sums(name, type, decimals) -%}
{%- if type == 'Rows' -%}
count(*) as {{ name }}__count, cast(null as string) as {{ name }}__total
{%- else -%}
{%- set number = 'coalesce(cast(' ~ name ~ '__text as double), ' ~ name ~ ')' if type == 'Number' else name -%}
{%- if decimals == 0 -%}
{%- set whole = whole_number(number) if type == 'Number' else 'try_cast(' ~ number ~ ' as decimal(38, 0))' -%}
{%- set total = 'cast(sum(' ~ whole ~ ') as decimal(38, 0))' -%}
{%- else -%}
{%- set text = name ~ '__text' -%}
{%- set total = exact_total(name, 'case when abs(cast(' ~ text ~ ' as double)) < 1e' ~ (24 - decimals) ~ ' then ' ~ text ~ ' end', decimals) -%}
{%- endif -%}
count({{ number }}) as {{ name }}__count, cast({{ total }} as string) as {{ name }}__total
{%- endif -%}
{%- endmacro %}

{# What is landed as it is written and counts 0: discounts that the net amounts of other rows have as well. #}
{% macro discounts_written_twice() -%}
select
        source_name, payer_account_id, usage_month, billing_currency,
        {{ exact_sum(['net_cost', '-net_cost_of_others'], 12) }} as billed_cost
    from {{ ref('int_aws_net_discounts') }}
    where is_book and is_counted_in_others
{%- endmacro %}
