{# The datapoints of a list with their figures, of periods of one grain: what both tables of disclosure have in common. The columns of an edition's text are those of
   dim_datapoints; `name` is what the table calls its periods. #}
{% macro disclosed(name, grain, datapoints, figures) -%}
select
    figures.period as {{ name }},
    datapoints.framework,
    datapoints.datapoint_id,
    datapoints.datapoint,
    figures.value,
    case datapoints.unit
        when 'revenue' then coalesce(figures.revenue_currency, 'revenue')
        when 'tCO2e/million of revenue' then 'tCO2e/million ' || coalesce(figures.revenue_currency, 'of revenue')
        else datapoints.unit
    end as unit,
    case
        when figures.is_filed then datapoints.method || ' This is the one that is filed: ' || settings.scope3_electricity_reason || '.'
        else datapoints.method
    end as method,
    figures.report_status,
    figures.lack as not_available_reason,
    datapoints.id_kind,
    datapoints.edition,
    datapoints.xbrl_element,
    datapoints.expected_reference,
    datapoints.read_on,
    -- of the parts that we name ourselves the one that is filed; a framework's own rows take no other
    case when datapoints.framework = 'contribution' then figures.is_filed else true end as is_filed
from {{ datapoints }} as datapoints
inner join {{ figures }} as figures using (measure)
cross join {{ ref('dim_disclosure_settings') }} as settings
where figures.grain = '{{ grain }}'
{%- endmacro %}
