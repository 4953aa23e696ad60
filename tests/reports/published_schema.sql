-- The published tables the quarterly report reads, as ../shared/contract.yml has them; test_published_fixture.py compares the two.
-- Columns the contract leaves open (dimensions, ops) are those of the seeds and of the line.
create schema marts;
create schema ops;

create table marts.dim_accounts (
    provider_name varchar not null,
    account_id varchar not null,
    account_name varchar,
    payer_account_id varchar,
    first_usage_month date not null,
    last_usage_month date not null
);

create table marts.dim_services (
    provider_name varchar not null,
    service_code varchar not null,
    service_name varchar
);

create table marts.dim_training_runs (
    training_run_id varchar not null,
    recorded_id varchar not null,
    provider_name varchar not null,
    accelerator_family varchar not null,
    accelerator_type varchar,
    is_multi_accelerator boolean not null,
    region_id varchar,
    is_multi_region boolean not null,
    sub_account_id varchar,
    is_multi_account boolean not null,
    team varchar,
    model_name varchar,
    framework varchar,
    workload_key varchar,
    pair_key varchar,
    started_at timestamp,
    ended_at timestamp,
    state varchar not null,
    attempt_count bigint not null,
    chip_count bigint,
    chip_equivalents decimal(38, 9),
    parent_run_id varchar,
    tokens bigint,
    useful_tokens bigint,
    steps bigint,
    model_flops double,
    target_metric varchar,
    target_direction varchar,
    target_value double,
    final_value double,
    is_target_reached boolean,
    is_end_known boolean not null,
    framework_version varchar,
    sdk_name varchar,
    sdk_version varchar,
    driver_version varchar,
    runtime_version varchar,
    cluster_name varchar,
    slice_name varchar
);

create table marts.fct_run_attempts (
    training_run_id varchar not null, attempt_id varchar not null, started_at timestamp not null, ended_at timestamp, state varchar not null,
    record_system varchar not null, kept_until timestamp, kept_because varchar, lost_hours decimal(38, 9), lost_chip_hours decimal(38, 9),
    waiting_chip_hours decimal(38, 9), lost_because varchar
);

create table marts.fct_run_progress (
    training_run_id varchar not null, steps bigint, steps_source varchar, tokens bigint, tokens_source varchar, useful_tokens bigint,
    useful_tokens_source varchar, model_flops double, model_flops_source varchar, mfu_ratio double,
    held_time_utilisation_ratio double, mfu_arithmetic varchar, mfu_basis varchar,
    mfu_because varchar, goodput_ratio double, goodput_because varchar, useful_hours decimal(38, 9), held_hours decimal(38, 9)
);

create table marts.fct_training_run_costs (
    training_run_id varchar not null,
    usage_month date not null,
    billing_currency varchar not null,
    cost_component varchar not null,
    attribution_rule varchar not null,
    attribution_confidence varchar not null,
    billed_cost decimal(38, 12) not null,
    effective_cost decimal(38, 12) not null,
    list_cost decimal(38, 12),
    contracted_cost decimal(38, 12),
    list_cost_coverage_ratio double not null,
    idle_share_billed_cost decimal(38, 12) not null,
    idle_share_effective_cost decimal(38, 12) not null,
    status varchar not null,
    reporting_currency_effective_cost decimal(38, 12),
    fx_rate_date date,
    effective_cost_with_list decimal(38, 12) not null,
    on_demand_list_cost decimal(38, 12)
);

create table marts.fct_run_cell_costs (
    training_run_id varchar not null,
    source_name varchar not null,
    provider_name varchar not null,
    payer_account_id varchar not null,
    sub_account_id varchar not null,
    service_code varchar not null,
    region_id varchar not null,
    usage_month date not null,
    billing_currency varchar not null,
    cost_component varchar not null,
    attribution_rule varchar not null,
    billed_cost decimal(38, 12) not null,
    effective_cost decimal(38, 12) not null,
    list_cost decimal(38, 12),
    contracted_cost decimal(38, 12),
    idle_share_billed_cost decimal(38, 12) not null,
    idle_share_effective_cost decimal(38, 12) not null
);

create table marts.fct_purchase_costs (
    training_run_id varchar not null,
    usage_month date not null,
    provider_name varchar not null,
    region_id varchar not null,
    accelerator_type varchar not null,
    purchase_option varchar not null,
    billing_currency varchar not null,
    effective_cost decimal(38, 12) not null,
    list_cost decimal(38, 12)
);

create table marts.fct_residual_costs (
    source_name varchar not null,
    provider_name varchar not null,
    payer_account_id varchar not null,
    sub_account_id varchar not null,
    service_code varchar not null,
    region_id varchar not null,
    usage_month date not null,
    billing_currency varchar not null,
    cost_component varchar not null,
    accelerator_type varchar not null,
    reason varchar not null,
    billed_cost decimal(38, 12) not null,
    effective_cost decimal(38, 12) not null,
    list_cost decimal(38, 12),
    contracted_cost decimal(38, 12),
    spread_billed_cost decimal(38, 12) not null,
    spread_effective_cost decimal(38, 12) not null
);

create table marts.fct_prepaid (
    provider_name varchar not null,
    payer_account_id varchar not null,
    commitment_id varchar not null,
    commitment_kind varchar not null,
    usage_month date not null,
    billing_currency varchar not null,
    accelerator_type varchar,
    accelerator_family varchar,
    opening_cost decimal(38, 12),
    purchased_cost decimal(38, 12) not null,
    refunded_cost decimal(38, 12) not null,
    amortised_used_cost decimal(38, 12) not null,
    amortised_unused_cost decimal(38, 12) not null,
    closing_cost decimal(38, 12)
);

create table marts.fct_training_run_emissions (
    training_run_id varchar not null,
    usage_month date not null,
    provider_name varchar not null,
    provider_model_version varchar,
    provider_total_location_based_kgco2e decimal(38, 9),
    provider_total_market_based_kgco2e decimal(38, 9),
    provider_scope_1_kgco2e decimal(38, 9),
    provider_scope_2_location_based_kgco2e decimal(38, 9),
    provider_scope_2_market_based_kgco2e decimal(38, 9),
    provider_scope_3_location_based_kgco2e decimal(38, 9),
    provider_scope_3_market_based_kgco2e decimal(38, 9),
    provider_scope_3_unsplit_kgco2e decimal(38, 9),
    idle_share_location_based_kgco2e decimal(38, 9),
    idle_share_market_based_kgco2e decimal(38, 9),
    reporter_scope bigint not null,
    reporter_scope_3_category bigint,
    allocation_confidence varchar not null,
    status varchar not null
);

create table marts.fct_run_cell_emissions (
    training_run_id varchar not null,
    source_name varchar not null,
    provider_name varchar not null,
    payer_account_id varchar not null,
    sub_account_id varchar not null,
    service_code varchar not null,
    region_id varchar not null,
    usage_month date not null,
    provider_model_version varchar not null,
    provider_total_location_based_kgco2e decimal(38, 9),
    provider_total_market_based_kgco2e decimal(38, 9),
    provider_scope_1_kgco2e decimal(38, 9),
    provider_scope_2_location_based_kgco2e decimal(38, 9),
    provider_scope_2_market_based_kgco2e decimal(38, 9),
    provider_scope_3_location_based_kgco2e decimal(38, 9),
    provider_scope_3_market_based_kgco2e decimal(38, 9),
    provider_scope_3_unsplit_kgco2e decimal(38, 9),
    weight_numerator varchar not null,
    weight_denominator varchar not null
);

create table marts.fct_residual_emissions (
    source_name varchar not null,
    provider_name varchar not null,
    payer_account_id varchar not null,
    sub_account_id varchar not null,
    service_code varchar not null,
    region_id varchar not null,
    usage_month date not null,
    provider_model_version varchar not null,
    reason varchar not null,
    provider_total_location_based_kgco2e decimal(38, 9),
    provider_total_market_based_kgco2e decimal(38, 9),
    provider_scope_1_kgco2e decimal(38, 9),
    provider_scope_2_location_based_kgco2e decimal(38, 9),
    provider_scope_2_market_based_kgco2e decimal(38, 9),
    provider_scope_3_location_based_kgco2e decimal(38, 9),
    provider_scope_3_market_based_kgco2e decimal(38, 9),
    provider_scope_3_unsplit_kgco2e decimal(38, 9),
    spread_location_based_kgco2e decimal(38, 9),
    spread_market_based_kgco2e decimal(38, 9)
);

create table marts.fct_reconciliation (
    source_name varchar not null,
    provider_name varchar not null,
    payer_account_id varchar not null,
    sub_account_id varchar not null,
    service_code varchar not null,
    region_id varchar not null,
    usage_month date not null,
    measure varchar not null,
    unit_or_currency varchar not null,
    provider_model_version varchar not null,
    method varchar not null,
    provider_total decimal(38, 12),
    runs_total decimal(38, 12),
    residual_total decimal(38, 12),
    quarantined_total decimal(38, 12),
    difference decimal(38, 12),
    modelled_total decimal(38, 12),
    ratio double,
    weight_coverage_ratio double,
    reason varchar,
    is_elected boolean not null
);

create table marts.fct_quarantine (
    source_name varchar not null,
    source_object varchar not null,
    row_number bigint,
    column_name varchar,
    value varchar,
    reason varchar not null,
    remedy varchar not null
);

create table marts.fct_run_conflicts (
    training_run_id varchar not null,
    field varchar not null,
    source_a varchar not null,
    value_a varchar,
    source_b varchar not null,
    value_b varchar,
    chosen varchar not null
);

create table marts.fct_training_run_energy (
    training_run_id varchar not null,
    usage_month date not null,
    chip_energy_kwh decimal(38, 9),
    chip_energy_kwh_low decimal(38, 9),
    chip_energy_kwh_high decimal(38, 9),
    chip_host_energy_kwh decimal(38, 9),
    chip_host_energy_kwh_low decimal(38, 9),
    chip_host_energy_kwh_high decimal(38, 9),
    it_energy_kwh decimal(38, 9),
    it_energy_kwh_low decimal(38, 9),
    it_energy_kwh_high decimal(38, 9),
    facility_energy_kwh decimal(38, 9),
    facility_energy_kwh_low decimal(38, 9),
    facility_energy_kwh_high decimal(38, 9),
    idle_share_facility_energy_kwh decimal(38, 9),
    energy_kwh_measured decimal(38, 9),
    energy_kwh_driver_power decimal(38, 9),
    energy_kwh_utilisation_model decimal(38, 9),
    energy_kwh_time_model decimal(38, 9),
    energy_basis varchar,
    power_confidence varchar,
    telemetry_coverage_ratio double,
    reserved_chip_hours decimal(38, 9),
    busy_chip_hours decimal(38, 9),
    pue_ratio double,
    pue_source varchar,
    implied_energy_kwh decimal(38, 9),
    power_coverage_ratio double,
    use_coverage_ratio double
);

create table marts.fct_power_calibration (
    accelerator_type varchar not null,
    sdk_version varchar not null,
    source_kind varchar not null,
    valid_from_month date not null,
    window_count bigint not null,
    host_count bigint not null,
    run_count bigint not null,
    workload_count bigint not null,
    chip_hours decimal(38, 9) not null,
    unmetered_share double not null,
    idle_w double,
    mean_w double,
    busy_w double,
    spread_w double,
    coverage_promised double,
    refused_reason varchar,
    first_measured_at timestamp not null,
    last_measured_at timestamp not null
);

create table marts.fct_training_run_emissions_modelled (
    training_run_id varchar not null,
    usage_month date not null,
    region_id varchar not null,
    factor_set_id varchar not null,
    facility_energy_kwh decimal(38, 9),
    modelled_location_based_kgco2e decimal(38, 9),
    modelled_location_based_kgco2e_low decimal(38, 9),
    modelled_location_based_kgco2e_high decimal(38, 9),
    factor_id varchar,
    factor_age_years bigint
);

create table marts.dim_emission_factors (
    factor_id varchar, factor_set_id varchar, grid_zone varchar, method varchar, basis varchar, data_year bigint, valid_from date,
    valid_to date, known_from date, value decimal(18, 9), unit varchar, gases varchar, gwp_set varchar, source varchar,
    source_date date, licence varchar, confidence varchar, note varchar
);

create table marts.dim_accelerators (
    accelerator_type varchar, accelerator_family varchar, provider_name varchar, chip_name varchar, chips_per_node bigint,
    cores_per_chip bigint, peak_bf16_tflops decimal(18, 3), peak_fp8_tflops decimal(18, 3), hbm_gib decimal(18, 3),
    chip_power_idle_w decimal(18, 3), chip_power_max_w decimal(18, 3), power_confidence varchar, source varchar, source_date date,
    confidence varchar, note varchar
);

create table marts.dim_comparison_registrations (
    workload_key varchar, pair_key varchar, registered_by varchar, registered_at timestamp, evidence_of_time varchar,
    is_registered boolean, planned_promise varchar, planned_target_metric varchar, planned_target_direction varchar,
    planned_target_value decimal(38, 9), planned_tokens decimal(38, 0)
);

create table marts.dim_model_names (model_name varchar, same_as varchar, source varchar, source_date date, source_name varchar);

create table marts.dim_power_terms (
    accelerator_type varchar, term varchar, basis_class varchar, place bigint, is_shared boolean, low_factor double,
    high_factor double, source varchar, confidence varchar
);

create table marts.dim_comparison_settings (setting varchar, value double);
insert into marts.dim_comparison_settings values ('least_difference', 0.05);

create table marts.dim_regions (
    provider_name varchar, region_id varchar, region_name varchar, carbon_region_name varchar, usage_type_prefix varchar,
    country_code varchar, grid_zone varchar, source varchar, source_date date, confidence varchar, note varchar
);

create table marts.dim_prices (
    price_id varchar, provider_name varchar, accelerator_type varchar, region_id varchar, purchase_option varchar,
    price_per_unit decimal(38, 12), unit varchar, currency varchar, valid_from date, source varchar, source_date date,
    confidence varchar, is_quoted_only boolean, note varchar
);

create table marts.dim_fx_rates (
    rate_date date, base_currency varchar, quote_currency varchar, rate decimal(38, 12), is_to_reporting_currency boolean,
    source varchar, source_name varchar
);

create table marts.dim_datapoints (
    framework varchar, datapoint_id varchar, position bigint, edition varchar, id_kind varchar, reference varchar,
    expected_reference varchar, xbrl_element varchar, datapoint varchar, unit varchar, measure varchar, method varchar,
    not_available_reason varchar, first_fiscal_year bigint, last_fiscal_year bigint, source varchar, source_date date, read_on date,
    confidence varchar
);

create table marts.rpt_quarterly_disclosure (
    quarter varchar not null, framework varchar not null, datapoint_id varchar not null, datapoint varchar not null,
    value decimal(38, 12), unit varchar not null, method varchar not null, report_status varchar not null, not_available_reason varchar,
    id_kind varchar not null, edition varchar not null, xbrl_element varchar, expected_reference varchar, read_on date,
    is_filed boolean not null
);

create table marts.rpt_yearly_disclosure (
    fiscal_year varchar not null, framework varchar not null, datapoint_id varchar not null, datapoint varchar not null,
    value decimal(38, 12), unit varchar not null, method varchar not null, report_status varchar not null, not_available_reason varchar,
    id_kind varchar not null, edition varchar not null, xbrl_element varchar, expected_reference varchar, read_on date,
    is_filed boolean not null
);

create table marts.dim_own_inventory (
    fiscal_year varchar not null, figure varchar not null, unit varchar not null, value decimal(38, 9) not null,
    source varchar not null, source_date date, source_name varchar not null, source_object varchar not null, row_number bigint not null
);

create table marts.dim_disclosure_settings (
    scope3_electricity varchar not null, scope3_electricity_reason varchar not null, fiscal_year_start integer not null
);

create table ops.dim_deliveries (
    source_name varchar, provider_name varchar, kind varchar, partition varchar, published_at timestamp, landed_at timestamp,
    content_hash varchar, rows bigint, is_elected boolean, is_book boolean, first_usage_month date, last_usage_month date,
    grouped_by varchar, grouped_rows bigint, is_raw_kept boolean
);

create table ops.listed_objects (source_name varchar, kind varchar);

create table ops.gate_results (build_id varchar, gate varchar, passed boolean, failing_rows bigint, detail varchar);

create table ops.builds (
    build_id varchar, started_at timestamp, finished_at timestamp, fingerprint varchar, code_version varchar, is_full boolean,
    months varchar, outcome varchar
);

create table marts.rpt_coverage (
    usage_month date not null,
    provider_name varchar not null,
    service_code varchar not null,
    billing_currency varchar not null,
    effective_cost decimal(38, 12) not null,
    effective_cost_with_energy decimal(38, 12) not null,
    effective_cost_with_carbon decimal(38, 12) not null
);

create table marts.fct_lost_work (
    usage_month date not null,
    week_start date not null,
    cause varchar not null,
    training_run_id varchar not null,
    attempt_id varchar not null,
    billing_currency varchar not null,
    effective_cost decimal(38, 12) not null,
    facility_energy_kwh decimal(38, 9),
    modelled_location_based_kgco2e decimal(38, 9)
);
create table marts.dim_porting_costs (
    workload_key varchar, to_family varchar, measure varchar, unit varchar, one_time_amount decimal(38, 12), source varchar, source_date date
);
