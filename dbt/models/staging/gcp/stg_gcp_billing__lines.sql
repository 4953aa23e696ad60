{%- set label = "nullif(" ~ map_get('labels', '%s') ~ ", '')" %}
{%- set namespace = label % 'k8s-namespace' %}
{%- set cluster = label % 'goog-k8s-cluster-name' %}
{%- set reservation = "nullif(" ~ map_get('system_labels', 'compute.googleapis.com/%s') ~ ", '')" %}
-- Kubernetes names mean something within their cluster and namespace alone
{%- set place_of_pod =
    "coalesce(" ~ label % 'goog-k8s-cluster-location' ~ ", '') || '/' || coalesce(" ~ cluster ~ ", '') || '/' || " ~ namespace %}
select
    _source_name as source_name,
    'Google Cloud' as provider_name,
    _source_object as source_object,
    line_number as row_number,
    _is_book as is_book,
    billing_account_id as payer_account_id,
    nullif(project_number, '') as project_number,
    nullif(project_id, '') as project_id,
    nullif(project_name, '') as account_name,
    coalesce(service_id, '') as service_code,
    coalesce(service_description, '') as service_description,
    coalesce(sku_id, '') as sku_id,
    coalesce(sku_description, '') as sku_description,
    -- global and multi-region charges have no region
    coalesce({{ gcp_region('location_region') }}, nullif({{ gcp_region_of_zone('location_zone') }}, ''), '') as region_id,
    -- corrections and late rows keep the time of use; the invoice month is only an attribute
    cast(date_trunc('month', usage_start_time) as date) as usage_month,
    usage_start_time as charge_period_start,
    usage_end_time as charge_period_end,
    currency as billing_currency,
    lower(coalesce(nullif(cost_type, ''), 'regular')) as cost_type,
    upper(coalesce(adjustment_type, '')) as adjustment_type,
    nullif(invoice_month, '') as invoice_month,
    nullif(resource_name, '') as resource_name,
    nullif(regexp_extract(resource_global_name, '([^/]+)$', 1), '') as resource_path_end,
    coalesce(location_zone, '') as zone,
    -- Vertex AI bills a custom job under its full name
    coalesce(
        nullif(regexp_extract(resource_global_name, '(projects/[^/]+/locations/[^/]+/customJobs/[0-9]+)', 1), ''),
        nullif(regexp_extract(resource_name, '(projects/[^/]+/locations/[^/]+/customJobs/[0-9]+)', 1), '')
    ) as job_id,
    -- every job of a pipeline's run has this label, also what is billed as machines
    {{ label % 'vertex-ai-pipelines-run-billing-id' }} as pipeline_id,
    -- GKE's cost allocation writes a row for each pod of a machine, and rows for what is no pod's
    case
        when {{ namespace }} = 'kube:unallocated' then 'unallocated'
        when {{ namespace }} = 'kube:system-overhead' then 'overhead'
        -- no namespace of Kubernetes has a colon
        when {{ namespace }} like '%:%' or {{ namespace }} like 'goog-k8s-%' then 'unknown'
        when {{ namespace }} is not null then 'pod'
        else ''
    end as gke_allocation,
    {{ place_of_pod }} || '/' || {{ label % 'k8s-workload-name' }} as workload_path,
    {{ place_of_pod }} || '/' || {{ label % 'k8s-label/jobset.sigs.k8s.io/jobset-name' }} as jobset_path,
    'clusters/' || {{ cluster }} as cluster_name,
    'clusters/' || {{ cluster }} || '/nodePools/' || {{ label % 'goog-k8s-node-pool-name' }} as node_pool_name,
    coalesce({{ label % 'goog-k8s-cluster-location' }}, '') as cluster_location,
    -- Google vouches for these two from that day on
    case
        when usage_start_time >= timestamp '2025-09-17 00:00:00' then 'reservations/' || {{ reservation % 'reservation_name' }}
    end as reservation_name,
    {{ reservation % 'reservation_project_id' }} as reservation_project_id,
    nullif(subscription_instance_id, '') as subscription_id,
    {{ to_exact('cost', 12) }} as cost,
    {{ to_exact('cost_at_list', 12) }} as cost_at_list,
    {{ to_exact('cost_at_effective_price_default', 12) }} as cost_at_contract,
    -- only its presence matters: usage in bytes may be too large for an exact figure
    coalesce(usage_amount, cast(usage_amount__text as double), 0) <> 0 as has_usage_amount,
    {{ to_exact('usage_amount_in_pricing_units', 9) }} as priced_usage,
    lower(coalesce(usage_pricing_unit, '')) as pricing_unit,
    -- on a fee row of a spend-based commitment: the SKU whose usage this part of the fee pays for
    coalesce({{ map_get('labels', 'goog-originating-sku-id') }}, '') as originating_sku_id,
    lower(coalesce({{ map_get('system_labels', 'compute.googleapis.com/is_unused_reservation') }}, ''))
    = 'true' as is_unused_reservation,
    _run_tag as run_tag
from {{ source('raw', 'gcp_billing') }}
where part = 'line'
