{# Terms of the ledger that several models share. #}

{# Run ids match after this: AWS snake-cases tag keys, GCP labels allow no more than 63 of these characters. #}
{% macro normalised_run_id(x) -%}
{#- the one letter whose lower case has two characters, an i and a dot above it; engines differ in whether they write the dot -#}
substr({{ replace_all("lower(replace(" ~ x ~ ", 'İ', 'i-'))", '[^a-z0-9_-]', '-') }}, 1, 63)
{%- endmacro %}

{% macro mass_names() -%}
{{ return([
    'provider_total_location_based_kgco2e',
    'provider_total_market_based_kgco2e',
    'provider_scope_1_kgco2e',
    'provider_scope_2_location_based_kgco2e',
    'provider_scope_2_market_based_kgco2e',
    'provider_scope_3_location_based_kgco2e',
    'provider_scope_3_market_based_kgco2e',
    'provider_scope_3_unsplit_kgco2e',
]) }}
{%- endmacro %}

{% macro masses(t='') -%}
{%- for mass in mass_names() %}{{ t ~ '.' if t }}{{ mass }}{{ ', ' if not loop.last }}{% endfor -%}
{%- endmacro %}

{% macro any_mass_is_negative() -%}
({% for mass in mass_names() %}{{ ' or ' if not loop.first }}coalesce({{ mass }} < 0, false){% endfor %})
{%- endmacro %}

{# Of our own records a number is a place in its file. Any other name is the attempt's, whichever machine has it; one that a recorder made
   of its start belongs to whatever overlaps it. Null where names are no evidence. #}
{% macro attempt_name(system, id) -%}
case
            when {{ system }} <> 'run_json' then null
            when translate(coalesce({{ id }}, ''), '0123456789' || chr(39), '') = '' then null
            when {{ matches(id, '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$') }} then ''
            else {{ id }}
        end
{%- endmacro %}

{# What records state of a run; the first record that states a field is taken. #}
{% macro run_fields() -%}
{{ return([
    'provider_name', 'workload_key', 'pair_key', 'model_name', 'framework', 'team', 'tokens', 'useful_tokens', 'steps', 'model_flops',
    'target_metric', 'target_direction', 'target_value', 'final_value', 'framework_version', 'sdk_name', 'sdk_version', 'driver_version',
    'runtime_version', 'cluster_name', 'slice_name', 'parent_run_id',
]) }}
{%- endmacro %}

{# Chips in whole millionths, of which parts of a chip are so many: shares of machines are shares of whole numbers. #}
{% macro millionths(chips) -%}
{{ quick_units(chips, 6) }}
{%- endmacro %}

{# What a share of whole millionths is counted in: chips where both are whole, so that shares of whole chips stay small numbers. #}
{% macro share_unit(part, whole) -%}
cast(case when {{ part }} % 1000000 = 0 and {{ whole }} % 1000000 = 0 then 1000000 else 1 end as decimal(38, 0))
{%- endmacro %}

{# Microseconds of chips: chips, which may be parts, times whole microseconds, cut down. #}
{% macro chip_time(chips, us) -%}
{{ int_div('cast(sum(cast(' ~ millionths(chips) ~ ' * ' ~ us ~ ' as decimal(38, 0))) as decimal(38, 0))', 'cast(1000000 as decimal(38, 0))') }}
{%- endmacro %}

{# 16, or 0.500000 #}
{% macro chips_in_text(chips) -%}
case when {{ chips }} = ceil({{ chips }}) then cast(cast({{ chips }} as bigint) as string) else cast({{ chips }} as string) end
{%- endmacro %}

{# Half a total is not a total: null when any part is null. #}
{% macro whole_sum(x, type) -%}
case when count(*) = count({{ x }}) then cast(sum({{ x }}) as {{ type }}) end
{%- endmacro %}

{# Sums of several columns under their own names, at scale s: of what is there, or null where a part is null. #}
{% macro sums(names, s) -%}
{%- for x in names %}cast(sum({{ x }}) as decimal(38, {{ s }})) as {{ x }}{{ ', ' if not loop.last }}{% endfor -%}
{%- endmacro %}
{% macro whole_sums(names, s) -%}
{%- for x in names %}{{ whole_sum(x, 'decimal(38, ' ~ s ~ ')') }} as {{ x }}{{ ', ' if not loop.last }}{% endfor -%}
{%- endmacro %}

{# The pieces into which starts and ends of overlapping rows cut time: (keys, slice_from, slice_to); slice_to is null after the last end. #}
{% macro slices(rows, keys, starts, ends) -%}
select {{ keys }}, instant as slice_from, lead(instant) over (partition by {{ keys }} order by instant) as slice_to
from (
    select {{ keys }}, {{ starts }} as instant from {{ rows }}
    union
    select {{ keys }}, {{ ends }} as instant from {{ rows }}
) as instants
{%- endmacro %}

{# The same pieces, each with how many rows of some kinds lie over all of it: a running sum of what begins and ends, where a join would compare
   every piece of a machine's month with every row of it. rows: relation, starts, ends, and the kind under which its rows are counted, or none
   where they only cut. #}
{% macro counted_slices(keys, kinds, rows) -%}
select
    {{ keys }},
    instant as slice_from,
    lead(instant) over (partition by {{ keys }} order by instant) as slice_to
    {%- for kind in kinds %},
    sum({{ kind }}) over (partition by {{ keys }} order by instant rows between unbounded preceding and current row) as {{ kind }}
    {%- endfor %}
from (
    select {{ keys }}, instant{% for kind in kinds %}, sum({{ kind }}) as {{ kind }}{% endfor %}
    from (
        {%- for relation, starts, ends, counted in rows %}
        {{ 'union all' if not loop.first }}
        select {{ keys }}, {{ starts }} as instant{% for kind in kinds %}, {{ 'case when ' ~ starts ~ ' < ' ~ ends ~ ' then 1 else 0 end' if kind == counted else '0' }} as {{ kind }}{% endfor %} from {{ relation }}
        union all
        select {{ keys }}, {{ ends }} as instant{% for kind in kinds %}, {{ 'case when ' ~ starts ~ ' < ' ~ ends ~ ' then -1 else 0 end' if kind == counted else '0' }} as {{ kind }}{% endfor %} from {{ relation }}
        {%- endfor %}
    ) as edges
    group by {{ keys }}, instant
) as instants
{%- endmacro %}

{# Reserved identifiers of a cell, in the order of the contract. #}
{% macro cell() -%}
source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month
{%- endmacro %}

{% macro cell_of(t) -%}
{{ t }}.source_name, {{ t }}.provider_name, {{ t }}.payer_account_id, {{ t }}.sub_account_id, {{ t }}.service_code, {{ t }}.region_id, {{ t }}.usage_month
{%- endmacro %}

{# One text key of a cell, for splits. #}
{% macro cell_id(t='') -%}
{%- set p = t ~ '.' if t else '' -%}
{{ p }}source_name || '|' || {{ p }}provider_name || '|' || {{ p }}payer_account_id || '|' || {{ p }}sub_account_id || '|' || {{ p }}service_code || '|' || {{ p }}region_id || '|' || cast({{ p }}usage_month as string)
{%- endmacro %}

{# The code under which carbon breaks out a bill's service: AWS knows four, Google every service. #}
{% macro carbon_product(t) -%}
case
            when {{ t }}.provider_name <> 'AWS' or {{ t }}.service_code in ('AmazonEC2', 'AmazonS3', 'AmazonCloudFront') then {{ t }}.service_code
            else 'Other'
        end
{%- endmacro %}

{# Statistics are doubles, rounded to 9 significant digits by IEEE steps: the same bits on every engine and thread count. For ratios from 0 to 10. #}
{% macro nine_digits(x) -%}
floor({{ x }} * 1e9 + 5e-1) / 1e9
{%- endmacro %}

{# The region of an AWS bill line: what the line states, else what its usage type begins with; in us-east-1 EC2 writes no prefix. #}
{% macro aws_region_of_line(lines, prefixes) -%}
coalesce(
            {{ lines }}.stated_region_id,
            {{ prefixes }}.region_id,
            case when {{ lines }}.service_code = 'AmazonEC2' and {{ lines }}.usage_type <> '' and {{ lines }}.usage_type_prefix = '' then 'us-east-1' end,
            ''
        )
{%- endmacro %}

{# AWS bill lines with what the bill counts of their discounts already: of a discount whose amount is in the net amounts of the other
   rows nothing is left. The join, then an amount of a line. #}
{% macro join_net_discounts(lines) -%}
left join {{ ref('int_aws_net_discounts') }} as net_discounts
        on
            {{ lines }}.source_name = net_discounts.source_name
            and {{ lines }}.payer_account_id = net_discounts.payer_account_id
            and {{ lines }}.invoicing_entity = net_discounts.invoicing_entity
            and {{ lines }}.usage_month = net_discounts.usage_month
            and {{ lines }}.billing_currency = net_discounts.billing_currency
            and {{ lines }}.is_book = net_discounts.is_book
{%- endmacro %}
{# Rows of a Savings Plan, whose fee is lowered by a rule of its own: they are no part of that question. #}
{% macro aws_is_of_plan(lines) -%}
({{ lines }}.line_item_type like 'SavingsPlan%' or {{ lines }}.savings_plan_arn is not null or {{ lines }}.service_code like '%SavingsPlans')
{%- endmacro %}
{% macro after_net_discounts(lines, amount) -%}
case
            when net_discounts.is_counted_in_others and {{ lines }}.line_item_type like '%Discount' and not {{ aws_is_of_plan(lines) }}
                then cast(0 as decimal(38, 12))
            else {{ lines }}.{{ amount }}
        end
{%- endmacro %}

{# AWS rows that are use of something; fees, taxes, credits and support are not, and a pod's row repeats a part of its instance's. #}
{% macro aws_is_usage(lines) -%}
({{ lines }}.line_item_type in ('Usage', 'DiscountedUsage', 'SavingsPlanCoveredUsage') and not {{ lines }}.is_pod and not {{ lines }}.is_support and not {{ lines }}.is_block_fee)
{%- endmacro %}

{# Whether an AWS row is billed by the hour: its unit, or where an export has none, its usage type. #}
{% macro aws_is_in_hours(lines) -%}
(lower({{ lines }}.pricing_unit) in ('hrs', 'hours', 'hour', 'hr')
            or ({{ lines }}.pricing_unit = '' and {{ matches(lines ~ '.usage_type', '(BoxUsage|SpotUsage)') }}))
{%- endmacro %}

{# The name under which a capacity reservation or a plan is stated and billed: a reservation's id alone, whichever of ARN and id is written. #}
{% macro capacity_key(x) -%}
case when {{ x }} like '%:capacity-reservation/%' then {{ replace_all(x, '^.*/', '') }} else {{ x }} end
{%- endmacro %}

{# Whether an AWS usage type counts the time of a capacity reservation as a whole, beside its used and unused hours: no hour of a machine. #}
{% macro aws_is_reserved_time(usage_type) -%}
{{ matches(usage_type, '(^|-)(Reservation|DedicatedRes):') }}
{%- endmacro %}

{# The instance type that an AWS usage type ends in: `USE1-Train:ml.trn1.32xlarge` is of trn1.32xlarge. And whether it has accelerators. #}
{% macro aws_instance_type(usage_type) -%}
replace(regexp_extract({{ usage_type }}, ':([^:]*)$', 1), 'ml.', '')
{%- endmacro %}
{% macro aws_is_accelerator(instance_type) -%}
{#- an UltraServer is bought as one: u-p6e-gb200x72 has no size behind a point -#}
{{ matches(instance_type, '(^(trn|inf|p[0-9]|g[0-9]|gr[0-9]|dl)[0-9a-z-]*[.]|^u-(trn|p[0-9]))') }}
{%- endmacro %}

{# AWS gives a plan's unused commitment before the private discount but bills the fee after it: the same share of both, half up at 1e-12,
   so that what is used and unused of a plan adds up to what was paid for it. #}
{% macro net_of_discount(x, net, gross) -%}
case
            when {{ x }} > 0 and {{ gross }} > 0 and {{ net }} >= 0 and {{ net }} <> {{ gross }}
                then {{ from_units(multiplied_and_divided(to_units(x, 12), to_units(net, 12), to_units(gross, 12)), 12) }}
            else cast({{ x }} as decimal(38, 12))
        end
{%- endmacro %}


{# The region of a Google Cloud zone, '' for what is no zone: a zone is its region and a letter, an AI zone its region, ai, a digit and a letter. #}
{% macro gcp_region_of_zone(x) -%}
regexp_extract({{ x }}, '^([a-z]+-[a-z]+[0-9]+)-([a-z]|ai[0-9]+[a-z])$', 1)
{%- endmacro %}

{# The region that a Google Cloud row states: every region has a dash; what has none is wider (global, us, EU, nam4) and no region. #}
{% macro gcp_region(x) -%}
case when {{ x }} like '%-%' then {{ x }} end
{%- endmacro %}

{# The region that an AWS row states, '' where it states that it is of none, null where it states nothing. #}
{% macro aws_region(x) -%}
case when lower({{ x }}) = 'global' then '' else nullif({{ x }}, '') end
{%- endmacro %}

{# The name of a machine without the path that Google writes before it; `projects/7/zones/us-east5-a/instances/vm` is vm. #}
{% macro machine_name(x) -%}
case when {{ x }} like '%/nodes/%' or {{ x }} like '%/instances/%' then {{ replace_all(x, '^.*/(nodes|instances)/', '') }} else {{ x }} end
{%- endmacro %}

{# The name of a node pool, a cluster or a reservation without the path before it, '' for whatever is none of them. #}
{% macro place_name(x) -%}
regexp_extract({{ x }}, '(^|/)((clusters|reservations)/[^/]+(/nodePools/[^/]+)?)$', 2)
{%- endmacro %}

{# Machines of SageMaker HyperPod in a record: one by one, as Kubernetes knows it (`hyperpod-tqci9uwuwqiz-i-0f3c`, with the cluster's id),
   or those of one type together (`cluster/prod-trn/ml.trn1.32xlarge`, with the cluster's name, id or ARN). Whether a name is of one, and the cluster of either. #}
{% macro cluster_of_machine(x) -%}
regexp_extract({{ x }}, '^hyperpod-([a-z0-9]+)-i-[0-9a-f]+$', 1)
{%- endmacro %}
{% macro cluster_of_machines(x) -%}
regexp_extract({{ x }}, '(^|:)cluster/([^/]+)/ml[.][^/]+$', 2)
{%- endmacro %}
{% macro is_of_hyperpod(x) -%}
({{ x }} like 'hyperpod-%-i-%' or {{ x }} like '%cluster/%/ml.%')
{%- endmacro %}

{# The family of an accelerator by its provider's name: a type (trn1.32xlarge, v5p, nvidia-h100-80gb), a family of instances (trn1) or of SKUs
   (tpu, gpu). Null for what is none. #}
{% macro accelerator_family(x) -%}
case
            when {{ matches(x, '^(tpu|v[0-9]([^0-9]|$))') }} then 'tpu'
            when {{ matches(x, '^(u-)?trn') }} then 'trainium'
            when {{ x }} like 'inf%' then 'inferentia'
            when {{ matches(x, '^(gpu|nvidia|(u-)?p[0-9]|gr?[0-9]|v100)') }} then 'gpu'
        end
{%- endmacro %}

{# Residual rows that count as cost of accelerators: a commitment of v5p that was not used is component fee, and waste of accelerators. #}
{% macro is_of_accelerators() -%}
(cost_component = 'accelerator' or accelerator_type <> '')
{%- endmacro %}

{# What a row states of its cluster, its pod, its pipeline and its reservation, from staging to the rules. And of these what AWS's bill states. #}
{% macro cluster_columns() -%}
{{ return([
    'pod_allocation', 'workload_id', 'jobset_id', 'pipeline_id', 'cluster_name', 'node_pool_name', 'cluster_place',
    'reservation_name', 'reservation_place',
]) }}
{%- endmacro %}
{% macro pod_columns() -%}
{{ return(['pod_allocation', 'workload_id', 'jobset_id']) }}
{%- endmacro %}

{# Google Cloud rows: given in goodwill. #}
{% macro gcp_is_goodwill(lines) -%}
{{ lines }}.adjustment_type in ('GOODWILL', 'SALES_BASED_GOODWILL', 'SLA_VIOLATION')
{%- endmacro %}

{# Whether a row of AWS's FOCUS export is of a Savings Plan ('savings') or of a reservation ('reserv'). #}
{% macro focus_commitment(word) -%}
lower(coalesce(commitmentdiscounttype, '')) like '%{{ word }}%'
{%- endmacro %}

{# What a row of AWS's FOCUS export is, in the words of the CUR. What a commitment covers is a row of use under it; what of it is not used,
   which FOCUS has as use too, is its fee. #}
{% macro focus_line_item_type() -%}
{%- set is_used = "chargecategory = 'Usage' and lower(coalesce(commitmentdiscountstatus, '')) <> 'unused'" -%}
case
        when chargecategory = 'Adjustment' and {{ as_double('billedcost') }} < 0 then 'Refund'
        when chargecategory not in ('Usage', 'Purchase') then chargecategory
        when {{ focus_commitment('savings') }}
            then case
                when {{ is_used }} then 'SavingsPlanCoveredUsage'
                when chargefrequency = 'One-Time' then 'SavingsPlanUpfrontFee'
                else 'SavingsPlanRecurringFee'
            end
        when {{ focus_commitment('reserv') }}
            then case
                when {{ is_used }} then 'DiscountedUsage'
                when chargefrequency = 'One-Time' then 'Fee'
                else 'RIFee'
            end
        when chargecategory = 'Purchase' then 'Fee'
        else chargecategory
    end
{%- endmacro %}

{# What a row of Google's FOCUS export is, in the words of the detailed export. A purchase or a credit of its own, neither of which Google
   writes today, is use of nothing: it keeps its word, which no rule knows, and stays a residual. #}
{% macro focus_cost_type() -%}
case
        when lower(charge_category) in ('tax', 'purchase', 'credit') then lower(charge_category)
        when lower(charge_category) = 'adjustment' and lower(coalesce(cost_type, '')) in ('', 'regular') then 'adjustment'
        else lower(coalesce(nullif(cost_type, ''), 'regular'))
    end
{%- endmacro %}

{% macro gcp_is_commitment_fee(lines, skus) -%}
({{ lines }}.cost_type in ('regular', 'adjustment') and not {{ skus }}.is_support and not {{ gcp_is_goodwill(lines) }}
            and ({{ skus }}.is_commitment or {{ lines }}.originating_sku_id <> ''))
{%- endmacro %}

{# Regular rows but fees and support; a correction counts when it takes back or restates chips or machines. #}
{% macro gcp_is_usage(lines, skus) -%}
({{ lines }}.cost_type in ('regular', 'adjustment') and not {{ skus }}.is_support and not {{ gcp_is_goodwill(lines) }}
            and not ({{ skus }}.is_commitment or {{ lines }}.originating_sku_id <> '')
            and (
                ({{ lines }}.cost_type = 'regular' and {{ lines }}.adjustment_type = '')
                or ({{ skus }}.cost_component in ('accelerator', 'host') and {{ lines }}.has_usage_amount)
            ))
{%- endmacro %}

{# The family of an accelerator type that the catalogue does not list, by its name; null where the name does not tell. #}
{% macro family_of_type(x) -%}
case
            when {{ matches(x, '^trn[0-9]') }} then 'trainium'
            when {{ matches(x, '^inf[0-9]') }} then 'inferentia'
            when {{ matches(x, '(^v[0-9]+[a-z]*$|-[0-9]+t$)') }} then 'tpu'
            when {{ matches(x, '(^[pg][0-9][0-9a-z-]*[.]|^nvidia-|gpu-[0-9]+g$)') }} then 'gpu'
        end
{%- endmacro %}

{# All of a line of Google Cloud that decides where a part of a fee goes that it takes, as a list to order by. Null comes last on one
   engine and first on another, so no text is null here. #}
{% macro deciding_order(lines) -%}
{%- for text in ['machine_place', 'service_code', 'region_id', 'cost_component', 'instance_type', 'gpu_type', 'resource_id', 'other_resource_id', 'job_id', 'run_tag', 'fixed_reason'] + cluster_columns() %}coalesce({{ lines }}.{{ text }}, ''), {% endfor -%}
{{ lines }}.charge_period_end, {{ lines }}.billed_cost, {{ lines }}.list_cost nulls last, {{ lines }}.spend_credit, {{ lines }}.priced_usage nulls last, {{ lines }}.committed_ratio
{%- endmacro %}

{# The calendar quarter of a date: 2026Q3. #}
{% macro quarter_of(x) -%}
cast(year({{ x }}) as string) || 'Q' || cast(quarter({{ x }}) as string)
{%- endmacro %}

{# kg as tonnes, kWh as MWh, to the last digit. The sum of a planet fits 17 digits before the point. #}
{% macro thousandth(x) -%}
cast(cast({{ x }} as decimal(26, 9)) * cast(0.001 as decimal(3, 3)) as decimal(38, 12))
{%- endmacro %}

{# Whether a run-month can have energy: its run is on record, or a tag of the month is on accelerators. A tag on a disk alone holds no chips. #}
{% macro holds_chips(runs, energy) -%}
({{ runs }}.attempt_count > 0 or {{ energy }}.reserved_chip_hours is distinct from 0)
{%- endmacro %}
