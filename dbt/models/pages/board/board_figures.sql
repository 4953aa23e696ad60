-- energy in MWh and mass in tonnes, whatever their size: what a board compares has one unit
with figures as (
    select
        figures.*,
        case figures.unit when 'kWh' then 'MWh' when 'kgCO2e' then 'tCO2e' else figures.unit end as shown_unit,
        -- true of the rows of the answer that is filed, false of those of the other, null of cost and energy
        case
            when figures.figure_id like 'provider_%' then figures.figure_id like '%' || settings.scope3_electricity || '_based'
        end as is_of_filed,
        {{ board_figure_names().keys() | list }} as names
    from {{ ref('rpt_quarterly_figures') }} as figures
    -- left: a file without a configuration has its figures, of which none is marked
    left join {{ ref('dim_disclosure_settings') }} as settings on true
    where
        figures.figure_id in (
            {%- for figure in board_figure_names() %}
            '{{ figure }}'{{ ',' if not loop.last }}
            {%- endfor %}
        )
)

select
    quarter,
    figure_id,
    case figure_id
        {%- for figure, label in board_figure_names().items() %}
        when '{{ figure }}' then '{{ label }}'
        {%- endfor %}
    end
    || case
        when figure_id like 'provider_total%' and is_of_filed then ', filed'
        when figure_id like 'provider_total%' and not is_of_filed then ', not filed'
        else ''
    end as figure,
    shown_unit as unit,
    {%- for column in [
        'whole_value', 'value', 'low', 'high', 'prior_value', 'prior_low', 'prior_high',
        'change', 'change_by_activity', 'change_by_method',
    ] %}
    case when shown_unit = unit then {{ column }} else {{ thousandth(column) }} end as {{ column }},
    {%- endfor %}
    change_ratio,
    coalesce(not_available_reason, change_reason) as reason,
    -- what is filed comes before what is not
    cast(list_position(names, figure_id) + case when not is_of_filed then len(names) else 0 end as int) as position
from figures
