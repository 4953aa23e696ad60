select
    factor_set_id,
    count(*) as row_count,
    sha256(string_agg(
        concat_ws('|', factor_id, grid_zone, data_year, valid_from, valid_to, known_from, value, unit), chr(10) order by factor_id
    )) as factors_hash
from {{ ref('dim_emission_factors') }}
group by factor_set_id
