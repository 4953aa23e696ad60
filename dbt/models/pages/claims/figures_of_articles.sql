select
    figure_id,
    item,
    stated_value,
    unit as stated_unit,
    recomputed_value,
    recomputed_as,
    is_right,
    note,
    source
from {{ ref('dim_article_figures') }}
where recomputed_as is not null
