-- energy in MWh and mass in tonnes, whatever their size: what a board compares has one unit
with figures as (
    select
        *,
        case unit when 'kWh' then 'MWh' when 'kgCO2e' then 'tCO2e' else unit end as shown_unit,
        {{ board_figure_names().keys() | list }} as names
    from {{ ref('rpt_quarterly_figures') }}
    where
        figure_id in (
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
    list_position(names, figure_id) as position
from figures
