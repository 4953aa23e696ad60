-- A month of Google's detailed billing export: nested records, a partition a day. A series is one SKU on one resource.
-- Variables: seed, month, skus, series, label_sets, projects.

create macro u(salt, id) as hash(concat_ws('|', getvariable('seed'), salt, id)) / 18446744073709551616.0;
create macro month_hours() as date_diff('hour', getvariable('month'), getvariable('month') + interval 1 month);
create macro pair(a, b) as {'key': a, 'value': b};

create table places as
select * from (values
    ('us-east5', 'us-east5-a', 'US', 'Columbus'), ('us-central1', 'us-central1-a', 'US', 'Iowa'), ('europe-west4',
        'europe-west4-b', 'NL', 'Netherlands'),
    ('us-west1', 'us-west1-c', 'US', 'Oregon'), ('asia-northeast1', 'asia-northeast1-b', 'JP', 'Tokyo'), ('europe-west1',
        'europe-west1-d', 'BE', 'Belgium'),
    ('us-east1', 'us-east1-b', 'US', 'South Carolina'), ('asia-southeast1', 'asia-southeast1-a', 'SG', 'Singapore'),
        ('europe-west3', 'europe-west3-c', 'DE', 'Frankfurt')
) as t (region_id, zone, country, place);

create table wares as
select * from (values
    ('vm', 'Compute Engine', '6F81-5844-456A', 'Instance Core running in', 0.031611, 'hour', 'seconds', 'gce'),
    ('vm', 'Compute Engine', '6F81-5844-456A', 'Instance Ram running in', 0.004237, 'gibibyte hour', 'byte-seconds', 'gce'),
    ('vm', 'Compute Engine', '6F81-5844-456A', 'Spot Preemptible Instance Core running in', 0.0076, 'hour', 'seconds', 'gce'),
    ('disk', 'Compute Engine', '6F81-5844-456A', 'Balanced PD Capacity in', 0.1, 'gibibyte month', 'byte-seconds', 'disk'),
    ('disk', 'Compute Engine', '6F81-5844-456A', 'Storage PD Snapshot in', 0.05, 'gibibyte month', 'byte-seconds', 'snap'),
    ('net', 'Compute Engine', '6F81-5844-456A', 'Network Inter Zone Data Transfer Out', 0.01, 'gibibyte', 'bytes', 'gce'),
    ('net', 'Networking', 'E505-1604-58F8', 'Network Internet Data Transfer Out from', 0.085, 'gibibyte', 'bytes', 'net'),
    ('net', 'Networking', 'E505-1604-58F8', 'Cloud NAT Data Processing in', 0.045, 'gibibyte', 'bytes', 'nat'),
    ('other', 'Cloud Storage', '95FF-2EF5-5EA1', 'Standard Storage', 0.02, 'gibibyte month', 'byte-seconds', 'bucket'),
    ('other', 'Cloud Storage', '95FF-2EF5-5EA1', 'Regional Standard Class A Operations', 0.000005, 'count', 'requests', 'bucket'),
    ('other', 'Cloud Logging', '5490-F7B7-8DF6', 'Log Storage cost', 0.5, 'gibibyte', 'bytes', 'log'),
    ('other', 'BigQuery', '24E6-581D-38E5', 'Analysis', 6.25, 'tebibyte', 'bytes', 'bq'),
    ('other', 'Cloud Pub/Sub', 'A1E8-BE35-7EBC', 'Message Delivery Basic', 40.0, 'tebibyte', 'bytes', 'topic'),
    ('other', 'Kubernetes Engine', 'CCD8-9BF1-090E', 'Autopilot Pod mCPU Requests in', 0.0000445, 'hour', 'seconds', 'pod')
) as t (family, service, service_id, words, price, pricing_unit, usage_unit, thing);

-- a SKU is a ware of a generation in a place; as many as a bill of this size shows
create table skus as
select *, row_number() over (partition by family order by hash(sku_id)) as nth
from (
    select w.* exclude (words), p.*, 'Gen' || g || ' ' || w.words || ' ' || p.place as description,
        upper(left(md5(w.words || g || p.place), 4) || '-' || substr(md5(w.words || g || p.place), 5,
            4) || '-' || substr(md5(w.words || g || p.place), 9, 4)) as sku_id
    from wares as w cross join places as p cross join range(1, 1 + greatest(1,
        cast(getvariable('skus') / 126 as bigint))) as t (g)
);
create table counts as select family, max(nth) as skus from skus group by family;

create table series as
with drawn as (
    select j as series_id, case when j % 100 < 40 then 'vm' when j % 100 < 60 then 'disk' when j % 100 < 80 then 'net'
        else 'other' end as family
    from range(1, getvariable('series') + 1) as t (j)
),
owned as (
    select d.series_id, d.family, 1 + cast(floor(c.skus * pow(u('sku', series_id), 2)) as bigint) as nth,
        case when u('named', series_id) > 0.1 then series_id // 2 end as thing_n,
        1 + cast(floor(getvariable('projects') * pow(u('project', series_id // 2), 2)) as bigint) as project_n,
        case when u('labelled', series_id // 2) < 0.7 then cast(floor(getvariable('label_sets') * pow(u('labels',
            series_id // 2), 1.5)) as bigint) end as label_set,
        cast(null as varchar) as run_label
    from drawn as d inner join counts as c using (family)
)
select o.*, s.* exclude (family, nth), 'thing-' || o.thing_n as name from owned as o inner join skus as s using (family, nth);

-- TPU nodes: one series each, a run's label while it holds the node
insert into series by name
select 1000000000 + n as series_id, 'tpu' as family, 'Compute Engine' as service, '6F81-5844-456A' as service_id,
    1.2 as price, 'hour' as pricing_unit, 'seconds' as usage_unit,
    'tpu' as thing, 'us-central1' as region_id, 'us-central1-a' as zone, 'US' as country, 'Iowa' as place,
        'TpuV5e running in Iowa' as description, 'A5E0-0000-0001' as sku_id,
    1 + n % 3 as project_n, n as thing_n, 'tpu-' || n as name
from range(1, 1 + greatest(1, cast(getvariable('series') * 0.0008 as bigint))) as t (n);

create table lines as
with shaped as (
    select series_id, family, price, usage_unit, pricing_unit,
        case when family = 'tpu' or u('long', series_id) < 0.02 then month_hours()
            else 1 + least(cast(floor(-ln(1 - u('hours', series_id)) * 5.2) as bigint), month_hours() - 2) end as hour_count
    from series
),
drawn as (
    select *, cast(floor(u('first', series_id) * (month_hours() - hour_count + 1)) as bigint) + k as hour from shaped
        cross join lateral unnest(range(hour_count)) as t (k)
)
select
    series_id, hour,
    getvariable('month') + hour * interval 1 hour as starts,
    round(case family when 'tpu' then 8.0 when 'vm' then 1 + series_id % 32 when 'disk' then 500.0 / month_hours()
        else exp(-12 + 14 * u(concat('amount', hour), series_id)) end, 6) as priced,
    case when family = 'tpu' and hour % 60 >= 2 then 'bench-tpu-' || (series_id % 1000000) || '-' || hour // 60 end as run_label
from drawn;
