-- The rows of one day's partition, as BigQuery exports them.
select
    '01A7F3-5E2C90-B4D816' as billing_account_id,
    {'id': s.service_id, 'description': s.service} as service,
    {'id': s.sku_id, 'description': s.description} as sku,
    cast(l.starts as timestamptz) as usage_start_time,
    cast(l.starts + interval 1 hour as timestamptz) as usage_end_time,
    {'id': 'bench-project-' || s.project_n, 'number': cast(401020030000 + s.project_n as varchar),
        'name': 'project ' || s.project_n || ' (synthetic)',
        'labels': cast([] as struct(key varchar, value varchar)[]), 'ancestry_numbers': '/770300200100/',
            'ancestors': [{'resource_name': 'organizations/770300200100', 'display_name': 'bench.synthetic'}]} as project,
    list_concat(
        case when s.label_set is null then cast([] as struct(key varchar, value varchar)[]) else [
            pair('application', 'app-' || s.label_set // 4), pair('environment', ['dev', 'prod', 'stage',
                'test'][1 + s.label_set % 4]), pair('team', 'team-' || s.label_set % 31)] end,
        case when l.run_label is null then cast([] as struct(key varchar, value varchar)[]) else [pair('training_run_id',
            l.run_label)] end
    ) as labels,
    case when s.thing = 'gce' then [pair('compute.googleapis.com/machine_spec', 'n2-standard-' || (2 + s.series_id % 30)),
        pair('compute.googleapis.com/cores', cast(s.series_id % 32 as varchar))]
        else cast([] as struct(key varchar, value varchar)[]) end as system_labels,
    {'location': s.zone, 'country': s.country, 'region': s.region_id, 'zone': s.zone} as location,
    case when s.thing_n is not null then {'name': s.name,
        'global_name': '//compute.googleapis.com/projects/' || (401020030000 + s.project_n) || '/zones/' || s.zone
        || '/instances/' || hash(s.name) % 1000000000000} end
        as resource,
    cast([] as struct(key varchar, value varchar, inherited boolean, namespace varchar)[]) as tags,
    {'effective_price': cast(s.price as decimal(38,9)), 'tier_start_amount': cast(0 as decimal(38,9)), 'unit': s.pricing_unit,
        'pricing_unit_quantity': cast(1 as decimal(38,9)),
        'list_price': cast(s.price as decimal(38,9)), 'effective_price_default': cast(s.price as decimal(38,9)),
            'list_price_consumption_model': cast(s.price as decimal(38,9))} as price,
    'GOOGLE' as transaction_type,
    'Google LLC (synthetic)' as seller_name,
    cast(l.starts + interval 9 hour as timestamptz) as export_time,
    round(l.priced * s.price, 6) as cost,
    'USD' as currency,
    cast(1 as double) as currency_conversion_rate,
    {'amount': l.priced * case s.usage_unit when 'seconds' then 3600.0 when 'requests' then 1.0 else 1073741824.0 end,
        'unit': s.usage_unit, 'amount_in_pricing_units': l.priced, 'pricing_unit': s.pricing_unit} as usage,
    case when s.family = 'vm' and s.series_id % 3 = 0
        then [{'name': 'Sustained Usage Discount', 'amount': round(l.priced * s.price * -0.2, 6),
            'full_name': 'Sustained Usage Discount (synthetic)', 'id': 'sud', 'type': 'SUSTAINED_USAGE_DISCOUNT'}]
        else cast([] as struct(name varchar, amount double, full_name varchar, id varchar, type varchar)[]) end as credits,
    {'month': strftime(getvariable('month'), '%Y%m'), 'publisher_type': 'GOOGLE'} as invoice,
    'regular' as cost_type,
    cast(null as struct(id varchar, description varchar, mode varchar, type varchar)) as adjustment_info,
    round(l.priced * s.price, 6) as cost_at_list,
    cast(null as struct(instance_id varchar)) as subscription,
    cast(round(l.priced * s.price, 6) as decimal(38,9)) as cost_at_effective_price_default,
    cast(round(l.priced * s.price, 6) as decimal(38,9)) as cost_at_list_consumption_model,
    {'id': '7754-699E-0EBF', 'description': 'Default'} as consumption_model
from lines as l
inner join series as s using (series_id)
where l.hour // 24 = getvariable('day')
order by hash(l.series_id, l.hour)
