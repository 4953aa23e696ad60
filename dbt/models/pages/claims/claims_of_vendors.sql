{%- set verdicts = ['supported', 'contradicted', 'undecided', 'no_data'] %}
select
    row_number() over (
        order by
            coalesce(list_position({{ verdicts }}, measured.verdict), {{ verdicts | length + 1 }}), left(claim_id, 1) desc,
            try_cast(regexp_extract(claim_id, '[0-9]+') as integer), claim_id
    ) as position,
    claim_id,
    measured.claim,
    measured.verdict,
    measured.claimed_value,
    stated.claimed_value_high,
    stated.unit as claimed_unit,
    measured.measured_value,
    measured.measured_low,
    measured.measured_high,
    measured.reason,
    measured.stated_by,
    stated.tested_by,
    measured.source
from {{ ref('rpt_vendor_claims') }} as measured
left join {{ ref('dim_vendor_claims') }} as stated using (claim_id)
