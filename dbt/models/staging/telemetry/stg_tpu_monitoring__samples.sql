{%- set columns = [
    'source_name', 'source_object', 'row_number', 'document_hash', 'run_key', 'host_id', 'device_index', 'device_count',
    'accelerator_type', 'region_id', 'sample_from_us', 'sample_to_us', 'is_measured', 'utilisation_ppm',
] %}
{{ telemetry_samples('tpu_monitoring') }}
-- the same metrics from a server of metrics, as means of its steps
union all
select {{ columns | join(', ') }}
from {{ ref('stg_prometheus__samples') }}
where meter = 'cloud_tpu'
