-- what is filed is of all use, so the tiles of emissions have that in front: the answer that is filed, then the one that is not
with figures as (
    select
        figures.*,
        case
            when figures.figure_id not like 'provider_total%' then null
            when figures.figure_id like '%' || settings.scope3_electricity || '_based' then 'filed'
            when settings.scope3_electricity is not null then 'not filed'
        end as filed,
        list_position(
            {{ headline_names().keys() | list }},
            case
                when coalesce(settings.scope3_electricity, '') <> 'market' then figures.figure_id
                when figures.figure_id = 'provider_total_location_based' then 'provider_total_market_based'
                when figures.figure_id = 'provider_total_market_based' then 'provider_total_location_based'
                else figures.figure_id
            end
        ) as position
    from {{ ref('rpt_quarterly_figures') }} as figures
    -- left: a file without a configuration has its figures, of which none is marked
    left join {{ ref('dim_disclosure_settings') }} as settings on true
)

select
    *,
    case figure_id
        {%- for figure, label in headline_names().items() %}
        when '{{ figure }}' then '{{ label }}'
        {%- endfor %}
    end as label,
    position <= 5 as is_on_first_page,
    -- a figure that neither quarter has is none of the others: a provider without a split of Scope 3 has none in any
    value is not null or prior_value is not null as is_known
from figures
