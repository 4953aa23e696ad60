select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    document_hash,
    case when run_key <> '' then {{ normalised_run_id('run_key') }} end as run_key,
    nullif(host_id, '') as host_id,
    coalesce(device_index, 0) as device_index,
    case when sample_start < sample_end then {{ instant_us('sample_start') }} end as sample_from_us,
    {{ instant_us('sample_end') }} as sample_to_us,
    evidence = 'measured' as is_measured,
    case
        when is_idle_by_absence then cast(0 as bigint)
        else {{ parts_per_million('coalesce(utilisation_ratio, cast(utilisation_ratio__text as double))') }}
    end as utilisation_ppm
from {{ source('raw', 'neuron_monitor') }}
where sample_end is not null
