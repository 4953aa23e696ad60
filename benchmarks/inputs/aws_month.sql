-- One payer's month. A series is what repeats (a machine, a bucket, a route of bytes); a line is one of its hours.
-- Variables: seed, month (a date), shapes, series, resources, tag_sets, accounts, bare (machines without a volume and traffic of
-- their own), pods (rows of pods beside each hour of a machine). Tables of the caller: nodes, holds, jobs.

create macro u(salt, id) as hash(concat_ws('|', getvariable('seed'), salt, id)) / 18446744073709551616.0;
create macro month_hours() as date_diff('hour', getvariable('month'), getvariable('month') + interval 1 month);
create macro hexes(salt, id) as md5(concat_ws('|', getvariable('seed'), salt, id));

create table accounts as
select n, printf('%012d', cast(floor(u('account', n) * 1e12) as bigint)) as account_id,
    'account-' || n || ' (synthetic)' as account_name
from range(1, getvariable('accounts') + 1) as t (n);

create table counts as select family, count(*) as shapes from shapes group by family;

-- The shares are those of the rows of the FOCUS sample: bytes moved are half of a bill's rows, machines a seventh.
create table numbered as
select series_id, family, row_number() over (partition by family order by series_id) as nth
from (
    select j as series_id, case when j % 100 < 14 then 'box' when j % 100 < 32 then 'volume' when j % 100 < 77 then 'transfer'
        else 'other' end as family
    from range(1, getvariable('series') + 1) as t (j)
);

create table series as
with placed as (
    select
        n.series_id, n.family, n.nth,
        -- every shape occurs; beyond that few shapes have most of the series
        case when n.nth <= c.shapes then n.nth else 1 + cast(floor(c.shapes * pow(u('shape', n.series_id),
            3)) as bigint) end as shape_nth,
        -- whose resource this is: a volume has two or three prices, most bytes are a machine's
        case n.family
            when 'box' then 'box|' || n.nth
            when 'volume' then 'volume|' || n.nth // 2
            when 'transfer' then case
                when u('own', n.series_id) < 0.3 then 'eni|' || n.nth
                when u('own', n.series_id) > 0.9 then null
                else 'box|' || (1 + cast(floor(0.14 * getvariable('series') * pow(u('whose', n.series_id), 2)) as bigint))
            end
            else case
                when u('own', n.series_id) < 0.15 then null
                else 'other|' || (1 + cast(floor(0.2 * getvariable('series') * u('whose', n.series_id)) as bigint))
            end
        end as thing
    from numbered as n
    inner join counts as c using (family)
),
owned as (
    select
        p.*,
        1 + cast(floor(getvariable('accounts') * pow(u('account of', coalesce(p.thing, cast(p.series_id as varchar))),
            2.2)) as bigint) as account_n,
        -- seven of ten carry tags; a few sets of them are on very many resources
        case when u('tagged', coalesce(p.thing, cast(p.series_id as varchar))) < 0.7
            then cast(floor(getvariable('tag_sets') * pow(u('tags', coalesce(p.thing, cast(p.series_id as varchar))),
                1.5)) as bigint)
        end as tag_set
    from placed as p
)
select
    o.series_id, o.family, s.* exclude (family, nth), o.account_n, o.tag_set,
    case
        when o.thing is null then null
        when o.family = 'box' or o.thing like 'box|%' then 'i-0' || left(hexes('thing', o.thing), 16)
        when o.family = 'transfer' then 'eni-0' || left(hexes('thing', o.thing), 16)
        when s.product_code = 'AmazonS3' then 'bucket-' || left(hexes('thing', o.thing), 12)
        when o.family = 'volume' then 'vol-0' || left(hexes('thing', o.thing), 16)
        else 'arn:aws:' || lower(replace(replace(s.product_code, 'Amazon', ''), 'AWS', '')) || ':' || s.region_id || ':'
            || a.account_id || ':resource/' || hexes('thing', o.thing)
    end as resource_id,
    case when o.family in ('box', 'volume') then s.region_id || chr(97 + cast(floor(u('zone',
        o.series_id) * 3) as int)) end as zone,
    case s.purchase when 'plan' then 1 + o.series_id % 3 end as plan_n,
    cast(null as varchar) as block_arn
from owned as o
inner join shapes as s on o.family = s.family and o.shape_nth = s.nth
inner join accounts as a on o.account_n = a.n;

-- The accelerators: machines (in a block their hours are free), a volume and the traffic of each, and managed jobs.
insert into series by name
select
    1000000000 + n.n as series_id, 'node' as family, 'AmazonEC2' as product_code, 'Amazon Elastic Compute Cloud' as product_name,
    case when n.block_arn is null then n.purchase else 'block' end as purchase,
    r.prefix || case n.purchase when 'spot' then 'SpotUsage:' else 'BoxUsage:' end || n.instance_type as usage_type,
    'RunInstances' || case n.purchase when 'spot' then ':SV001' else '' end as operation,
    'Hrs' as unit, 'Compute Instance' as product_family, 'AmazonEC2' as service_code, n.region_id, r.place, n.instance_type,
    'Machine Learning ASIC Instances' as instance_family, case when n.block_arn is null then n.rate else 0 end as rate,
        'EC2' as group_name,
    0 as tier, '' as to_region, n.instance_type || ' On Demand Linux Instance Hour' as what,
        md5(n.instance_type || n.purchase) as code,
    n.account_n, n.tag_set, n.resource_id, n.zone, case n.purchase when 'plan' then 1 end as plan_n, n.block_arn
from nodes as n
inner join regions as r using (region_id)
union all by name
select
    more.start + n.n as series_id, 'node' as family, 'AmazonEC2' as product_code, more.product_name, 'on_demand' as purchase,
    r.prefix || more.usage_name as usage_type, more.operation, more.unit, more.product_family, more.service_code, n.region_id,
        r.place,
    more.rate, more.what as group_name, 0 as tier, '' as to_region, more.what, md5(more.usage_name) as code, n.account_n,
        n.tag_set,
    case when more.unit = 'GB' then n.resource_id else replace(n.resource_id, 'i-', 'vol-') end as resource_id,
    case when more.unit = 'GB-Mo' then n.zone end as zone
from nodes as n
inner join regions as r using (region_id)
cross join (values
    (2000000000, 'Amazon Elastic Compute Cloud', 'EBS:VolumeUsage.gp3', 'CreateVolume-Gp3', 'GB-Mo', 'Storage', 'AmazonEC2',
        0.08, 'EBS'),
    (3000000000, 'AWS Data Transfer', 'DataTransfer-Regional-Bytes', 'InterZone-In', 'GB', 'Data Transfer', 'AWSDataTransfer',
        0.01, 'regional data transfer')
) as more (start, product_name, usage_name, operation, unit, product_family, service_code, rate, what)
where not getvariable('bare')
union all by name
-- split cost allocation: what a pod took of the machine, in vCPU-hours and GB-hours, at no cost of its own
select
    10000000000 + 100 * n.n + pod as series_id, 'pod' as family, 'AmazonEKS' as product_code,
    'Amazon Elastic Container Service for Kubernetes' as product_name, 'on_demand' as purchase,
    r.prefix || case pod % 2 when 0 then 'EKS-EC2-vCPU-Hours' else 'EKS-EC2-GB-Hours' end as usage_type,
    'EKSPod-EC2' as operation, case pod % 2 when 0 then 'vCPU-Hours' else 'GB-Hours' end as unit, 'Compute' as product_family,
    'AmazonEKS' as service_code, n.region_id, r.place, 0.0 as rate, 'EKS' as group_name, 0 as tier, '' as to_region,
    'pod' as what, md5('pod') as code, n.account_n, n.tag_set,
    'arn:aws:eks:' || n.region_id || ':' || a.account_id || ':pod/training/' || n.resource_id || '/' || pod // 2 as resource_id
from nodes as n
inner join regions as r using (region_id)
inner join accounts as a on n.account_n = a.n
cross join range(getvariable('pods')) as pods (pod)
union all by name
select
    4000000000 + j.n as series_id, 'job' as family, 'AmazonSageMaker' as product_code, 'Amazon SageMaker' as product_name,
        'on_demand' as purchase,
    'USE1-Train:ml.trn1.32xlarge' as usage_type, 'CreateTrainingJob' as operation, 'Hrs' as unit, 'ML Instance' as product_family,
    'AmazonSageMaker' as service_code, 'us-east-1' as region_id, 'US East (N. Virginia)' as place, 24.725 as rate,
        'SageMaker' as group_name,
    0 as tier, '' as to_region, 'Training ml.trn1.32xlarge hour in us-east-1' as what, md5('train') as code, j.account_n,
        j.tag_set, j.resource_id
from jobs as j;

-- Two of a hundred series are there all month; the others some hours, in one piece or now and then: twenty rows a series, as in
-- a real
-- export (989 line ids in 19,946 rows).
create table line_hours as
with shaped as (
    select
        *, u('long', series_id) < 0.02 as is_long,
        least(1 + cast(floor(-ln(1 - u(month_salt, series_id)) * 5.2) as bigint), month_hours() - 1) as drawn_hours,
        case when u('scattered', series_id) < 0.5 then 1 else 2 + cast(floor(u('step',
            series_id) * 40) as bigint) end as drawn_step
    from (select *, 'hours ' || getvariable('month') as month_salt from series where family in ('box', 'volume', 'transfer',
        'other'))
),
stepped as (
    select
        *, case when is_long then month_hours() else drawn_hours end as hour_count,
        case when is_long then 1 else greatest(1, least(drawn_step, (month_hours() - 1) // drawn_hours)) end as step
    from shaped
),
drawn as (
    select
        series_id, family, purchase, unit, rate, hour_count, k, cast(floor(u(month_salt || 'first',
            series_id) * (month_hours() - (hour_count - 1) * step)) as bigint) + k * step as hour
    from stepped
    cross join lateral unnest(range(hour_count)) as t (k)
),
held as (
    select 1000000000 + n.n as series_id, n.purchase, n.rate, n.n, unnest(range(n.first_hour, n.last_hour)) as hour,
        n.block_arn from nodes as n
),
amounts as (
    select
        series_id, hour, rate, purchase,
        round(case
            when family = 'box' then case when k in (0, hour_count - 1) and hour_count < month_hours() then u(concat('part',
                hour), series_id) else 1 end
            when family = 'volume' then exp(1 + 8 * u('size', series_id)) * (1 + 0.0003 * hour) / month_hours()
            when unit = 'GB' then exp(-16 + 18 * u(concat('bytes', hour), series_id))
            when lower(unit) in ('hrs', 'hour', 'hours') then 1
            else floor(1 + exp(10 * pow(u(concat('count', hour), series_id), 3)))
        end, 10) as amount,
        cast(null as varchar) as run_tag
    from drawn
    union all
    select h.series_id, h.hour, case when h.block_arn is null then h.rate else 0 end, h.purchase, 1, holds.tag
    from held as h
    left join holds on h.n = holds.n and h.hour between holds.first_hour and holds.last_hour
    union all
    select
        2000000000 + n.n, h.hour, 0.08, 'on_demand', round(500.0 / month_hours(), 10), holds.tag
    from held as h inner join nodes as n using (n) left join holds on h.n = holds.n and h.hour between holds.first_hour
        and holds.last_hour
    where not getvariable('bare')
    union all
    select 3000000000 + h.n, h.hour, 0.01, 'on_demand', round(exp(-16 + 18 * u(concat('node bytes', h.hour), h.n)), 10), holds.tag
    from held as h left join holds on h.n = holds.n and h.hour between holds.first_hour and holds.last_hour
    where not getvariable('bare')
    union all
    select 10000000000 + 100 * h.n + pod, h.hour, 0.0, 'on_demand', round(64 * u(concat('pod', h.hour), h.n + pod), 10),
        cast(null as varchar)
    from held as h cross join range(getvariable('pods')) as pods (pod)
    union all
    select 4000000000 + j.n, unnest(range(j.first_hour, j.last_hour)), 24.725, 'on_demand', j.machines, cast(null as varchar)
        from jobs as j
)
select
    series_id, getvariable('month') + hour * interval 1 hour as starts,
        getvariable('month') + (hour + 1) * interval 1 hour as ends, amount, run_tag,
    -- half of the hours of Spot cost something else
    case when purchase = 'reserved' then 0 else round(amount * rate * case when purchase = 'spot' then 0.25 + 0.1 * u('spot',
        hour // 24) else 1 end, 10) end as cost,
    round(amount * rate, 10) as list,
    case when purchase = 'plan' then round(amount * rate * 0.63, 10) end as plan_cost,
    case when purchase = 'reserved' then round(amount * rate * 0.58, 10) end as reserved_cost,
    cast(null as double) as plan_committed, cast(null as double) as plan_used, cast(null as double) as fee_unused,
        cast(null as varchar) as text_n
from amounts;

-- What a Savings Plan covers is shown at its price and taken away again, by account, type and hour.
create table covered as
select
    s.account_n, s.usage_type, s.operation, s.region_id, s.plan_n, l.starts, l.ends,
        sum(cast(l.amount as decimal(20,10))) as amount,
    sum(cast(l.cost as decimal(24,10))) as cost, sum(cast(l.plan_cost as decimal(24,10))) as plan_cost,
        min(s.series_id) as like_series
from line_hours as l
inner join series as s using (series_id)
where s.purchase = 'plan'
group by all;

insert into series by name
select 5000000000 + min(c.like_series) as series_id, 'negation' as family, s.* exclude (series_id, family, resource_id,
    tag_set, zone, account_n, plan_n), c.account_n, c.plan_n
from (select account_n, usage_type, operation, region_id, plan_n, min(like_series) as like_series from covered group by all) as c
inner join series as s on c.like_series = s.series_id
group by all;

insert into line_hours by name
select n.series_id, c.starts, c.ends, cast(c.amount as double) as amount, -cast(c.cost as double) as cost, 0.0 as list
from covered as c
inner join series as n
    on n.family = 'negation' and c.account_n = n.account_n and c.usage_type = n.usage_type and c.operation = n.operation
        and c.region_id = n.region_id and c.plan_n = n.plan_n;

-- The plans' own fee each hour, with what of it was used.
insert into series by name
select
    6000000000 + plan_n as series_id, 'plan_fee' as family, 'ComputeSavingsPlans' as product_code,
        'Savings Plans for AWS Compute usage' as product_name,
    'ComputeSP:3yrNoUpfront' as usage_type, 'Hrs' as unit, '3 year No Upfront Compute Savings Plan' as what, 0 as tier,
        md5('plan') as code, 1 as account_n, plan_n
from (select distinct plan_n from covered);

insert into line_hours by name
with hourly as (select plan_n, starts, ends, sum(plan_cost) as used from covered group by all),
committed as (select plan_n, cast(max(used) as double) as fee from hourly group by all),
hours as (select getvariable('month') + h * interval 1 hour as starts,
    getvariable('month') + (h + 1) * interval 1 hour as ends from range(month_hours()) as t (h))
select
    6000000000 + committed.plan_n as series_id, hours.starts, hours.ends, 1.0 as amount, round(fee, 10) as cost, round(fee,
        10) as plan_committed,
    coalesce(cast(hourly.used as double), 0) as plan_used
from committed
cross join hours
left join hourly on committed.plan_n = hourly.plan_n and hours.starts = hourly.starts;

-- Each reservation's fee, once a month, with what of it nobody used.
insert into series by name
select
    7000000000 + min(series_id) as series_id, 'reserved_fee' as family, 'AmazonEC2' as product_code,
        'Amazon Elastic Compute Cloud' as product_name,
    replace(usage_type, 'BoxUsage', 'HeavyUsage') as usage_type, operation, 'Hrs' as unit,
        'Compute Instance' as product_family, 'AmazonEC2' as service_code,
    region_id, place, instance_type, 'reserved instance fee' as what, 0 as tier, md5(usage_type) as code, account_n
from series
where purchase = 'reserved'
group by all;

insert into line_hours by name
select f.series_id, getvariable('month') as starts, getvariable('month') + interval 1 month as ends,
    cast(month_hours() as double) as amount,
    cast(used.cost as double) + 1.25 as cost, 1.25 as fee_unused, '1' as text_n
from series as f
inner join (
    select s.account_n, replace(s.usage_type, 'BoxUsage', 'HeavyUsage') as usage_type, s.operation, s.region_id,
        sum(cast(l.reserved_cost as decimal(24,10))) as cost
    from line_hours as l inner join series as s using (series_id) where s.purchase = 'reserved' group by all
) as used on f.family = 'reserved_fee' and f.account_n = used.account_n and f.usage_type = used.usage_type
    and f.operation = used.operation and f.region_id = used.region_id;

-- The block: its fee in the month, and the hours in it that nobody started.
insert into series by name
select
    8000000000 + parts.n as series_id, parts.family, 'AmazonEC2' as product_code,
        'Amazon Elastic Compute Cloud' as product_name, r.prefix || parts.usage || b.instance_type as usage_type,
    parts.operation, 'Hrs' as unit, 'Compute Instance' as product_family, 'AmazonEC2' as service_code, b.region_id, r.place,
        b.instance_type, parts.what, 0 as tier,
    md5(parts.usage) as code, b.account_n, b.block_arn, case parts.n when 2 then b.block_arn end as resource_id
from (select instance_type, region_id, account_n, block_arn from nodes where block_arn is not null group by all) as b
inner join regions as r using (region_id)
cross join (values (1, 'block_fee', 'CapacityBlockFee:', 'RunInstances:CB', 'Capacity Block for ML'), (2, 'block_unused',
    'UnusedBox:', 'RunInstances', 'unused Capacity Block hour'))
    as parts (n, family, usage, operation, what);

insert into line_hours by name
select 8000000001 as series_id, starts, starts + interval 1 hour as ends, cast(size.hours * size.nodes as double) as amount,
    round(size.hours * size.nodes * 35.7608, 10) as cost,
    cast(size.nodes as varchar) as text_n
from (select count(*) as nodes, getvariable('block_hours') as hours,
    getvariable('month') + min(first_hour) * interval 1 hour as starts from nodes where block_arn is not null) as size
where size.nodes > 0
union all by name
select 8000000002 as series_id, getvariable('month') + hour * interval 1 hour as starts,
    getvariable('month') + (hour + 1) * interval 1 hour as ends, cast(size.nodes as double) as amount, 0.0 as cost, 0.0 as list
from (select count(*) as nodes, max(last_hour) as last_hour, min(first_hour) + getvariable('block_hours') as until from nodes
    where block_arn is not null) as size
cross join lateral unnest(range(last_hour, until)) as t (hour)
where size.nodes > 0;

-- Tax by account and product for some, a credit and a refund for few, support for the payer.
create table billed as
select s.account_n, s.product_code, s.product_name, sum(cast(l.cost as decimal(24,10))) as cost, min(s.series_id) as series_id
from line_hours as l inner join series as s using (series_id)
where s.family in ('box', 'volume', 'transfer', 'other', 'node', 'job')
group by all;

insert into series by name
select 9000000000 + 10000 * kinds.n + row_number() over (order by kinds.n, account_n, product_code, product_name) as series_id,
    kinds.family, product_code, product_name, kinds.what, 0 as tier,
    case kinds.family when 'tax' then null else kinds.family || ' usage' end as usage_type, account_n,
        md5(kinds.family || product_code) as code, cast(cost as double) as rate
from billed
cross join (values (1, 'tax', 'Tax for product code', 0.3), (2, 'credit', 'AWS Activate credit', 0.06), (3, 'refund',
    'Refund of a usage error', 0.02)) as kinds (n, family, what, share)
where u(kinds.family, account_n || product_code) < kinds.share and cost > 0
union all by name
select 9900000001 as series_id, 'support' as family, 'AWSSupportBusiness' as product_code,
    'AWS Support (Business)' as product_name, 'AWS Support (Business)' as what, 0 as tier,
    'Dollar' as usage_type, 1 as account_n, md5('support') as code, cast(sum(cost) as double) as rate
from billed;

insert into line_hours by name
select series_id, getvariable('month') as starts, getvariable('month') + interval 1 month as ends, case family
    when 'tax' then 1.0 else 0.0 end as amount,
    round(rate * case family when 'tax' then 0.05 when 'credit' then -0.04 when 'refund' then -0.01 else 0.03 end, 2) as cost
from series
where family in ('tax', 'credit', 'refund', 'support');

-- An id repeats from hour to hour of a series, and is another one in the next month.
alter table series add line_id varchar;
update series set line_id = left(md5(concat_ws('|', getvariable('month'), series_id)) || md5(series_id || 'id'), 52);

-- Rows of one part lie together: writing a part then reads no other.
create or replace table line_hours as
select *, hash(series_id, starts) % getvariable('parts') as part from line_hours order by part;
