-- a list is complete when nothing lacks that somebody could state or deliver: a reason of the list itself is an answer
with listed as (
    select
        disclosure.*,
        {{ framework_position() }} as framework_position,
        disclosure.id_kind = 'official' as is_official,
        coalesce(listed.measure similar to '(cloud|scope_3|inventory|[a-z]+_intensity).*', false) as has_cloud,
        case when listed.measure is not null then disclosure.not_available_reason end as lack,
        listed.source
    from {{ ref('rpt_yearly_disclosure') }} as disclosure
    inner join {{ ref('dim_datapoints') }} as listed using (framework, datapoint_id)
    where framework <> 'contribution'
)

select
    fiscal_year,
    coalesce(framework, 'all') as framework,
    case when grouping(framework) = 0 then max(edition) end as edition,
    count(*) as datapoint_count,
    count(*) filter (where is_official) as official_count,
    count(value) filter (where is_official) as official_filled_count,
    count(value) filter (where is_official and has_cloud) as official_contributed_count,
    count(*) filter (where not is_official) as ours_count,
    case
        when count(lack) = 0 then 'complete'
        else 'refused: ' || string_agg(distinct lack, ' | ' order by lack)
    end as state,
    case when grouping(framework) = 0 then string_agg(distinct source, ' | ' order by source) end as sources,
    case when grouping(framework) = 0 then max(read_on) end as read_on,
    grouping(framework) > 0 as is_total,
    case when grouping(framework) = 0 then min(framework_position) else 0 end as framework_position
from listed
group by grouping sets ((fiscal_year, framework), (fiscal_year))
