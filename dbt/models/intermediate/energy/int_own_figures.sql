with run_keys as (
    {{ run_keys() }}
)

select
    figures.kind,
    coalesce(run_keys.training_run_id, figures.run_key) as training_run_id,
    figures.region_id,
    figures.accelerator_type,
    figures.basis,
    figures.value,
    figures.valid_from,
    figures.valid_to,
    figures.source,
    figures.source_date,
    figures.stated_by,
    -- named by what it is of, so that it is the same in whatever order the rows of the file stand
    'user:' || figures.kind || ':' || figures.key
    || case when figures.kind = 'measured_energy' then '' else coalesce(':run=' || figures.run_key, '') end
    || case when figures.kind in ('pue', 'factor') then '' else coalesce(':region=' || figures.region_id, '') end
    || coalesce(':' || cast(figures.valid_from as string), '') as figure_id,
    figures.source_name,
    figures.source_object,
    figures.row_number
from {{ ref('stg_user_inputs__figures') }} as figures
left join run_keys using (run_key)
-- what a port takes once is no figure of a run, region or type: see dim_porting_costs; prices are in int_own_prices
where figures.kind not like 'porting%' and figures.kind <> 'price'
-- of two files that say the same thing the later one counts
qualify row_number() over (
    partition by
        figures.kind, coalesce(run_keys.training_run_id, figures.run_key), figures.region_id, figures.accelerator_type,
        figures.valid_from
    order by figures.published_at desc, figures.source_name, figures.source_object, figures.row_number desc
) = 1
