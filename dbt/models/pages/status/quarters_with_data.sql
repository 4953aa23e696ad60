select quarter from {{ ref('report_quarters') }}
