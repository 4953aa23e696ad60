-- Rows of use of the months that were read, at list price: what is covered by a commitment costs nothing by itself. The
-- models add up rows that no record can meet; of these the rows themselves are taken, with the rule that their line met.
create temp table lines_by_month as
with held as (
    select line_id, sum(coalesce(list_cost, billed_cost)) as cost
    from intermediate.int_split_charges where part_id <> '~residual' group by all
),
charges as (
    select charges.*, attributions.attribution_rule as rule, coalesce(list_cost, billed_cost) as cost, held.cost as held_cost
    from intermediate.int_charges as charges
    left join intermediate.int_line_attributions as attributions
        on charges.attribution_line_id = attributions.line_id and charges.usage_month = attributions.usage_month
    left join held on charges.line_id = held.line_id
    where is_usage
),
line_groups as (
    select source_name || '|' || source_object || '|' || row_number as line_id, * from intermediate.int_aws_line_groups
    where is_book and not is_single
),
-- what is billed of a machine in a time in which nothing changes, or whatever no rule tells apart
groups as (
    select distinct
        aws.source_name, aws.usage_month, aws.service_code, line_item_type, usage_type, is_pod,
        coalesce(aws.run_tag, '') as tag, charges.is_accelerator_type, rule,
        case when segment_from is not null then aws.resource_id else '' end as machine,
        coalesce(segment_from, timestamp 'epoch') as since
    from line_groups as aws inner join charges using (line_id)
),
google_lines as (
    select concat_ws('|', source_name, source_object, row_number) as line_id, *
    from intermediate.int_gcp_line_groups where is_book and not is_single
),
google_groups as (
    select distinct
        google.source_name, google.source_object, google.usage_month, google.service_code, google.sku_description,
        google.cost_type, [
            google.project_number, google.region_id, google.run_tag, google.job_id, google.pipeline_id, google.workload_path,
            google.jobset_path, google.pod_allocation
        ] as places, google.charge_period_start as since, charges.is_accelerator_type, rule
    from google_lines as google inner join charges using (line_id)
),
every_line as (
    select
        source_name, provider_name, usage_month, billing_currency, charge_period_start, charge_period_end, run_tag,
        is_accelerator_type, coalesce(resource_id, other_resource_id, job_id) as machine, rule, cost,
        case when rule in ('resource_time', 'cluster_key') then held_cost when rule is not null then cost end as met_cost
    from charges where charge_period_start is not null and line_id not in (select line_id from line_groups)
        and line_id not in (select line_id from google_lines)
    union all
    select
        of_aws.source_name, provider_name, of_aws.usage_month, billing_currency, charge_period_start, charge_period_end, run_tag,
        is_accelerator_type, resource_id, rule, coalesce(
            try_cast(public_on_demand_cost__text as decimal(38, 12)),
            try_cast(public_on_demand_cost as decimal(38, 12)),
            try_cast(unblended_cost__text as decimal(38, 12)),
            try_cast(unblended_cost as decimal(38, 12))
        ) as cost, case when rule is not null then cost end
    from staging.stg_aws_cur__line_items as of_aws
    left join intermediate.int_machine_segments as segments
        on of_aws.usage_month = segments.usage_month and of_aws.resource_id = segments.machine_name
        and cast(charge_period_start as date) = segment_day and charge_period_start >= segment_from
        and charge_period_end <= segment_to
    inner join groups
        on of_aws.source_name = groups.source_name and of_aws.usage_month = groups.usage_month
        and of_aws.service_code = groups.service_code and of_aws.line_item_type = groups.line_item_type
        and of_aws.usage_type = groups.usage_type and of_aws.is_pod = groups.is_pod
        and case when segment_from is null then '' else resource_id end = machine
        and coalesce(segment_from, timestamp 'epoch') = since and coalesce(run_tag, '') = tag
    where is_book and concat_ws('|', of_aws.source_name, source_object, row_number)
        not in (select line_id from intermediate.int_aws_lines where is_single)
    union all
    select
        google.source_name, provider_name, google.usage_month, billing_currency, charge_period_start, charge_period_end, run_tag,
        is_accelerator_type, coalesce(resource_name, resource_path_end, job_id), rule, coalesce(
            try_cast(cost_at_list__text as decimal(38, 12)),
            try_cast(cost_at_list as decimal(38, 12)),
            try_cast(cost__text as decimal(38, 12)),
            try_cast(google.cost as decimal(38, 12))
        ) as priced, case when rule is not null then priced end
    from staging.stg_gcp_billing__lines as google
    inner join google_groups as groups
        on google.source_name = groups.source_name and google.source_object = groups.source_object
        and google.usage_month = groups.usage_month and google.service_code = groups.service_code
        and google.sku_description = groups.sku_description and google.cost_type = groups.cost_type
        and coalesce(since = charge_period_start, true) and places = [
            project_number, region_id, run_tag, job_id, pipeline_id, workload_path, jobset_path, pod_allocation
        ]
    where is_book and concat_ws('|', google.source_name, google.source_object, row_number)
        not in (select concat_ws('|', source_name, source_object, row_number) from intermediate.int_gcp_line_groups where is_single)
)
select * replace (coalesce(met_cost, 0) as met_cost) from every_line;

-- most questions are about the newest month of a bill
create temp view lines as
select * from lines_by_month qualify usage_month = max(usage_month) over (partition by source_name);

-- the machines of runs; a record that names no provider may be of any
create temp table held as
select distinct
    holdings.usage_month, training_run_id, resource_id, accelerator_type, provider_name, held_from,
    coalesce(held_to, last_day(holdings.usage_month) + interval 1 day) as held_to
from intermediate.int_month_holdings as holdings
left join (
    select training_run_id, min(provider_name) as provider_name from intermediate.int_run_records group by all
) using (training_run_id);
