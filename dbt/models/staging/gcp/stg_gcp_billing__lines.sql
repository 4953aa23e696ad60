{#- FOCUS has the columns of the detailed export under other names; these it states in another way. What a correction is for it
    does not say: its rows are corrections of no kind, and none is goodwill -#}
{%- set detailed = {
    'gcp_billing': {
        'rows': source('raw', 'gcp_billing'),
        'project_id': "nullif(project_id, '')",
        'account_name': "nullif(project_name, '')",
        'line_count': 'line_count',
        'cost_type': "lower(coalesce(nullif(cost_type, ''), 'regular'))",
        'adjustment_type': "upper(coalesce(adjustment_type, ''))",
        'cost': 'cost as cost, cost__text as cost__text, false as is_net_of_credits',
        'cost_at_contract':
            'cost_at_effective_price_default as cost_at_contract, cost_at_effective_price_default__text as cost_at_contract__text',
    },
    'gcp_focus': {
        'rows': source('raw', 'gcp_focus'),
        'project_id': "coalesce(nullif(project_id, ''), case when sub_account_id <> billing_account_id then nullif(sub_account_id, '') end)",
        'account_name': "coalesce(nullif(project_name, ''), case when sub_account_id <> billing_account_id then nullif(sub_account_name, '') end)",
        'line_count': 'cast(null as bigint)',
        'cost_type': focus_cost_type(),
        'adjustment_type': "case when lower(charge_class) = 'correction' then 'CORRECTION' else '' end",
        'cost': 'billed_cost as cost, billed_cost__text as cost__text, true as is_net_of_credits',
        'cost_at_contract': first_number('cost_at_contract', 'cost_at_effective_price_default', 'contracted_cost'),
    },
} %}
{%- set label = "nullif(" ~ map_get('labels', '%s') ~ ", '')" %}
{%- set namespace = label % 'k8s-namespace' %}
{%- set cluster = label % 'goog-k8s-cluster-name' %}
{%- set reservation = "nullif(" ~ map_get('system_labels', 'compute.googleapis.com/%s') ~ ", '')" %}
{#- Kubernetes names mean something within their cluster and namespace alone -#}
{%- set place_of_pod =
    "coalesce(" ~ label % 'goog-k8s-cluster-location' ~ ", '') || '/' || coalesce(" ~ cluster ~ ", '') || '/' || " ~ namespace %}
{% for kind, its in detailed.items() %}
select
    _source_name as source_name,
    'Google Cloud' as provider_name,
    _delivery_content_hash as delivery_content_hash,
    _source_object as source_object,
    line_number as row_number,
    {{ its.line_count }} as line_count,
    -- by which a row finds its credits
    _file_number * 4294967296 + line_number as position,
    _is_book as is_book,
    billing_account_id as payer_account_id,
    nullif(project_number, '') as project_number,
    {{ its.project_id }} as project_id,
    {{ its.account_name }} as account_name,
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
    {{ its.cost_type }} as cost_type,
    {{ its.adjustment_type }} as adjustment_type,
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
    end as pod_allocation,
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
    -- the cost of FOCUS holds the row's credits, which are rows of their own here
    {{ its.cost }},
    cost_at_list,
    cost_at_list__text,
    {{ its.cost_at_contract }},
    -- only its presence matters: usage in bytes may be too large for an exact figure
    coalesce(usage_amount, cast(usage_amount__text as double), 0) <> 0 as has_usage_amount,
    usage_amount_in_pricing_units as priced_usage,
    usage_amount_in_pricing_units__text as priced_usage__text,
    lower(coalesce(usage_pricing_unit, '')) as pricing_unit,
    -- on a fee row of a spend-based commitment: the SKU whose usage this part of the fee pays for
    coalesce({{ map_get('labels', 'goog-originating-sku-id') }}, '') as originating_sku_id,
    -- used hours are of an instance or a node; what is billed of the reservation itself was not used
    lower(coalesce({{ map_get('system_labels', 'compute.googleapis.com/is_unused_reservation') }}, '')) = 'true'
    or coalesce(resource_global_name like '%/reservations/%', false) as is_unused_reservation,
    -- as of the time of use, and no rule reads them: they tell who asks why a row costs what it does, and where its project stood
    -- then. Nothing is ever grouped by them (ADR 0036)
    {{ to_exact('currency_conversion_rate', 12) }} as currency_conversion_rate,
    {%- for price in ['effective_price', 'list_price', 'effective_price_default', 'list_price_consumption_model'] %}
    {{ to_exact('price_' ~ price, 12) }} as {{ price }},
    {%- endfor %}
    {{ to_exact('price_tier_start_amount', 12) }} as price_tier_start,
    {{ to_exact('price_pricing_unit_quantity', 12) }} as price_quantity,
    nullif(price_unit, '') as price_unit,
    labels,
    project_labels,
    nullif(project_ancestry_numbers, '') as ancestry_numbers,
    project_ancestors as ancestors,
    _run_tag as run_tag
from {{ its.rows }}
where part = 'line'
{{ 'union all' if not loop.last }}
{%- endfor %}
